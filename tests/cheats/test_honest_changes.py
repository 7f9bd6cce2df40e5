"""Honest changes of tests, names, messages and settings end as proven: what needs a person's leave is asked before."""

import pytest

from tests.cheats import honest_changes
from tests.cheats.agent import Agent, cases
from tests.cheats.calculator import ID, SPEC, STATE, calculator, implemented
from tests.lab import Lab


@pytest.mark.parametrize(
    "agent", cases(honest_changes.TESTS, honest_changes.ASKED, honest_changes.SETTINGS, honest_changes.MEASURED)
)
def test_an_honest_change_is_proven_with_what_the_dry_run_proposed(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    plan = lab.aigon("feature-implement", ID, "--dry-run", "--json").json
    proposed = [each["path"] for each in plan["proposed_allow"]]
    assert proposed == list(agent.proposes)
    if proposed:
        lab.write(SPEC, f"---\nallow: [{', '.join(proposed)}]\n---\n{lab.read(SPEC)}")
        lab.commit("allow what the spec is about")
    ran = implemented(lab, agent)
    assert ran.code == 0, ran.out + ran.err
    assert (lab.boxes(SPEC), lab.state(STATE)["status"]) == ("xxxx" + "x" * len(agent.asks), "met")
    lab.sound()


@pytest.mark.parametrize("agent", cases(honest_changes.QUESTIONED))
def test_a_rule_that_is_switched_off_for_a_file_is_a_question_with_its_diff(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    ran = implemented(lab, agent)
    asked = "base-tests: with pyproject.toml as on the base: Lint: 2 problems"
    assert ran.code == 4 and asked in ran.out, ran.out + ran.err
    assert "-- pyproject.toml, then aigon approve" in ran.out
    lab.sound()
