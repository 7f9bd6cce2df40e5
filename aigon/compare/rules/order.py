"""The measures after the gates, the order that they make, and who dominates whom."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aigon.compare.rules.facts import CandidateFacts
from aigon.compare.rules.gates import GateResult, combine_gates
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
    value: Callable[[CandidateFacts], float | None]
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


def _format_signed(value: float) -> str:
    return f"{value:+g}" if value else "0"


def _measure_lines(part: str) -> Callable[[CandidateFacts], float | None]:
    def lines(entry: CandidateFacts) -> float | None:
        size = getattr(entry.changed, part) if entry.changed else None
        return size.lines if size is not None else None

    return lines


def _measure_new_tests(entry: CandidateFacts) -> float | None:
    """Whether it brought a test that the base fails; how many of them says more about how tests are cut."""
    tests = entry.new_tests
    if tests is None or (not tests.red_on_base and (tests.why or tests.unknown)):
        return None
    return float(bool(tests.red_on_base))


def _count_outside(entry: CandidateFacts) -> float | None:
    outside = entry.changed.outside if entry.changed else None
    return len(outside) if outside is not None else None


def _count_concerns(entry: CandidateFacts) -> float | None:
    """Suppressions are a measure of their own, and are not counted twice."""
    return len([c for c in entry.concerns if c.rule != "suppressions"]) if entry.look else None


MEASURES = (
    Measure("concerns", "Integrity notes", _count_concerns, "the fewest integrity notes", "the most integrity notes"),
    Measure(
        "outside",
        "Files outside the area",
        _count_outside,
        "the fewest files outside the expected area",
        "the most files outside the expected area",
    ),
    Measure(
        "suppressions",
        "Suppressions added",
        lambda e: e.changed.suppressions if e.changed else None,
        "the fewest suppressions of checkers",
        "the most suppressions of checkers",
        shown=_format_signed,
    ),
    Measure(
        "new-tests",
        "A new test red on base",
        _measure_new_tests,
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
        shown=_format_signed,
    ),
    Measure(
        "types",
        "Type problems",
        lambda e: e.delta("types"),
        "the fewest type problems",
        "the most type problems",
        shown=_format_signed,
    ),
    Measure(
        "branching",
        "Branches added",
        lambda e: e.changed.branching if e.changed else None,
        "the least branching added",
        "the most branching added",
        slack=2,
        share=0.25,
        shown=_format_signed,
    ),
    Measure(
        "source",
        "Source diff",
        _measure_lines("source"),
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

RANKS: Mapping[GateResult, int] = {"pass": 0, "unknown": 1, "fail": 2}
"""How far the gates go before any measure: a candidate that fails one never beats one that passes."""


@dataclass(frozen=True, slots=True)
class Fall:
    """Where a candidate fell behind those that it was compared with: `key` is a measure's, or `gates`, `criteria`.

    `better` are the labels of the best there; `mine` and `theirs` the two values as people read them.
    """

    label: str
    key: str
    better: tuple[str, ...]
    mine: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Order:
    """`places` are labels, the best first; several on one place are tied. `falls` say at what each fell, in order."""

    places: tuple[tuple[str, ...], ...]
    falls: tuple[Fall, ...]


def rank_candidates(entries: Sequence[CandidateFacts]) -> Order:
    """The order of candidates with different labels."""
    places: list[tuple[str, ...]] = []
    falls: dict[str, Fall] = {}
    left = list(entries)
    while left:
        best, fell = _find_best(left)
        for fall in fell:
            falls.setdefault(fall.label, fall)
        places.append(tuple(entry.label for entry in best))
        left = [entry for entry in left if entry not in best]
    return Order(tuple(places), tuple(falls.values()))


def _find_best(entries: Sequence[CandidateFacts]) -> tuple[list[CandidateFacts], list[Fall]]:
    left, falls = _compare_gates(entries)
    for measure in MEASURES:
        if len(left) == 1:
            break
        left, fell = _compare_measure(measure, left)
        falls += fell
    return left, falls


def _compare_gates(entries: Sequence[CandidateFacts]) -> tuple[list[CandidateFacts], list[Fall]]:
    """Those whose gates stand best; where not all pass, the ones that have most criteria proven."""
    ranks = {entry.label: RANKS[combine_gates(entry)] for entry in entries}
    top = min(ranks.values())
    left = [entry for entry in entries if ranks[entry.label] == top]
    ahead = tuple(entry.label for entry in left)
    falls = [
        Fall(entry.label, "gates", ahead, combine_gates(entry), combine_gates(left[0]))
        for entry in entries
        if ranks[entry.label] > top
    ]
    if top == 0:
        return left, falls
    return _compare_criteria(left, falls)


def _compare_criteria(entries: list[CandidateFacts], falls: list[Fall]) -> tuple[list[CandidateFacts], list[Fall]]:
    most = max(entry.proven or 0 for entry in entries)
    left = [entry for entry in entries if (entry.proven or 0) == most]
    ahead = tuple(entry.label for entry in left)
    behind = [entry for entry in entries if (entry.proven or 0) < most]
    return left, [*falls, *(Fall(e.label, "criteria", ahead, str(e.proven or 0), str(most)) for e in behind)]


def _compare_measure(measure: Measure, entries: list[CandidateFacts]) -> tuple[list[CandidateFacts], list[Fall]]:
    """Who is left after one measure, and who fell at it."""
    values = {entry.label: value for entry in entries if (value := measure.value(entry)) is not None}
    if len(values) < 2:
        return entries, []
    best = min(values.values()) if measure.better == "less" else max(values.values())
    worse = [label for label, value in values.items() if not measure.equal(best, value)]
    ahead = tuple(label for label in values if label not in worse)
    falls = [Fall(label, measure.key, ahead, measure.shown(values[label]), measure.shown(best)) for label in worse]
    return [entry for entry in entries if entry.label not in worse], falls


GATES = "gates"


@dataclass(frozen=True, slots=True)
class Dominance:
    """`one` dominates `other` (labels): better in `better`, by the keys of measures, or `gates`; `unknown` are measures
    that could not be compared."""

    one: str
    other: str
    better: tuple[str, ...]
    unknown: tuple[str, ...]


def find_dominance(entries: Sequence[CandidateFacts]) -> tuple[Dominance, ...]:
    """All pairs in which one dominates the other. As good is what the measures take for equal."""
    return tuple(_find_pairs(entries))


def _find_pairs(entries: Sequence[CandidateFacts]) -> Iterator[Dominance]:
    for one in entries:
        for other in entries:
            if one is not other and (found := _compare_two(one, other)):
                yield found


def _compare_two(one: CandidateFacts, other: CandidateFacts) -> Dominance | None:
    gate = RANKS[combine_gates(other)] - RANKS[combine_gates(one)]
    if gate < 0:
        return None
    better, unknown = ([GATES] if gate else []), []
    for measure in MEASURES:
        mine, theirs = measure.value(one), measure.value(other)
        if mine is None or theirs is None:
            unknown.append(measure.key)
        elif measure.ahead(theirs, mine):
            return None
        elif measure.ahead(mine, theirs):
            better.append(measure.key)
    # Only what both have been measured by says anything: better at the gates alone is what the order says already.
    return Dominance(one.label, other.label, tuple(better), tuple(unknown)) if better and _is_known(unknown) else None


def _is_known(unknown: Sequence[str]) -> bool:
    return len(unknown) < len(MEASURES)
