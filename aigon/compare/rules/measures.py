"""What candidates are measured by, beside the gates: the same list for the order, for dominance and for the tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aigon.compare.rules.entry import Entry
from aigon.text import amounts

Better = Literal["less", "more"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a candidate. `best` says of one that it has the best value of all, `worst` the worst.

    Values that differ by at most `slack`, or by the `share` of the better one, are equal: what varies from one run to
    the next decides nothing. `shown` writes a value for people.
    """

    key: str
    title: str
    value: Callable[[Entry], float | None]
    best: str
    worst: str
    better: Better = "less"
    slack: float = 0.0
    share: float = 0.0
    shown: Callable[[float], str] = lambda value: f"{value:g}"

    def ahead(self, one: float, other: float) -> bool:
        """Whether `one` is clearly better than `other`."""
        better = one < other if self.better == "less" else one > other
        return better and not self.equal(one, other)

    def equal(self, best: float, other: float) -> bool:
        """Whether `other` is as good as the best."""
        return abs(best - other) <= max(self.slack, self.share * abs(best))


def _signed(value: float) -> str:
    return f"{value:+g}" if value else "0"


def _size(part: str) -> Callable[[Entry], float | None]:
    def lines(entry: Entry) -> float | None:
        size = getattr(entry.changed, part) if entry.changed else None
        return size.lines if size is not None else None

    return lines


def _red_on_base(entry: Entry) -> float | None:
    """Whether it brought a test that the base fails; how many of them says more about how tests are cut."""
    tests = entry.new_tests
    if tests is None or (not tests.red_on_base and (tests.why or tests.unknown)):
        return None
    return float(bool(tests.red_on_base))


def _outside(entry: Entry) -> float | None:
    outside = entry.changed.outside if entry.changed else None
    return len(outside) if outside is not None else None


def _concerns(entry: Entry) -> float | None:
    """Suppressions are a measure of their own, and are not counted twice."""
    return len([c for c in entry.concerns if c.rule != "suppressions"]) if entry.look else None


MEASURES = (
    Measure("concerns", "Integrity notes", _concerns, "the fewest integrity notes", "the most integrity notes"),
    Measure(
        "outside",
        "Files outside the area",
        _outside,
        "the fewest files outside the expected area",
        "the most files outside the expected area",
    ),
    Measure(
        "suppressions",
        "Suppressions added",
        lambda e: e.changed.suppressions if e.changed else None,
        "the fewest suppressions of checkers",
        "the most suppressions of checkers",
        shown=_signed,
    ),
    Measure(
        "new-tests",
        "A new test red on base",
        _red_on_base,
        "a new test that is red on the base",
        "no new test that is red on the base",
        "more",
        shown=lambda value: "yes" if value else "no",
    ),
    Measure(
        "lint",
        "Lint problems",
        lambda e: e.delta("lint"),
        "the fewest lint problems",
        "the most lint problems",
        shown=_signed,
    ),
    Measure(
        "types",
        "Type problems",
        lambda e: e.delta("types"),
        "the fewest type problems",
        "the most type problems",
        shown=_signed,
    ),
    Measure(
        "branching",
        "Branches added",
        lambda e: e.changed.branching if e.changed else None,
        "the least branching added",
        "the most branching added",
        slack=2,
        share=0.25,
        shown=_signed,
    ),
    Measure(
        "source",
        "Source diff",
        _size("source"),
        "the smallest source diff",
        "the largest source diff",
        slack=3,
        share=0.25,
        shown=lambda value: f"{value:g} line{'' if value == 1 else 's'}",
    ),
    Measure(
        "iterations", "Iterations", lambda e: e.iterations, "the fewest iterations", "the most iterations"
    ),
    Measure(
        "cost", "Cost", lambda e: e.cost, "the lowest cost", "the highest cost", slack=0.01, share=0.25,
        shown=amounts.format_dollars,
    ),
    Measure(
        "seconds", "Time", lambda e: e.seconds, "the shortest time", "the longest time", slack=30, share=0.5,
        shown=amounts.format_duration,
    ),
)  # fmt: skip
"""In the order in which they decide, after the gates: what a person would have to look at, then what others will have
to read and keep, then what it took. How little code there is to maintain comes before what it cost once."""
