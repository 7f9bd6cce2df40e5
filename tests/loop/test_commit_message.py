import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aigon.journal.events import IterationFinished
from aigon.loop.iteration_log import Built, render_iteration_message
from aigon.model.checks import CheckStatus, Finding
from aigon.model.criteria import WAIVED, Verdict
from tests.proof.hostile import EXAMPLES, FINDING, TEXT, VERDICT

VERDICTS = [Verdict(n, "met" if n < 6 else "unmet", "verify") for n in range(1, 7)]


def found(**statuses: CheckStatus) -> list[Finding]:
    return [Finding(name, "tests", name.title(), status, "") for name, status in statuses.items()]


def message(
    findings: list[Finding],
    verdicts: list[Verdict] = VERDICTS,
    feature: str = "42",
    agent: str = "cc",
    skipped: bool = False,
    built: Built = "changed",
) -> str:
    draft = IterationFinished("", 3, "", "", tuple(findings), tuple(verdicts), (), "", (), "")
    return render_iteration_message(draft, feature_id=feature, run_id="r1", agent=agent, skipped=skipped, built=built)


def trailers(text: str) -> list[str]:
    """What git itself reads as trailers, whatever the machine's configuration says about them."""
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "interpret-trailers", "--parse"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True, env=env)
    return done.stdout.decode().splitlines()


def test_a_checkpoint_says_how_far_it_is_and_git_reads_its_trailers() -> None:
    text = message(found(tests="pass", lint="fail"))
    assert text.splitlines()[:2] == ["feat(feature-42): iteration 3: 5/6 criteria proven, lint red", ""]
    assert trailers(text) == [
        "Aigon-Feature: 42",
        "Aigon-Run: r1",
        "Aigon-Iteration: 3",
        "Aigon-Agent: cc",
        "Aigon-Checks: tests=pass lint=fail",
        "Aigon-Criteria: 5/6",
    ]


def test_a_criterion_that_was_waived_is_not_counted_as_proven() -> None:
    text = message([], [*VERDICTS[:5], Verdict(6, "met", WAIVED)])
    assert text.startswith("feat(feature-42): iteration 3: 5/6 criteria proven") and "Aigon-Criteria: 6/6" in text


@pytest.mark.parametrize(
    ("built", "subject"),
    [
        ("unchanged", "chore(feature-42): iteration 3: no files changed, 5/6 criteria proven"),
        ("failed", "chore(feature-42): iteration 3: turn failed, 5/6 criteria proven"),
        ("ticked", "docs(feature-42): tick the criteria proven after iteration 3"),
    ],
)
def test_only_what_built_something_is_a_feat(built: Built, subject: str) -> None:
    assert message(found(tests="pass"), built=built).splitlines()[0] == subject


def test_skipped_validation_is_in_the_subject_and_in_the_trailer() -> None:
    text = message([], skipped=True)
    assert text.startswith("feat(feature-42): iteration 3: 5/6 criteria proven, validation skipped\n")
    assert "Aigon-Checks: validation skipped" in trailers(text)


@pytest.mark.parametrize(
    ("findings", "end"),
    [
        (found(tests="pass"), "proven, checks green"),
        (found(tests="pass", lint="skipped"), "proven, lint skipped"),
        (found(tests="error", lint="skipped"), "proven, tests red"),
        ([], "proven, no checks"),
        (found(git="pass", proof="pass"), "proven, no checks"),
        (found(a_long_name_of_a_check="fail", another_long_name="fail"), "proven, 2 checks red"),
    ],
)
def test_the_subject_says_how_the_checks_stand_as_far_as_it_fits(findings: list[Finding], end: str) -> None:
    subject = message(findings).splitlines()[0]
    assert subject.endswith(end)
    assert len(subject) <= 72


@pytest.mark.parametrize(
    "text", ["two\nlines", "x\r\nAigon-Criteria: 6/6", "a: b\n\n---\nc", "", "\x00\udcff", "# hash"]
)
def test_no_name_can_add_or_break_a_trailer(text: str) -> None:
    names = [
        line.split(":")[0]
        for line in trailers(message([Finding(text, "tests", "", "fail", "")], feature=text, agent=text))
    ]
    assert names == [f"Aigon-{key}" for key in ("Feature", "Run", "Iteration", "Agent", "Checks", "Criteria")]


@EXAMPLES
@given(TEXT, TEXT, st.lists(FINDING, max_size=3), st.lists(VERDICT, max_size=3), st.booleans())
def test_every_message_is_a_subject_and_six_trailers(
    feature: str, agent: str, findings: list[Finding], verdicts: list[Verdict], skipped: bool
) -> None:
    lines = message(findings, verdicts, feature, agent, skipped).encode().decode().splitlines()
    assert len(lines) == 8
    assert lines[1] == ""
    assert all(line.startswith("Aigon-") and line.split(": ", 1)[1].strip() for line in lines[2:])
    assert len(lines[6].split()) == (3 if skipped else 1 + max(len(findings), 1))
