"""The lexicographic order: the gates, then one measure after the other until one candidate is left.

At each measure the best of those that are left is found, and who is clearly worse (beyond the measure's tolerance)
falls out. Who does not know a value neither wins nor loses by it. So the order cannot go in a circle, as comparing two
by two with tolerances could, and there is one measure for each candidate at which it fell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aigon.compare.rules.entry import Entry
from aigon.compare.rules.gates import Passed, standing
from aigon.compare.rules.measures import MEASURES, Measure

RANKS: Mapping[Passed, int] = {"pass": 0, "unknown": 1, "fail": 2}
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


def order(entries: Sequence[Entry]) -> Order:
    """The order of candidates with different labels."""
    places: list[tuple[str, ...]] = []
    falls: dict[str, Fall] = {}
    left = list(entries)
    while left:
        best, fell = _best(left)
        for fall in fell:
            falls.setdefault(fall.label, fall)
        places.append(tuple(entry.label for entry in best))
        left = [entry for entry in left if entry not in best]
    return Order(tuple(places), tuple(falls.values()))


def _best(entries: Sequence[Entry]) -> tuple[list[Entry], list[Fall]]:
    left, falls = _through_the_gates(entries)
    for measure in MEASURES:
        if len(left) == 1:
            break
        left, fell = _at(measure, left)
        falls += fell
    return left, falls


def _through_the_gates(entries: Sequence[Entry]) -> tuple[list[Entry], list[Fall]]:
    """Those whose gates stand best; where not all pass, the ones that have most criteria proven."""
    ranks = {entry.label: RANKS[standing(entry)] for entry in entries}
    top = min(ranks.values())
    left = [entry for entry in entries if ranks[entry.label] == top]
    ahead = tuple(entry.label for entry in left)
    falls = [
        Fall(entry.label, "gates", ahead, standing(entry), standing(left[0]))
        for entry in entries
        if ranks[entry.label] > top
    ]
    if top == 0:
        return left, falls
    return _most_proven(left, falls)


def _most_proven(entries: list[Entry], falls: list[Fall]) -> tuple[list[Entry], list[Fall]]:
    most = max(entry.proven or 0 for entry in entries)
    left = [entry for entry in entries if (entry.proven or 0) == most]
    ahead = tuple(entry.label for entry in left)
    behind = [entry for entry in entries if (entry.proven or 0) < most]
    return left, [*falls, *(Fall(e.label, "criteria", ahead, str(e.proven or 0), str(most)) for e in behind)]


def _at(measure: Measure, entries: list[Entry]) -> tuple[list[Entry], list[Fall]]:
    """Who is left after one measure, and who fell at it."""
    values = {entry.label: value for entry in entries if (value := measure.value(entry)) is not None}
    if len(values) < 2:
        return entries, []
    best = min(values.values()) if measure.better == "less" else max(values.values())
    worse = [label for label, value in values.items() if not measure.equal(best, value)]
    ahead = tuple(label for label in values if label not in worse)
    falls = [Fall(label, measure.key, ahead, measure.shown(values[label]), measure.shown(best)) for label in worse]
    return [entry for entry in entries if entry.label not in worse], falls
