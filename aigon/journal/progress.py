"""How a work came along: one point for each iteration, to be plotted."""

from collections.abc import Sequence
from dataclasses import dataclass

from aigon.journal.account import Work, span
from aigon.journal.history import Step
from aigon.journal.state import Spend
from aigon.model.changes import FileChange


@dataclass(frozen=True, slots=True)
class Point:
    """How things stood at the end of an iteration. `seconds` is the time that the loop had run by then, US dollars in
    `spend` are all that the feature had cost under this label, `lines` those added and removed since the base; None is
    unknown."""

    number: int
    seconds: float
    proven: int
    tests_passed: int | None
    tests: int | None
    spend: Spend
    lines: int


def points(work: Work) -> tuple[Point, ...]:
    """A point for each iteration of the last run and its resumes."""
    return tuple(_point(work, step) for step in work.steps)


def tests_of(step: Step) -> tuple[int, int] | None:
    """Tests that passed, and all that ran, over every check that counts them; None where none does."""
    counted = [found.counts for found in step.look.findings if found.role == "tests" and found.counts]
    return (sum(c.passed for c in counted), sum(c.total for c in counted)) if counted else None


def size(changes: Sequence[FileChange]) -> tuple[int, int]:
    """Lines added and removed; a binary file has none."""
    return sum(max(c.added, 0) for c in changes), sum(max(c.removed, 0) for c in changes)


def _point(work: Work, step: Step) -> Point:
    passed, ran = tests_of(step) or (None, None)
    lines = sum(size(work.diffs.get(step.look.checkpoint, ())))
    return Point(step.number, _seconds(work, step), step.proven, passed, ran, step.spend, lines)


def _seconds(work: Work, step: Step) -> float:
    """Of the run itself and the runs it goes on with; what lies between two of them is left out."""
    runs = work.history.runs
    if not runs:
        return 0.0
    first = work.steps[0].invocation
    before = sum(span(run.started.at, run.heard) for run in runs[first : step.invocation])
    return before + span(runs[step.invocation].started.at, step.look.at)
