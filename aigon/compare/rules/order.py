"""The measures after the gates, the order of the candidates, and who dominates whom."""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Literal

from msgspec import Struct

from aigon.compare.rules.facts import CandidateFacts
from aigon.compare.rules.gates import GateResult, combine_gates
from aigon.text import amounts


class Measure(Struct, frozen=True):
    """One number of a candidate, None if it is not known. `best` and `worst` are said of extreme values.

    Values that differ by at most `slack`, or by the `share` of the better one, are equal: what varies from one run to
    the next decides nothing. `shown` writes a value for people.
    """

    key: str
    title: str
    value: Callable[[CandidateFacts], float | None]
    best: str
    worst: str
    better: Literal["less", "more"] = "less"
    slack: float = 0.0
    share: float = 0.0
    shown: Callable[[float], str] = lambda value: f"{value:g}"

    def find_best(self, values: Sequence[float]) -> float:
        return min(values) if self.better == "less" else max(values)

    def is_equal(self, best: float, other: float) -> bool:
        """Return whether `other` is as good as the best."""
        return abs(best - other) <= max(self.slack, self.share * abs(best))

    def is_ahead(self, one: float, other: float) -> bool:
        """Return whether `one` is clearly better than `other`."""
        return one != other and self.find_best((one, other)) == one and not self.is_equal(one, other)


def format_signed(value: float) -> str:
    return f"{value:+g}" if value else "0"


def _measure_new_tests(entry: CandidateFacts) -> float | None:
    """Return whether it brought a test that the base fails. How many says more about how tests are cut."""
    tests = entry.new_tests
    if tests is None or (not tests.red_on_base and (tests.why or tests.unknown)):
        return None
    return float(bool(tests.red_on_base))


def count_outside(entry: CandidateFacts) -> int | None:
    return len(entry.changed.outside) if entry.changed and entry.changed.outside is not None else None


def _count_concerns(entry: CandidateFacts) -> float | None:
    """Count all but suppressions, which are a measure of their own."""
    return len([c for c in entry.concerns if c.rule != "suppressions"]) if entry.look else None


MEASURES = (
    Measure("concerns", "Integrity notes", _count_concerns, "the fewest integrity notes", "the most integrity notes"),
    Measure("outside", "Files outside the area", count_outside,
            "the fewest files outside the expected area", "the most files outside the expected area"),
    Measure("suppressions", "Suppressions added", lambda e: e.changed.suppressions if e.changed else None,
            "the fewest suppressions of checkers", "the most suppressions of checkers", shown=format_signed),
    Measure("new-tests", "A new test red on base", _measure_new_tests,
            "a new test that is red on the base", "no new test that is red on the base", "more",
            shown=lambda value: "yes" if value else "no"),
    Measure("lint", "Lint problems", lambda e: e.delta("lint"),
            "the fewest lint problems", "the most lint problems", shown=format_signed),
    Measure("types", "Type problems", lambda e: e.delta("types"),
            "the fewest type problems", "the most type problems", shown=format_signed),
    Measure("branching", "Branches added", lambda e: e.changed.branching if e.changed else None,
            "the least branching added", "the most branching added", slack=2, share=0.25, shown=format_signed),
    Measure("source", "Source diff", lambda e: e.changed.source.lines if e.changed and e.changed.source else None,
            "the smallest source diff", "the largest source diff", slack=3, share=0.25,
            shown=lambda value: f"{value:g} line{'' if value == 1 else 's'}"),
    Measure("iterations", "Iterations", lambda e: e.iterations, "the fewest iterations", "the most iterations"),
    Measure("cost", "Cost", lambda e: e.cost, "the lowest cost", "the highest cost", slack=0.01, share=0.25,
            shown=amounts.format_dollars),
    Measure("seconds", "Time", lambda e: e.seconds, "the shortest time", "the longest time", slack=30, share=0.5,
            shown=amounts.format_duration),
)  # fmt: skip
"""In the order in which they decide, after the gates: what a person would have to look at, then what others will have
to read and keep, then what it took. How little code there is to maintain comes before what it cost once."""

