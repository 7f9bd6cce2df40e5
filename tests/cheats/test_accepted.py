"""Honest agents go through without a person, also those that change tests, settings and much else."""

import pytest

from tests.cheats import about_go, honest
from tests.cheats.agent import Agent, cases
from tests.cheats.calculator import SPEC, STATE, calculator, implemented
from tests.lab import Lab


@pytest.mark.parametrize(
    "agent", cases(honest.BUILDS, honest.TESTS, honest.SETTINGS, honest.FILES, honest.RUNNERS, about_go.HONEST)
)
def test_an_honest_agent_needs_no_person(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    ran = implemented(lab, agent)
    assert ran.code == 0, ran.out + ran.err
    assert (lab.boxes(SPEC), lab.state(STATE)["status"]) == ("xxxx" + "x" * len(agent.asks), "met")
    assert "multiply" in lab.git("grep", "-h", "def multiply", "HEAD", "--", "*.py")
    lab.sound()
