"""Fail points are named as the journal names its events, and fail a run where they say."""

import pytest

from aigon.errors import AigonError, Exit
from aigon.journal.sinks import EVENT_NAMES, FailPoint, parse_fail_points
from tests.lab import DONE_WHEN, Lab
from tests.loop.processes import LOOP, RESUME, events, left_behind, turns

IN_PLACE = True


def test_without_the_variable_there_is_none() -> None:
    assert parse_fail_points({}) == ()


def test_a_point_is_an_event_a_stage_a_number_and_an_action() -> None:
    found = parse_fail_points({"AIGON_FAILPOINT": "turn_ended:kill, parked.before@2:raise,notice.between:sleep=0.5"})
    assert found == (
        FailPoint("turn_ended", "after", 1, "kill", 30.0),
        FailPoint("parked", "before", 2, "raise", 30.0),
        FailPoint("notice", "between", 1, "sleep", 0.5),
    )


@pytest.mark.parametrize(
    "word", ["turn_over:kill", "turn_ended", "turn_ended:halt", "turn_ended@0:kill", "turn_ended:kill=3", ":kill"]
)
def test_a_point_that_is_never_reached_is_refused_by_name(word: str) -> None:
    with pytest.raises(AigonError, match="no such fail point") as refused:
        parse_fail_points({"AIGON_FAILPOINT": word})
    assert refused.value.code == Exit.USAGE


def test_every_event_of_the_journal_can_be_named() -> None:
    assert len(EVENT_NAMES) == len(set(EVENT_NAMES)) >= 15
    assert all(parse_fail_points({"AIGON_FAILPOINT": f"{name}:raise"}) for name in EVENT_NAMES)


def feature(lab: Lab) -> None:
    """A feature that one turn finishes."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; echo done > done.txt')


@pytest.mark.parametrize(("stage", "journal", "status"), [
    (".before", "iteration_started", "running"), (".between", "turn_ended", "running"),
])  # fmt: skip
def test_a_kill_comes_before_or_between_the_records(lab: Lab, stage: str, journal: str, status: str) -> None:
    feature(lab)
    ran = lab.aigon(*LOOP, env={"AIGON_FAILPOINT": f"turn_ended{stage}:kill"})
    assert ran.code == -9
    assert (events(lab)[-1]["event"], lab.state()["status"]) == (journal, status)
    assert lab.aigon(*RESUME).code == 0
    assert turns(lab) == (2 if stage == ".before" else 1)
    assert left_behind(lab) == []
    lab.sound()


def test_an_error_that_nobody_expects_is_exit_1_and_the_run_is_resumed(lab: Lab) -> None:
    feature(lab)
    ran = lab.aigon(*LOOP, env={"AIGON_FAILPOINT": "checkpoint_intended:raise"})
    assert ran.code == Exit.INTERNAL, ran.err
    assert lab.aigon(*RESUME).code == 0
    assert turns(lab) == 1
    lab.sound()
