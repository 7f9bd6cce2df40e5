"""What is proposed, with reasons: a candidate, a tie that a person decides, or nobody."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evidence import Preference
from aigon.compare.rules.gates import gates, standing
from aigon.compare.rules.measures import MEASURES
from aigon.compare.rules.order import Fall, Order

TITLES: Mapping[str, str] = {
    "gates": "the gates",
    "criteria": "criteria proven",
    **{measure.key: measure.title.lower() for measure in MEASURES},
}
"""What the keys at which a candidate can fall are called."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """`winner` and `tied` are labels. `decided_by` names what left one: a measure's key, `gates`, `judge`, `alone`, "".

    `so_far`: somebody still runs, and may change it. `reasons` are sentences without their full stop; they may hold
    text of others.
    """

    kind: Literal["winner", "tie", "nobody"]
    winner: str = ""
    tied: tuple[str, ...] = ()
    decided_by: str = ""
    so_far: bool = False
    reasons: tuple[str, ...] = ()


def tied(entries: Sequence[Entry], found: Order) -> tuple[str, ...]:
    """Those whom the order leaves on the first place, if they pass the gates and are several."""
    first = _first(entries, found)
    return first if len(first) > 1 else ()


def proposal(entries: Sequence[Entry], found: Order, preferences: Sequence[Preference] = ()) -> Proposal:
    """The proposal on at least one candidate. Only who passes every gate can be proposed."""
    first, running = _first(entries, found), any(entry.running for entry in entries)
    if not first:
        return Proposal("nobody", so_far=running, reasons=tuple(_nobody(entries)))
    reasons = tuple(_fell(fall, entries) for fall in found.falls)
    if len(first) == 1:
        by, why = _decided(found, first[0], len(entries))
        return Proposal("winner", first[0], (), by, running, (why, *reasons))
    said = tuple(_said(each) for each in preferences)
    if chosen := _preferred(first, preferences):
        why = f"{', '.join(first)} are equal in every measure, and the judge prefers {chosen} to each of the others"
        return Proposal("winner", chosen, (), "judge", running, (why, *said, *reasons))
    why = f"{' and '.join(first)} are equal in every measure that decides: a person has to choose"
    return Proposal("tie", "", first, "", running, (why, *said, *reasons))


def _first(entries: Sequence[Entry], found: Order) -> tuple[str, ...]:
    passing = {entry.label for entry in entries if standing(entry) == "pass"}
    return tuple(label for label in found.places[0] if label in passing) if found.places else ()


def _preferred(labels: Sequence[str], preferences: Sequence[Preference]) -> str:
    """The one that is preferred to each of the others; "" where there is none."""
    won = {
        (p.one, p.other) if p.result == "one" else (p.other, p.one) for p in preferences if p.result in ("one", "other")
    }
    return next((one for one in labels if all((one, other) in won for other in labels if other != one)), "")


def _decided(found: Order, winner: str, number: int) -> tuple[str, str]:
    """At which key it was left alone, and that in words."""
    if number == 1:
        return "alone", f"{winner} passes every gate, and there is nobody to compare it with"
    last = next((fall for fall in reversed(found.falls) if fall.better == (winner,)), None)
    if last is None or last.key == "gates":
        return "gates", f"{winner} is the only one that passes every gate"
    return last.key, f"{winner} passes every gate, and is ahead of the others that do; {TITLES[last.key]} decided"


def _fell(fall: Fall, entries: Sequence[Entry]) -> str:
    if fall.key == "gates":
        entry = next(each for each in entries if each.label == fall.label)
        return f"{fall.label} does not pass the gates: {_stopped(entry)}"
    return f"{fall.label} fell behind {', '.join(fall.better)} at {TITLES[fall.key]}: {fall.mine}, not {fall.theirs}"


def _nobody(entries: Sequence[Entry]) -> Iterator[str]:
    yield "nobody passes every gate"
    yield from (f"{entry.label}: {_stopped(entry)}" for entry in entries)


def _stopped(entry: Entry) -> str:
    """The gates that it does not pass, those that it fails first, in short."""
    left = sorted((g for g in gates(entry) if g.result != "pass"), key=lambda gate: gate.result != "fail")
    words = dict.fromkeys(
        f"{gate.title}: {'' if gate.result == 'fail' else 'not known, '}{gate.why}" for gate in left[:2]
    )
    return "; ".join(words)


def _said(preference: Preference) -> str:
    match preference.result:
        case "one":
            says = f"the judge prefers {preference.one} to {preference.other}"
        case "other":
            says = f"the judge prefers {preference.other} to {preference.one}"
        case "tie":
            says = f"the judge does not tell {preference.one} and {preference.other} apart"
        case _:
            says = f"the judge gave no answer on {preference.one} and {preference.other}"
    return f"{says}: {preference.reasons[0]}" if preference.reasons else says
