"""A realistic run as its events, and a program that plays it on the terminal it is started in.

    python -m tests.views.story [--pace SECONDS] [--criteria N] [--until N] [--fail]

`--pace` is the time between two events. To look at the live view, play it with `--pace 0.7`.
"""

import argparse
import sys
import time
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.journal.events import (
    CheckFinished,
    CheckStarted,
    CommitIntended,
    CriterionJudged,
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    Notice,
    RunFinished,
    RunStarted,
    SavedAside,
    TurnEnded,
)
from aigon.model.changes import FileChange
from aigon.model.checks import CheckStatus, Finding, Role
from aigon.model.criteria import Criterion, Verdict
from aigon.model.outcomes import Met
from aigon.model.turns import CostStatus, Turn

TITLE = "feature 42: multiply numbers of any size"
TEXTS = (
    "`multiply(2, 3)` returns 6",
    "Multiplying by zero gives zero, whatever the other factor",
    "Negative factors keep the rule of signs",
    "All tests pass",
    "Lint is clean",
)
TITLES: dict[str, tuple[Role, str]] = {
    "tests": ("tests", "Tests"),
    "lint": ("lint", "Lint"),
    "types": ("types", "Type check"),
}
COMMITS = ("", "1a2b3c4d5e6f", "2b3c4d5e6f70", "3c4d5e6f7081")


def at(second: int) -> str:
    """The time of day of an event: the run begins at a quarter past ten."""
    return f"2026-11-20T10:{15 + second // 60:02}:{second % 60:02}+00:00"


def criteria(count: int = len(TEXTS)) -> tuple[Criterion, ...]:
    """The criteria of the feature; more than five are repetitions."""
    return tuple(
        Criterion(number, 10 + number, TEXTS[(number - 1) % len(TEXTS)], False, "verify", "pytest", number * 40)
        for number in range(1, count + 1)
    )


def run_started(*, resumed: bool = False) -> RunStarted:
    """The first event."""
    return RunStarted(
        at(0), "r1", "42", "multiply", "cc", "claude", "solo", "feature-42-multiply", "0" * 40, "0" * 40,
        "docs/specs/features/feature-42-multiply.md", "5" * 40, len(TEXTS), 5, resumed=resumed,
    )  # fmt: skip


def finding(check: str, status: CheckStatus, summary: str, seconds: float = 2.1) -> Finding:
    """What a check found."""
    role, title = TITLES[check]
    return Finding(check, role, title, status, summary, duration=seconds)


def verdicts(met: int, count: int) -> tuple[Verdict, ...]:
    """The first `met` criteria are proven, the others are not."""
    return tuple(
        Verdict(number, "met" if number <= met else "unmet", "verify", reason="" if number <= met else "exit code 1")
        for number in range(1, count + 1)
    )


def look(number: int, second: int, found: tuple[Finding, ...], met: int, count: int) -> Iterator[Event]:
    """Checks one after the other, verdicts one by one, the commit, and the end of the iteration."""
    for result in found:
        yield CheckStarted(at(second), number, result.check, result.title)
        yield CheckFinished(at(second + 2), number, result)
    for verdict, criterion in zip(verdicts(met, count), criteria(count), strict=True):
        yield CriterionJudged(at(second + 4), number, verdict, criterion.text)
    changes = (FileChange("calc/multiply.py", 4, 1),) if number else ()
    end = IterationFinished(
        at(second + 6), number, at(second), COMMITS[number], found, verdicts(met, count), changes, "f" * 12, (met,), ""
    )
    if number:
        branch = "feature-42-multiply"
        yield CommitIntended(at(second + 5), number, COMMITS[number], COMMITS[number - 1], branch, end)
    yield end


def turn(number: int, second: int, *, cost: float | None) -> Iterator[Event]:
    """One turn of the agent."""
    yield IterationStarted(at(second), number, "claude", "sonnet", number // 2, 2, 4000)
    status: CostStatus = "unknown" if cost is None else "reported"
    yield TurnEnded(
        at(second + 60), Turn(number, "claude", "sonnet", "finished", 0, cost=cost, cost_status=status, duration=60.4)
    )


def story(count: int = len(TEXTS)) -> list[Event]:
    """A run of three iterations that ends with everything proven."""
    red = finding("tests", "fail", "13/15 passed")
    lint = finding("lint", "fail", "1 problem", 0.2)
    clean = finding("lint", "pass", "no problems", 0.2)
    types = finding("types", "skipped", "mypy is not used here", 0.0)
    green = finding("tests", "pass", "15/15 passed")
    return [
        run_started(),
        *look(0, 1, (red, lint, replace(types, status="pass", summary="no problems", cached=True)), 0, count),
        *turn(1, 10, cost=0.21),
        *look(1, 72, (red, clean, types), min(2, count), count),
        Notice(at(80), "disk space is getting low: 3.1 GB free", "warning"),
        *turn(2, 82, cost=None),
        SavedAside(at(143), 2, "refs/aigon/parked/r1/2", "9f8e7d6c5b4a", "an edit of the spec"),
        *look(2, 145, (red, clean, types), count - 1, count),
        *turn(3, 160, cost=0.2),
        *look(3, 222, (green, clean, replace(types, status="pass", summary="no problems")), count, count),
        MoneySpent(at(229), 3, "judge", 0.01, "estimated"),
        RunFinished(at(230), Met(), "met", 0, "Every criterion is proven and the checks pass", COMMITS[3], 3),
    ]


def main() -> None:
    """Play the story on standard output."""
    from aigon.views.terminal.live import LiveSink
    from aigon.views.terminal.scene import Scene

    parser = argparse.ArgumentParser()
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--criteria", type=int, default=len(TEXTS))
    parser.add_argument("--until", type=int, default=None, help="stop after this many events")
    parser.add_argument("--hold", type=float, default=0.0, help="seconds to wait before the view closes")
    parser.add_argument("--fail", action="store_true", help="end with an exception")
    options = parser.parse_args()
    sink = LiveSink(sys.stdout, Scene(TITLE, criteria(options.criteria)))
    try:
        for event in story(options.criteria)[: options.until]:
            sink(event)
            time.sleep(options.pace)
        time.sleep(options.hold)
        if options.fail:
            raise SystemExit(1)
    finally:
        sink.close()


if __name__ == "__main__":
    main()
