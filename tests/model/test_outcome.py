"""How a run ends, in a word, a number and a sentence."""

import pytest

from aigon.errors import AigonError, Exit, as_document, environment, explain_error, unavailable, usage
from aigon.model.outcomes import (
    Interrupted,
    Met,
    NeedsHuman,
    Outcome,
    Refused,
    Stopped,
    Unavailable,
    describe_outcome,
    get_exit_code,
    get_status,
)

ALL: list[tuple[Outcome, str, int, str]] = [
    (Met(), "met", 0, "Every criterion is proven and the checks pass"),
    (NeedsHuman((2,), "criteria 2 wait"), "needs_human", 4, "Needs a human: criteria 2 wait"),
    (Stopped("stall", "no progress"), "stopped", 3, "Stopped by the guard stall: no progress"),
    (Stopped("cost", "spent", Exit.SPENT), "stopped", 5, "Stopped by the guard cost: spent"),
    (Stopped("disk", "full", Exit.ENVIRONMENT), "stopped", 7, "Stopped by the guard disk: full"),
    (Interrupted("SIGINT"), "interrupted", 130, "Interrupted by SIGINT; the state is saved"),
    (Interrupted("SIGTERM"), "interrupted", 143, "Interrupted by SIGTERM; the state is saved"),
    (Interrupted("SIGHUP"), "interrupted", 143, "Interrupted by SIGHUP; the state is saved"),
    (Unavailable("claude", "usage limit"), "unavailable", 6, "claude is unavailable: usage limit"),
    (Refused("the branch moved"), "refused", 7, "Refused: the branch moved"),
]


@pytest.mark.parametrize(("outcome", "word", "code", "sentence"), ALL)
def test_an_outcome_has_one_status_word_one_exit_code_and_one_sentence(
    outcome: Outcome, word: str, code: int, sentence: str
) -> None:
    assert (get_status(outcome), int(get_exit_code(outcome)), describe_outcome(outcome)) == (word, code, sentence)


def test_what_a_proof_left_out_is_said_with_it() -> None:
    assert describe_outcome(Met(iteration=2)) == "Every criterion is proven and the checks pass on iteration 2"
    said = describe_outcome(Met(("validation skipped", "known failure: Lint (2 problems)")))
    assert said.startswith("Every criterion is proven; ")
    assert said.endswith("; validation skipped; known failure: Lint (2 problems)")


@pytest.mark.parametrize(("make", "code"), [(usage, 2), (environment, 7), (unavailable, 6)])
def test_an_error_says_what_where_and_what_to_do(make: type[AigonError], code: int) -> None:
    error = make("It is missing", where="a.txt", hint="touch a.txt")
    assert explain_error(error) == "It is missing.\n  where: a.txt\n  do:    touch a.txt"
    assert as_document(error) == {"what": "It is missing", "where": "a.txt", "hint": "touch a.txt", "exit_code": code}
    assert str(error) == "It is missing (a.txt)"


def test_an_error_without_place_and_hint_is_one_sentence() -> None:
    assert explain_error(usage("It is missing")) == "It is missing."
    assert str(usage("It is missing")) == "It is missing"
