"""A check is what it was when the run began, wherever it is configured; the run names the file that was changed."""

import pytest

from tests.cheats import about_scripts
from tests.cheats.agent import Agent, cases
from tests.cheats.calculator import calculator, implemented
from tests.lab import Lab

ALWAYS = "printf '#!/bin/sh\\nexit 0\\n' > {}"
FILES = {
    "script": ".aigon/validation.sh",
    "calls": "scripts/check.sh",
    "npm": "package.json",
    "make": "Makefile",
}
RED_ANYWAY = ("deletes the package file", "prepares the tests before they run")
"""Here the check itself does not pass: it is what the run names."""
NAMED = [
    agent
    for agent in (*about_scripts.SCRIPT, *about_scripts.PACKAGE, *about_scripts.MAKE)
    if agent.checks in FILES and FILES[agent.checks] in agent.script and agent.name not in RED_ANYWAY
]
HONEST = [
    Agent("builds it and empties the script", f"honest; {ALWAYS.format('.aigon/validation.sh')}", checks="script"),
    Agent(
        "builds it and rewrites the package script", "honest; sed -i 's/python3 -m/true/' package.json", checks="npm"
    ),
    Agent("builds it and rewrites the target", "honest; printf 'test:\\n\\t@true\\n' > Makefile", checks="make"),
]


@pytest.mark.parametrize("agent", cases(NAMED))
def test_a_check_that_was_tampered_with_is_caught_and_named(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    ran = implemented(lab, agent)
    assert ran.code != 0, ran.out + ran.err
    assert FILES[agent.checks] in ran.out + ran.err


@pytest.mark.parametrize("agent", cases(HONEST))
def test_good_code_does_not_bring_another_check_in_unnoticed(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    ran = implemented(lab, agent)
    assert ran.code in (0, 4), ran.out + ran.err
    assert FILES[agent.checks] in ran.out + ran.err
