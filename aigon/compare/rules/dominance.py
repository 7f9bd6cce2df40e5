"""Who dominates whom: as good in every measure that both know, better in one, and no worse at the gates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aigon.compare.rules.entry import Entry
from aigon.compare.rules.gates import standing
from aigon.compare.rules.measures import MEASURES
from aigon.compare.rules.order import RANKS

GATES = "gates"


@dataclass(frozen=True, slots=True)
class Dominance:
    """`one` dominates `other` (labels): better in `better`, by the keys of measures, or `gates`; `unknown` are measures
    that could not be compared."""

    one: str
    other: str
    better: tuple[str, ...]
    unknown: tuple[str, ...]


def dominance(entries: Sequence[Entry]) -> tuple[Dominance, ...]:
    """All pairs in which one dominates the other. As good is what the measures take for equal."""
    return tuple(_pairs(entries))


def _pairs(entries: Sequence[Entry]) -> Iterator[Dominance]:
    for one in entries:
        for other in entries:
            if one is not other and (found := _compared(one, other)):
                yield found


def _compared(one: Entry, other: Entry) -> Dominance | None:
    gate = RANKS[standing(other)] - RANKS[standing(one)]
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
    return Dominance(one.label, other.label, tuple(better), tuple(unknown)) if better and _some(unknown) else None


def _some(unknown: Sequence[str]) -> bool:
    return len(unknown) < len(MEASURES)
