"""What a TAP document counts, level by level: a subtest is under the point that sums it up."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from aigon.checks.parsers._problems import KEPT, problem
from aigon.checks.parsers._tapdiag import diagnosis
from aigon.checks.parsers._text import clean
from aigon.model.checks import Problem, TestResult

NAMES = 200_000
"""Names kept of one output."""


@dataclass(slots=True)
class Level:
    """The points of one subtest, or of a document. `points` are its own, `numbers` those of all levels below too."""

    numbers: Counter[TestResult] = field(default_factory=Counter)
    names: list[tuple[str, TestResult]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    plan: int | None = None
    points: int = 0

    @property
    def broken(self) -> int:
        """How many did not pass and should have."""
        return self.numbers["failed"] + self.numbers["error"]

    @property
    def off_plan(self) -> str:
        """How far it is from its plan; empty where it kept it, or had none."""
        if self.plan is None or self.points == self.plan:
            return ""
        return f"planned {self.plan} tests, ran {self.points}"

    def fail(self, name: str, said: tuple[str, str, int]) -> None:
        """One more that failed: `said` is its message, file and line."""
        self.numbers["failed"] += 1
        if len(self.problems) < KEPT:
            self.problems.append(problem(said[0] or name or "failed", said[1], said[2], test=name))

    def absorb(self, other: "Level", name: str = "") -> None:
        """Take over what a subtest had, under its name."""
        self.numbers.update(other.numbers)
        self.names.extend((joined(name, each), result) for each, result in other.names[: NAMES - len(self.names)])
        self.problems.extend(_under(name, other.problems[: KEPT - len(self.problems)]))


@dataclass(slots=True)
class Point:
    """One `ok` or `not ok` line; `directive` is skip, todo or empty; `block` what stands under it.

    Where it `opens` a subtest, the points of that follow it; else they stand before it.
    """

    ok: bool
    name: str
    directive: str
    opens: bool = False
    block: list[str] = field(default_factory=list)


def joined(*names: str) -> str:
    """Names of tests, outermost first, as one; bounded, however deep they are."""
    return clean(" > ".join(filter(None, names)), 1000)


def count(level: Level, point: Point, below: Level | None) -> None:
    """Add a point to its level; `below` are the points that it sums up."""
    level.points += 1
    if below is None or not below.numbers:
        _leaf(level, point)
        return
    excused = bool(point.directive)
    level.absorb(_excused(below) if excused else below, point.name)
    if not point.ok and not excused and not below.broken:
        said = diagnosis(point.block)
        level.fail(point.name, (below.off_plan or said[0], *said[1:]))


def _leaf(level: Level, point: Point) -> None:
    if point.ok or point.directive:
        result: TestResult = "skipped" if point.directive else "passed"
        level.numbers[result] += 1
    else:
        result = "failed"
        level.fail(point.name, diagnosis(point.block))
    if len(level.names) < NAMES:
        level.names.append((point.name, result))


def _excused(level: Level) -> Level:
    """Of a subtest that is to do, nothing failed."""
    names: list[tuple[str, TestResult]] = [
        (name, "skipped" if result in ("failed", "error") else result) for name, result in level.names
    ]
    numbers: Counter[TestResult] = Counter()
    numbers["passed"] = level.numbers["passed"]
    numbers["skipped"] = level.numbers["skipped"] + level.broken
    return Level(numbers, names)


def _under(name: str, problems: Iterable[Problem]) -> list[Problem]:
    return [replace(each, test=clean(joined(name, each.test))) for each in problems]