RANKS: Mapping[GateResult, int] = {"pass": 0, "unknown": 1, "fail": 2}
"""How far the gates go before any measure: a candidate that fails one never beats one that passes."""


class Fall(Struct, frozen=True):
    """The measure on which a candidate fell behind others: `key` is a measure's, or `gates`, `criteria`.

    `better` are the labels of the best there; `mine` and `theirs` the two values as people read them.
    """

    label: str
    key: str
    better: tuple[str, ...]
    mine: str
    theirs: str


class Order(Struct, frozen=True):
    """`places` are labels, the best first; several on one place are tied. `falls` say at what each fell, in order."""

    places: tuple[tuple[str, ...], ...]
    falls: tuple[Fall, ...]


def rank_candidates(entries: Sequence[CandidateFacts]) -> Order:
    """Return the order of candidates with different labels."""
    places: list[tuple[str, ...]] = []
    falls: dict[str, Fall] = {}
    remaining = list(entries)
    while remaining:
        best, fallen = _find_best(remaining)
        for fall in fallen:
            falls.setdefault(fall.label, fall)
        places.append(tuple(entry.label for entry in best))
        remaining = [entry for entry in remaining if entry not in best]
    return Order(tuple(places), tuple(falls.values()))


def _find_best(entries: Sequence[CandidateFacts]) -> tuple[list[CandidateFacts], list[Fall]]:
    """Return those that no other is ahead of, and where the others fell.

    Those with the best gates remain; unless these pass, only those with the most criteria passed. Then each measure
    decides among those of whom it is known.
    """
    remaining, falls = list(entries), list[Fall]()

    def drop(key: str, values: Mapping[str, str], worse: Sequence[str], best: str) -> None:
        nonlocal remaining
        ahead = tuple(label for label in values if label not in worse)
        falls.extend(Fall(label, key, ahead, values[label], best) for label in worse)
        remaining = [entry for entry in remaining if entry.label not in worse]

    gates = {entry.label: combine_gates(entry) for entry in entries}
    top = min(gates.values(), key=lambda result: RANKS[result])
    drop("gates", gates, [label for label, result in gates.items() if result != top], top)
    if top != "pass":
        counts = {entry.label: entry.proven or 0 for entry in remaining}
        most = max(counts.values())
        shown = {label: str(count) for label, count in counts.items()}
        drop("criteria", shown, [label for label, count in counts.items() if count < most], str(most))
    for measure in MEASURES:
        values = {entry.label: value for entry in remaining if (value := measure.value(entry)) is not None}
        if len(values) > 1:
            best = measure.find_best(tuple(values.values()))
            shown = {label: measure.shown(value) for label, value in values.items()}
            worse = [label for label, value in values.items() if not measure.is_equal(best, value)]
            drop(measure.key, shown, worse, measure.shown(best))
    return remaining, falls


class Dominance(Struct, frozen=True):
    """`one` dominates `other` (labels): better in `better`, by the keys of measures, or `gates`.

    `unknown` are measures that could not be compared.
    """

    one: str
    other: str
    better: tuple[str, ...]
    unknown: tuple[str, ...]


def find_dominance(entries: Sequence[CandidateFacts]) -> tuple[Dominance, ...]:
    """Return all pairs in which one dominates the other. As good is what the measures take for equal."""
    pairs = (_compare_two(one, other) for one, other in permutations(entries, 2))
    return tuple(pair for pair in pairs if pair)


def _compare_two(one: CandidateFacts, other: CandidateFacts) -> Dominance | None:
    lead = RANKS[combine_gates(other)] - RANKS[combine_gates(one)]
    better, unknown = (["gates"] if lead > 0 else []), []
    for measure in MEASURES:
        mine, theirs = measure.value(one), measure.value(other)
        if mine is None or theirs is None:
            unknown.append(measure.key)
        elif measure.is_ahead(theirs, mine):
            return None
        elif measure.is_ahead(mine, theirs):
            better.append(measure.key)
    # Being better at the gates alone is what the order says already.
    if lead < 0 or not better or len(unknown) == len(MEASURES):
        return None
    return Dominance(one.label, other.label, tuple(better), tuple(unknown))
