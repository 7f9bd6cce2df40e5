"""The gates: what passes, what fails, and that nothing unknown passes."""

import pytest
from msgspec.structs import replace

from aigon.compare.facts import CandidateFacts
from aigon.compare.order import Gate, combine_gates, judge_gates
from aigon.job.assessment import IN_PLACE
from aigon.model.changes import Concern
from aigon.model.checks import Finding
from aigon.model.outcomes import Met, NeedsHuman, Stopped
from tests.compare.entrants import LINT, NOTE, PROOF, REVIEW, TESTS, change, entry, looked, red

STOPPED = Stopped("iterations", "3 of 3 are used")
INTEGRITY = Finding("integrity", "integrity", "Integrity", "fail", "a person has to look")


def gate(one: CandidateFacts, key: str) -> Gate:
    """One gate of a candidate."""
    return next(each for each in judge_gates(one) if each.key == key)


def test_who_has_proven_everything_passes_every_gate() -> None:
    assert [g.result for g in judge_gates(entry())] == ["pass"] * 5
    assert combine_gates(entry()) == "pass"


def test_criteria_are_counted_and_all_of_them_have_to_be_proven() -> None:
    found = gate(entry(look=looked(met=1, of=3), criteria=3), "criteria")
    assert (found.result, found.why) == ("fail", "1 of 3 passed")


def test_a_criterion_that_the_last_look_did_not_decide_is_not_proven() -> None:
    assert gate(entry(criteria=3), "criteria").result == "fail"


def test_without_criteria_nothing_is_proven() -> None:
    assert gate(entry(look=looked(met=0, of=0), criteria=0), "criteria").result == "unknown"


def test_a_red_check_fails_and_is_named() -> None:
    found = gate(entry(look=looked(TESTS, red(LINT, "unused"), PROOF)), "checks")
    assert found.result == "fail" and "Lint: 1 problems" in found.why


@pytest.mark.parametrize("status", ["error", "skipped"])
def test_a_check_without_a_result_is_not_green(status: str) -> None:
    nothing = replace(LINT, status=status)
    assert gate(entry(look=looked(TESTS, nothing, PROOF)), "checks").result == "fail"


def test_a_known_failure_does_not_close_the_gate_and_is_said() -> None:
    found = gate(entry(look=looked(TESTS, red(LINT, "old"), PROOF), known_failures=("lint",)), "checks")
    assert found.result == "pass" and "1 known to fail" in found.why


def test_git_is_never_a_known_failure() -> None:
    git = Finding("git", "git", "Git", "fail", "not in the commit")
    assert gate(entry(look=looked(TESTS, git), known_failures=("git",)), "checks").result == "fail"


def test_skipped_validation_shows_no_green_check() -> None:
    assert gate(entry(skipped=True), "checks").result == "unknown"


def test_where_no_check_passed_only_a_proven_run_opens_the_gate() -> None:
    alone = looked(PROOF)
    assert gate(entry(look=alone), "checks").result == "pass"
    assert gate(entry(look=alone, outcome=STOPPED), "checks").result == "unknown"


def test_a_review_fails_integrity_and_says_what_it_is_about() -> None:
    found = gate(entry(concerns=(REVIEW, NOTE), outcome=NeedsHuman((), "look")), "integrity")
    assert found.result == "fail" and "special-cases" in found.why and "calc.py:3" in found.why


def test_notes_leave_integrity_clean() -> None:
    found = gate(entry(concerns=(NOTE,)), "integrity")
    assert (found.result, found.why) == ("pass", "1 to know")


def test_integrity_that_nobody_looked_for_is_not_clean() -> None:
    assert gate(entry(look=looked(TESTS, LINT), outcome=STOPPED), "integrity").result == "unknown"


def test_what_the_base_tested_and_is_not_green_closes_its_own_gate_and_no_other() -> None:
    lost = Concern("base-tests", "review", "test_double is gone", ("test_calc.py",), "k")
    one = entry(concerns=(lost,), look=looked(TESTS, PROOF, INTEGRITY), outcome=NeedsHuman((), "look"))
    assert gate(one, "base-tests").result == "fail" and gate(one, "integrity").result == "pass"


def test_an_integrity_finding_that_is_red_without_a_concern_is_no_pass() -> None:
    assert gate(entry(look=looked(TESTS, PROOF, INTEGRITY)), "integrity").result == "fail"


def test_a_test_of_the_base_that_is_red_now_is_a_regression() -> None:
    found = gate(entry(regressed=("test_a::one",), look=looked(red(TESTS, "x"))), "base-tests")
    assert found.result == "fail" and "test_a::one" in found.why


def test_a_proof_that_is_red_is_a_regression() -> None:
    assert gate(entry(look=looked(TESTS, red(PROOF, "x"))), "base-tests").result == "fail"


def test_untouched_tests_that_are_green_are_kept_without_a_proof() -> None:
    assert gate(entry(look=looked(TESTS, LINT)), "base-tests").result == "pass"
    touched = entry(look=looked(TESTS, LINT), changed=change(touched_tests=True))
    assert gate(touched, "base-tests").result == "unknown"
    assert gate(entry(look=looked(TESTS, LINT), changed=None), "base-tests").result == "unknown"


def test_proven_in_place_needs_no_base_tests_in_a_clean_room() -> None:
    in_place = Met((IN_PLACE,))
    touched = entry(look=looked(TESTS, LINT), changed=change(touched_tests=True), outcome=in_place, regressed=None)
    assert (gate(touched, "base-tests").result, combine_gates(touched)) == ("pass", "pass")
    assert gate(replace(touched, regressed=("test_a::one",)), "base-tests").result == "fail"
    assert gate(replace(touched, outcome=STOPPED), "base-tests").result == "unknown"


def test_a_base_without_tests_has_none_to_lose() -> None:
    assert gate(entry(look=looked(LINT), was_tested=False), "base-tests").result == "pass"
    assert gate(entry(look=looked(LINT), was_tested=None), "base-tests").result == "unknown"


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (entry(tip="c" * 40), "has changed since it was assessed"),
        (entry(tip=""), "its branch is gone"),
        (entry(look=None), "not assessed yet"),
    ],
)
def test_where_the_last_look_is_not_about_the_branch_no_gate_is_known(one: CandidateFacts, why: str) -> None:
    assert {g.result for g in judge_gates(one)} == {"unknown"}
    assert all(why in g.why for g in judge_gates(one))


def test_a_branch_that_changed_after_its_proof_is_not_proven() -> None:
    assert gate(entry(judged="c" * 40), "outcome").result == "unknown"


def test_one_that_still_runs_and_one_that_broke_off_have_not_ended_as_proven() -> None:
    assert gate(entry(outcome=None, running=True), "outcome").why == "it still runs"
    assert gate(entry(outcome=None), "outcome").why == "its last run broke off"
    assert combine_gates(entry(outcome=None, running=True)) == "unknown"


def test_a_run_that_ended_otherwise_fails_with_its_reason() -> None:
    found = gate(entry(outcome=STOPPED), "outcome")
    assert found.result == "fail" and "3 of 3 are used" in found.why


def test_the_caveats_of_a_proof_are_said() -> None:
    assert "not isolated" in gate(entry(outcome=Met(("not isolated",))), "outcome").why


def test_one_gate_that_fails_weighs_more_than_one_that_is_not_known() -> None:
    assert combine_gates(entry(outcome=None, look=looked(met=1))) == "fail"
