"""Loops that are not about the proof prove in place: half of what a short run costs is its clean room."""

import pytest

from tests.lab import DONE_WHEN, Lab

IN_PLACE = (
    "test_resume",
    "test_interrupt",
    "test_repositories",
    "test_refusals",
    "test_guards",
    "test_hooks",
    "test_not_fooled",
    "test_judge_in_the_loop",
    "test_processes",
    "test_checks_in_the_loop",
    "test_choosing_a_judge",
    "test_memory_of_a_run",
)


@pytest.fixture
def lab(lab: Lab, request: pytest.FixtureRequest) -> Lab:
    """A repository with one commit on main, and, for the modules named here, a configuration that proves in place."""
    if request.module.__name__.rpartition(".")[2] in IN_PLACE:
        lab.config(proof="in-place")
    return lab


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A repository in which `feature-implement 42 --loop` would start."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    lab.commit("ready")
    return lab
