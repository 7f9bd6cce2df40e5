"""What a person decided, and for how long it holds."""

import pytest
from msgspec.structs import replace

from aigon.journal.decisions import HumanDecision, decision_verdict, find_decision
from aigon.model.criteria import Criterion

CRITERION = Criterion(3, 9, "the menu reads well", False, "human", None, 100)
APPROVED = HumanDecision(
    3, CRITERION.text, "approve", "looked at it", "content", "c" * 40, "Ada", "2026-11-20T10:00:00"
)
REJECTED = replace(APPROVED, decision="reject", why="the second entry is cut", at="2026-11-20T11:00:00")


def test_a_decision_holds_for_the_criterion_and_the_code_it_was_taken_on() -> None:
    assert find_decision([APPROVED], CRITERION, "content") == APPROVED


@pytest.mark.parametrize(
    ("criterion", "content"),
    [
        (CRITERION, "other code"),
        (CRITERION, ""),
        (replace(CRITERION, text="the menu reads very well"), "content"),
        (replace(CRITERION, number=4), "content"),
    ],
)
def test_when_the_code_or_the_text_changes_it_is_open_again(criterion: Criterion, content: str) -> None:
    assert find_decision([APPROVED], criterion, content) is None


def test_a_decision_without_content_decides_nothing() -> None:
    assert find_decision([replace(APPROVED, content="")], CRITERION, "") is None


@pytest.mark.parametrize("at", ["2026-11-20T09:00:00+00:00", "2026-11-20T11:00:00", "2025-01-01T00:00:00"])
def test_the_decision_written_last_counts_whatever_its_clock_said(at: str) -> None:
    first = replace(APPROVED, at="2026-11-20T10:30:00+02:00")
    last = replace(REJECTED, at=at)
    assert find_decision([first, last], CRITERION, "content") == last
    assert find_decision([last, first], CRITERION, "content") == first


def test_a_waiver_holds_whatever_the_code_until_it_is_reset() -> None:
    waived = replace(APPROVED, decision="waive", content="")
    assert find_decision([REJECTED, waived], CRITERION, "other code") == waived
    assert decision_verdict(waived).is_waived
    assert find_decision([waived, replace(waived, decision="reset")], CRITERION, "content") is None


def test_an_approval_names_who_when_and_on_what() -> None:
    given = decision_verdict(APPROVED)
    assert (given.status, given.method, given.reason) == ("met", "approval", "looked at it")
    assert given.evidence == "approved by Ada on 2026-11-20 (cccccccc)"


def test_a_rejection_is_unmet_and_its_why_is_the_reason() -> None:
    given = decision_verdict(REJECTED)
    assert (given.criterion, given.status, given.reason) == (3, "unmet", "the second entry is cut")
    assert given.evidence.startswith("rejected by Ada")
