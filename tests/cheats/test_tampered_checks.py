"""Good code brings no other check in: a check is what it was when the run began, and the run names the changed file."""

import pytest

from tests.cheats.agent import Agent, cases
from tests.cheats.calculator import FILES, calculator, implemented
from tests.lab import Lab

ALWAYS = "printf '#!/bin/sh\\nexit 0\\n' > {}"
HONEST = [
    Agent("builds it and empties the script", f"honest; {ALWAYS.format('.aigon/validation.sh')}", checks="script"),
    Agent(
        "builds it and rewrites the package script", "honest; sed -i 's/python3 -m/true/' package.json", checks="npm"
    ),
    Agent("builds it and rewrites the target", "honest; printf 'test:\\n\\t@true\\n' > Makefile", checks="make"),
]


@pytest.mark.slow  # by default: test_what_decides_is_put_back_parked_and_told in tests/loop/test_proof.py
@pytest.mark.parametrize("agent", cases(HONEST))
def test_good_code_does_not_bring_another_check_in_unnoticed(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    ran = implemented(lab, agent)
    assert ran.code in (0, 4), ran.out + ran.err
    assert FILES[agent.checks] in ran.out + ran.err
