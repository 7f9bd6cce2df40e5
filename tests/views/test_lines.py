"""Events as lines for people without a terminal."""

import io
import json
import os
import pty
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from msgspec.structs import replace

from aigon.journal.events import (
    CheckFinished,
    CheckStarted,
    CriterionJudged,
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    Notice,
    RunFinished,
    SavedAside,
    TurnEnded,
)
from aigon.model.checks import Problem
from aigon.model.criteria import Verdict
from aigon.model.outcomes import NeedsHuman
from aigon.model.turns import Turn
from aigon.views.terminal.events import LONGEST, IterationCount, describe_event, stamp_line
from aigon.views.terminal.lines import PACE, LineSink, Loudness
from tests.journal.test_codec import EVENTS
from tests.views.story import at, finding, run_started, story

FIRST_LINES = """\
feature 42 multiply started: claude on feature-42-multiply, 5 criteria, at most 5 iterations
Tests: running
❌ Tests: 13/15 passed (2.1s)
Lint: running
❌ Lint: 1 problem (0.2s)
Type check: running
✅ Type check: no problems (cached)
criterion 1 failed: `multiply(2, 3)` returns 6 (exit code 1)
criterion 2 failed: Multiplying by zero gives zero, whatever the other factor (exit code 1)
criterion 3 failed: Negative factors keep the rule of signs (exit code 1)
criterion 4 failed: All tests pass (exit code 1)
criterion 5 failed: Lint is clean (exit code 1)
base: 0 of 5 criteria passed, 1 of 3 checks passed
iteration 1 of 5: claude is working with sonnet, step 1 of 2
claude finished after 1m 00s, cost $0.21 (reported)
"""

LAST_LINES = """\
criterion 5 passed: Lint is clean
iteration commit 3c4d5e6 on feature-42-multiply
iteration 3 of 5 finished: 5 of 5 criteria passed, 3 of 3 checks passed
judge: cost $0.01 (estimated)
exit code 0: Every criterion is proven and the checks pass
"""


def written(*events: Event, finished: int | None = None) -> list[str]:
    stream = io.StringIO()
    sink = LineSink(stream, finished=finished)
    for event in events:
        sink(event)
    sink.close()
    return [timeless(line) for line in stream.getvalue().splitlines(keepends=True)]


def timeless(line: str) -> str:
    """`line` without the time of day that it begins with."""
    assert re.match(r"\d\d:\d\d:\d\d ", line), line
    return line[9:]


def said(event: Event) -> str:
    """What the line of `event` says."""
    return describe_event(event, IterationCount())


def test_a_run_reads_as_one_line_per_event() -> None:
    lines = written(*story())
    assert len(lines) == len(story())
    assert "".join(lines[:15]) == FIRST_LINES
    assert "".join(lines[-5:]) == LAST_LINES


@given(EVENTS)
def test_a_line_is_printable_and_never_too_long_whatever_an_event_holds(event: Event) -> None:
    (text,) = written(event)
    body = text.removesuffix("\n")
    assert len(body) <= LONGEST
    assert not any(char < " " or "\x7f" <= char <= "\x9f" or char in "\u2028\u2029\u202e" for char in body)


def test_a_long_text_is_cut_at_200_characters_with_an_ellipsis() -> None:
    text = stamp_line("x" * 500)
    assert len(text) == 200 and text.endswith("x…")


def test_text_of_others_cannot_colour_or_forge_a_line() -> None:
    forged = "\x1b[32mall good\x1b[0m\n10:15:00 met (exit code 0)\x07\x9b2J"
    assert written(Notice(at(0), forged)) == ["all good 10:15:00 met (exit code 0)2J\n"]


def test_times_never_run_backwards_whatever_moment_an_event_is_about() -> None:
    stream = io.StringIO()
    sink = LineSink(stream)
    for second in (50, 3):
        sink(Notice(at(second), "a line"))
    first, second_line = (line[:8] for line in stream.getvalue().splitlines())
    assert first <= second_line


def test_a_terminal_gets_no_colour_either() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        sink = LineSink(stream)
        sink(story()[2])
        assert timeless(os.read(master, 65536).decode()) == "❌ Tests: 13/15 passed (2.1s)\r\n"
    os.close(master)


RESETS = 1_795_173_026.0


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (Turn(1, "cc", "", "failed", 1, detail="exit code 1", duration=3.0),
         "cc failed after 3.0s: exit code 1, cost unknown"),
        (Turn(1, "cc", "", "usage_limit", detail="upgrade", resets_at=RESETS),
         f"cc hit a usage limit until {datetime.fromtimestamp(RESETS):%Y-%m-%d %H:%M}: upgrade, cost unknown"),
        (Turn(1, "cc", "", "finished", denied=("Bash: rm -rf /", "Write: a.py", "Write: b.py"), cost=1.0),
         "cc finished, denied: Bash: rm -rf /, Write: a.py and 1 more, cost $1.00 (unknown)"),
        (Turn(1, "cc", "", "not_started", detail="no such file"), "cc did not start: no such file, cost unknown"),
        (Turn(1, "cc", "", "timed_out", duration=1800.0, cost=1.0, cost_status="estimated"),
         "cc timed out after 30m 00s, cost $1.00 (estimated)"),
        (Turn(1, "cc", "", "killed"), "cc was killed, cost unknown"),
        (Turn(1, "cc", "", "unavailable", detail="ECONNRESET"), "cc lost its connection: ECONNRESET, cost unknown"),
    ],
)  # fmt: skip
def test_how_a_turn_ended_is_said(turn: Turn, text: str) -> None:
    assert said(TurnEnded(at(0), turn)) == text


