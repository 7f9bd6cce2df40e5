"""Why a test is red: right by an assertion or for want of what the spec names, wrong for any other reason."""

import pytest

from aigon.job.results import Result
from aigon.model.checks import CheckStatus, Finding, Problem, TestCounts
from aigon.model.criteria import Verdict, VerdictStatus
from aigon.prove.deciders import RedKind, classify_red, is_named, list_words

WORDS = list_words("Users can reset their password: `calc.multiply(a, b)`, `./greet NAME`, resetToken")


def classify(
    message: str = "",
    *,
    excerpt: str = "",
    status: CheckStatus = "fail",
    summary: str = "1 failed",
    verdict: VerdictStatus = "unmet",
    counts: TestCounts | None = None,
) -> RedKind:
    problems = (Problem(message),) if message else ()
    finding = Finding(
        "criterion-1", "script", "t", status, summary, problems=problems, excerpt=excerpt, counts=counts, exit_code=1
    )
    return classify_red(Result(finding), Verdict(1, verdict, "verify", reason="it printed 2, wanted 3"), WORDS).kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("assert 2 == 3", "assertion"),
        ("AssertionError: Expected values to be strictly equal", "assertion"),
        ("Failed: DID NOT RAISE ValueError", "assertion"),
        ("AttributeError: module 'calc' has no attribute 'multiply'", "missing"),
        ("ImportError: cannot import name 'reset_password' from 'app' (app.py)", "missing"),
        ("ModuleNotFoundError: No module named 'calc.multiply'", "missing"),
        ("FileNotFoundError: [Errno 2] No such file or directory: './greet'", "missing"),
        ("/usr/bin/bash: line 1: ./greet: No such file or directory", "missing"),
        ("TypeError: calc.multiply is not a function", "missing"),
        ("TypeError: reset() got an unexpected keyword argument 'token'", "missing"),
        ("./calc_test.go:5:7: undefined: Multiply", "missing"),
        ("error[E0425]: cannot find function `multiply` in this scope", "missing"),
        ("ModuleNotFoundError: No module named 'frobnicate'", "foreign"),
        ("Error: Cannot find module 'left-pad'", "foreign"),
        ("SyntaxError: invalid syntax", "syntax"),
        ("bash: -c: line 1: syntax error near unexpected token `then'", "syntax"),
        ("urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>", "network"),
        ("Error: getaddrinfo ENOTFOUND example.com", "network"),
        ("file or directory not found: tests/acceptance/1/test_gone.py", "absent"),
        ("RuntimeError: always", "broken"),
    ],
)
def test_each_red_is_told_by_what_it_says(message: str, kind: RedKind) -> None:
    assert classify(message) == kind
    assert classify(excerpt=f"some noise\n{message}\n") == kind


def test_what_ran_and_was_compared_is_an_assertion() -> None:
    assert classify(status="pass", summary="passed") == "assertion"


def test_green_timed_out_and_empty_are_no_reds() -> None:
    assert classify(status="pass", verdict="met") == "green"
    assert classify(summary="timed out after 1 minute", status="error") == "timeout"
    assert classify(summary="no tests collected", counts=TestCounts()) == "absent"


def test_a_command_that_only_exits_is_an_assertion() -> None:
    assert classify(summary="exit 1: no output") == "assertion"


@pytest.mark.parametrize(
    "name", ["multiply", "calc.mul", "./greet", "greet.sh", "reset_password", "resetToken", "resets"]
)
def test_names_are_made_of_the_words_of_the_spec(name: str) -> None:
    assert is_named(name, WORDS)


@pytest.mark.parametrize("name", ["requests", "reset_mail", "7", ""])
def test_names_of_other_words_are_not(name: str) -> None:
    assert not is_named(name, WORDS)
