"""How long checks take: a fold of what they came to."""

import pytest
from msgspec.structs import replace

from aigon.journal.events import CheckFinished, CheckStarted, Event
from aigon.journal.state import State, replay
from aigon.model.checks import Finding, add_duration

PASS = Finding("tests", "tests", "Tests", "pass", "", duration=2.0)


def ended(finding: Finding, **how: object) -> Event:
    return CheckFinished("", 1, replace(finding, **how))


def test_the_state_keeps_what_each_check_took_when_it_last_ran() -> None:
    lint = replace(PASS, check="lint", role="lint", duration=0.5)
    state = replay([CheckStarted("", 1, "tests", "Tests"), ended(PASS), ended(lint), ended(PASS, duration=3.0)])
    assert state.durations == {"tests": 3.0, "lint": 0.5}
    assert replay([ended(PASS), ended(PASS, status="fail", duration=0.1)]).durations == {"tests": 0.1}


def test_what_did_not_run_says_nothing() -> None:
    state = replay([ended(PASS)])
    for finding in (ended(PASS, status="skipped", duration=9.0), ended(PASS, status="error", duration=0.0)):
        assert state.apply(finding) is state


def test_a_remembered_pass_counts_only_where_nothing_newer_is_known() -> None:
    remembered = ended(PASS, cached=True, duration=7.0)
    assert State().apply(remembered).durations == {"tests": 7.0}
    assert replay([ended(PASS), remembered]).durations == {"tests": 2.0}


def test_what_was_cut_short_never_makes_a_check_look_quicker() -> None:
    assert replay([ended(PASS), ended(PASS, status="error", duration=0.1)]).durations == {"tests": 2.0}
    assert replay([ended(PASS), ended(PASS, status="error", duration=600.0)]).durations == {"tests": 600.0}
    assert replay([ended(PASS, status="error", duration=600.0), ended(PASS)]).durations == {"tests": 2.0}


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_number_that_is_no_duration_is_left_out(seconds: float) -> None:
    known = {"tests": 1.0}
    assert add_duration(known, "tests", "pass", seconds, cached=False) is known