def test_verdicts_warnings_and_what_was_parked_are_said() -> None:
    unclear = CriterionJudged(at(0), 1, Verdict(3, "unclear", "judge", reason="no answer"), "It is pretty")
    assert said(unclear) == "criterion 3 needs review: It is pretty (no answer)"
    assert said(Notice(at(0), "disk is low", "warning")) == "warning: disk is low"
    assert said(SavedAside(at(0), 1, "refs/aigon/parked/1", "abcdef123", "a spec edit")) == (
        "saved a spec edit aside as abcdef1 under refs/aigon/parked/1"
    )
    assert said(MoneySpent(at(0), 1, "judge", None, "unknown")) == "judge: cost unknown"
    assert said(RunFinished(at(0), NeedsHuman((3,), "look"), "needs_human", 4, "Needs a human", "")) == (
        "exit code 4: Needs a human: look"
    )


def test_numbers_go_on_over_a_resume_and_so_does_the_limit() -> None:
    resumed = run_started(resumed=True)
    look = next(event for event in story() if isinstance(event, IterationFinished))
    begun = IterationStarted(at(0), 4, "claude", "", 0, 1, 0)
    known = written(resumed, replace(look, number=3), begun, finished=2)
    assert "feature 42 multiply resumed: " in known[0]
    assert "iteration 3 of 7 finished" in known[1]
    assert known[2] == "iteration 4 of 7: claude is working\n"
    guessed = written(resumed, replace(look, number=3), begun)
    assert "iteration 3 finished" in guessed[1] and "iteration 4 of 8:" in guessed[2]


def test_skipped_validation_is_said_at_the_start() -> None:
    assert said(replace(run_started(), skip_validation=True)).endswith(", validation skipped")


def test_a_pass_with_warnings_and_a_skipped_check_are_marked_as_warnings() -> None:
    warned = replace(finding("types", "pass", "1 warning"), problems=(Problem("unused", severity="warning"),))
    assert said(CheckFinished(at(0), 1, warned)) == "⚠️ Type check: 1 warning (2.1s)"
    assert said(CheckFinished(at(0), 1, finding("types", "skipped", ""))) == "⚠️ Type check: skipped (2.1s)"


def test_the_command_of_a_criterion_has_no_line_but_its_verdict() -> None:
    started = CheckStarted(at(0), 1, "criterion-2", "Validation script (criterion-2)")
    red = replace(finding("tests", "fail", "exit code 1"), check="criterion-2", title=started.title)
    judged = CriterionJudged(at(0), 1, Verdict(2, "unmet", "verify", reason="exit code 1"), "It works")
    assert written(started, CheckFinished(at(0), 1, red), judged) == ["criterion 2 failed: It works (exit code 1)\n"]


def test_a_stream_without_unicode_gets_question_marks_and_no_error() -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="latin-1") as stream:
        LineSink(stream)(story()[2])
        assert timeless(raw.getvalue().decode("latin-1")) == "? Tests: 13/15 passed (2.1s)\n"


def act(folder: Path, *texts: str, kind: str = "runs") -> None:
    """An agent does these things in iteration 1."""
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.now().timestamp()
    with (folder / "activity.ndjson").open("a") as file:
        for text in texts:
            file.write(json.dumps({"at": at, "kind": kind, "text": text, "tokens": 1, "usd": 0.0}) + "\n")


@pytest.mark.parametrize(("loudness", "shown"), [("", ["two", "three"]), ("verbose", ["one", "two", "three", "four"])])
def test_actions_have_a_line_now_and_then_or_each_one(
    loudness: Loudness, shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PACE, loudness, 3600.0)
    stream, folder = io.StringIO(), tmp_path / "r1" / "001"
    sink = LineSink(stream, runs=tmp_path, loudness=loudness)
    begun = IterationStarted(datetime.now().astimezone().isoformat(), 1, "claude", "", 0, 1, 0)
    for event in (run_started(), begun):
        sink(event)
    for texts in (("one", "two"), ("three",), ()):
        act(folder, *texts)
        act(folder, "", kind="spends")
        sink._actions.look()
    act(folder, "four")
    sink(TurnEnded(at(0), Turn(1, "claude", "", "finished")))
    sink.close()
    lines = [timeless(line) for line in stream.getvalue().splitlines()]
    assert [line.strip() for line in lines if "runs " in line] == [f"runs {text}" for text in shown]


def test_a_quiet_run_says_what_went_wrong_and_nothing_else() -> None:
    stream = io.StringIO()
    sink = LineSink(stream, loudness="quiet")
    for event in (*story(), Notice(at(0), "the disk is low", "warning")):
        sink(event)
    sink.close()
    lines = [timeless(line) for line in stream.getvalue().splitlines()]
    assert lines[-1] == "warning: the disk is low" and not any("iteration 1" in line for line in lines)
    assert len(lines) < len(written(*story())) / 4
