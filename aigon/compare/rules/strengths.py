"""What speaks for and against each candidate, beside the others: the best and the worst of every measure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from aigon.compare.rules.entry import Entry
from aigon.compare.rules.gates import gates, standing
from aigon.compare.rules.measures import MEASURES, Measure


@dataclass(frozen=True, slots=True)
class Strengths:
    """Of one candidate, in words, the weightiest first. They may hold text of others."""

    label: str
    strengths: tuple[str, ...]
    weaknesses: tuple[str, ...]


def strengths(entries: Sequence[Entry]) -> tuple[Strengths, ...]:
    """One for each candidate, in their order."""
    return tuple(Strengths(e.label, tuple(_for(e, entries)), tuple(_against(e, entries))) for e in entries)


def _for(entry: Entry, entries: Sequence[Entry]) -> Iterator[str]:
    if standing(entry) == "pass":
        alone = sum(standing(each) == "pass" for each in entries) == 1 and len(entries) > 1
        yield "the only one that passes every gate" if alone else "passes every gate"
    for measure in MEASURES:
        values = _values(measure, entries)
        mine = values.pop(entry.label, None)
        if mine is not None and values and all(measure.ahead(mine, other) for other in values.values()):
            yield f"{measure.best} ({measure.shown(mine)}; next: {measure.shown(_best(measure, values.values()))})"


def _against(entry: Entry, entries: Sequence[Entry]) -> Iterator[str]:
    for gate in gates(entry):
        if gate.result != "pass":
            yield f"{gate.title}: {'no' if gate.result == 'fail' else 'not known'} ({gate.why})"
    for measure in MEASURES:
        values = _values(measure, entries)
        mine = values.pop(entry.label, None)
        if mine is not None and values and all(measure.ahead(other, mine) for other in values.values()):
            yield f"{measure.worst} ({measure.shown(mine)}; best: {measure.shown(_best(measure, values.values()))})"


def _values(measure: Measure, entries: Sequence[Entry]) -> dict[str, float]:
    return {each.label: value for each in entries if (value := measure.value(each)) is not None}


def _best(measure: Measure, values: Iterable[float]) -> float:
    return min(values) if measure.better == "less" else max(values)
