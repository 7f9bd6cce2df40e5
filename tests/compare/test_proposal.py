"""The proposal: a winner, a tie, or nobody, and why."""

from typing import Any

import pytest

from aigon.compare.facts import CandidateFacts, CrossCheck, Preference, Preferred
from aigon.compare.order import rank_candidates
from aigon.compare.proposal import ComparedFeature, ProposedWinner, build_evaluation, find_tied, propose_winner
from aigon.model.outcomes import Stopped
from tests.compare.entrants import REVIEW, change, entry, looked

STOPPED = Stopped("iterations", "3 of 3 are used")


def proposed(*entries: CandidateFacts, preferences: tuple[Preference, ...] = ()) -> ProposedWinner:
    """What is proposed of these."""
    return propose_winner(entries, rank_candidates(entries), preferences)


def test_the_first_that_passes_wins_and_the_key_that_decided_is_said() -> None:
    found = proposed(entry("aa", changed=change(90)), entry("bb"), entry("cc", look=looked(met=1)))
    assert (found.kind, found.winner, found.decided_by) == ("winner", "bb", "source")
    assert any("aa fell behind bb at source diff: 90 lines, not 10 lines" in reason for reason in found.reasons)
    assert any("cc does not pass the gates: Criteria passed: 1 of 2 passed" in reason for reason in found.reasons)


def test_the_only_one_that_passes_wins_by_the_gates() -> None:
    found = proposed(entry("aa"), entry("bb", outcome=STOPPED))
    assert (found.winner, found.decided_by) == ("aa", "gates")


def test_one_alone_wins_if_it_passes() -> None:
    assert (proposed(entry()).winner, proposed(entry()).decided_by) == ("cc", "alone")


@pytest.mark.parametrize(
    "worse",
    [{"outcome": STOPPED}, {"outcome": None}, {"concerns": (REVIEW,)}, {"tip": "c" * 40}, {"look": None}],
    ids=["stopped", "broken off", "a review", "changed", "not assessed"],
)
def test_where_nobody_passes_there_is_no_winner(worse: dict[str, Any]) -> None:
    found = proposed(entry("aa", **worse), entry("bb", **worse))
    assert (found.kind, found.winner, found.tied) == ("nobody", "", ())
    assert [reason.split(":")[0] for reason in found.reasons] == ["no candidate passes every gate", "aa", "bb"]


def test_a_tie_stays_a_tie_and_is_for_a_person() -> None:
    found = proposed(entry("aa"), entry("bb"))
    assert (found.kind, found.winner, found.tied) == ("tie", "", ("aa", "bb"))
    assert "a person has to choose" in found.reasons[0]


def test_who_is_tied_is_asked_of_the_judge_only_behind_the_gates() -> None:
    both = (entry("aa"), entry("bb"))
    assert find_tied(both, rank_candidates(both)) == ("aa", "bb")
    failing = tuple(entry(label, outcome=STOPPED) for label in ("aa", "bb"))
    assert find_tied(failing, rank_candidates(failing)) == ()


@pytest.mark.parametrize(("result", "winner"), [("one", "aa"), ("other", "bb"), ("tie", ""), ("unknown", "")])
def test_the_judge_settles_a_tie_only_where_it_prefers_one(result: Preferred, winner: str) -> None:
    found = proposed(entry("aa"), entry("bb"), preferences=(Preference("aa", "bb", result, ("shorter",)),))
    assert (found.winner, found.kind) == (winner, "winner" if winner else "tie")
    assert any("shorter" in reason for reason in found.reasons)


def test_of_three_only_one_that_is_preferred_to_each_of_the_others_wins() -> None:
    some = (entry("aa"), entry("bb"), entry("cc"))
    circle = (Preference("aa", "bb", "one"), Preference("bb", "cc", "one"), Preference("aa", "cc", "other"))
    assert proposed(*some, preferences=circle).kind == "tie"
    clear = (Preference("aa", "bb", "other"), Preference("bb", "cc", "one"), Preference("aa", "cc", "tie"))
    assert (proposed(*some, preferences=clear).winner, proposed(*some, preferences=clear).decided_by) == ("bb", "judge")


def test_a_preference_does_not_lift_anybody_over_a_gate_or_a_measure() -> None:
    found = proposed(entry("aa", iterations=9), entry("bb"), preferences=(Preference("aa", "bb", "one"),))
    assert found.winner == "bb"


def test_while_somebody_runs_the_proposal_is_so_far_and_is_not_the_one_that_runs() -> None:
    running = entry("aa", running=True, outcome=None, iterations=1, changed=change(1))
    found = proposed(running, entry("bb"))
    assert (found.winner, found.so_far) == ("bb", True)
    assert any("it still runs" in reason for reason in found.reasons)
    assert proposed(running).kind == "nobody"


def test_new_tests_of_others_that_fail_on_the_winner_are_said_and_change_nothing() -> None:
    checks = (CrossCheck("bb", "aa", 1, ("t::one",)), CrossCheck("aa", "bb", 0, ("t::two",)))
    found = build_evaluation(
        ComparedFeature("42", "Dark mode"), (entry("aa"), entry("bb", iterations=9)), checks
    ).proposal
    assert found.winner == "aa" and found.reasons[-1] == "to look at: aa fails 1 of the new tests of bb"


def test_an_evaluation_is_ordered_by_places_and_dated_by_its_facts() -> None:
    late = entry("bb", at="2026-11-20T11:00:00.000+00:00")
    found = build_evaluation(ComparedFeature("42", "Dark mode"), (entry("aa", iterations=9), late), notes=("n",))
    assert [each.label for each in found.entries] == ["bb", "aa"]
    assert (found.at, found.bases, found.notes) == ("2026-11-20 11:00:00", ("b" * 40,), ("n",))
    assert found.subject.path == "docs/specs/features/evaluations/feature-42-eval.md"
