"""What counts as a promise, and what it is worth by the looks that follow."""

import pytest

from aigon.errors import AigonError
from aigon.model.checks import CheckStatus, Finding, Role
from aigon.model.criteria import Verdict, VerdictStatus, find_promises, judge_promises, parse_promises


def finding(check: str, role: Role, status: CheckStatus = "pass") -> Finding:
    return Finding(check, role, check.title(), status, "")


def verdict(status: VerdictStatus) -> Verdict:
    return Verdict(1, status, "verify")


def test_a_promise_is_its_phrase_between_the_tags_in_this_case() -> None:
    said = "<promise>COMPLETE</promise> <promise>\n all   done </promise> <promise>complete</promise> <promise>X"
    assert find_promises(said, ("COMPLETE", "all done", "ALL DONE", "X")) == ("COMPLETE", "all done")
    assert find_promises("COMPLETE", ("COMPLETE",)) == ()


@pytest.mark.parametrize(
    "phrase", ["a.c", "[a]+(b", "\\d", "$^", "a|b", "ganz fertig, wirklich?", "\N{WHITE HEAVY CHECK MARK}"]
)
def test_a_phrase_is_no_pattern(phrase: str) -> None:
    assert parse_promises((phrase,)) == (phrase,)
    assert find_promises(f"so: <promise>{phrase}</promise>", (phrase,)) == (phrase,)
    assert find_promises("<promise>abc</promise>", (phrase,)) == ()


@pytest.mark.parametrize("phrase", ["", "  \n", "a</promise>b", "<b>", "x" * 101, "a\x1b[0m", "a\0b", "\ud800"])
def test_a_phrase_that_nobody_can_say_is_a_usage_error(phrase: str) -> None:
    with pytest.raises(AigonError) as raised:
        parse_promises(("GOOD", phrase))
    assert raised.value.code == 2 and raised.value.where == "--promise"


def test_phrases_are_taken_once_and_one_is_there_by_default() -> None:
    assert parse_promises(("A", " A ", "B")) == ("A", "B")
    assert parse_promises(()) == ("COMPLETE",)


@pytest.mark.parametrize(
    ("phrase", "kept", "why"),
    [
        ("COMPLETE", False, "failed: Ruff; not passed: criterion 1"),
        ("TESTS_PASS", True, ""),
        ("LINT", False, "failed: Ruff"),
        ("TESTS_AND_LINT", False, "failed: Ruff"),
        ("tests-and-types", False, "there is no check of the role types"),
        ("CONTEST", False, "failed: Ruff; not passed: criterion 1"),
    ],
)
def test_a_phrase_is_judged_by_every_role_that_it_names(phrase: str, kept: bool, why: str) -> None:
    findings = (finding("pytest", "tests"), finding("ruff", "lint", "fail"))
    (promise,) = judge_promises((phrase,), findings, (verdict("unmet"),))
    assert (promise.kept, promise.why) == (kept, why)


def test_what_a_run_forgives_breaks_only_promises_about_that_very_check() -> None:
    findings = (finding("pytest", "tests"), finding("ruff", "lint", "fail"))
    done, lint = judge_promises(("COMPLETE", "LINT"), findings, (verdict("met"),), {"ruff"})
    assert (done.kept, lint.kept) == (True, False)
    assert not judge_promises(("COMPLETE",), (), (verdict("unclear"),))[0].kept
