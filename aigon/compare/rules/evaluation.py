"""The whole of a comparison: the facts, the order, strengths and weaknesses, and a proposal with reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aigon.compare.rules.facts import CandidateFacts, CrossCheck, Preference
from aigon.compare.rules.gates import combine_gates, judge_gates
from aigon.compare.rules.order import MEASURES, Dominance, Fall, Order, find_dominance, rank_candidates
from aigon.text.amounts import format_timestamp

TITLES: Mapping[str, str] = {
    "gates": "the gates",
    "criteria": "criteria passed",
    **{measure.key: measure.title.lower() for measure in MEASURES},
}
"""What the keys at which a candidate can fall are called."""


@dataclass(frozen=True, slots=True)
class ProposedWinner:
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


def find_tied(entries: Sequence[CandidateFacts], found: Order) -> tuple[str, ...]:
    """Return those on the first place, if they pass the gates and are several."""
    first = _find_first(entries, found)
    return first if len(first) > 1 else ()


def propose_winner(
    entries: Sequence[CandidateFacts], found: Order, preferences: Sequence[Preference] = ()
) -> ProposedWinner:
    """Propose one of at least one candidate. Only a candidate that passes every gate can be proposed."""
    first, running = _find_first(entries, found), any(entry.running for entry in entries)
    if not first:
        return ProposedWinner("nobody", so_far=running, reasons=tuple(_explain_nobody(entries)))
    reasons = tuple(_explain_fall(fall, entries) for fall in found.falls)
    if len(first) == 1:
        by, why = _explain_winner(found, first[0], len(entries))
        return ProposedWinner("winner", first[0], (), by, running, (why, *reasons))
    said = tuple(_quote_judge(each) for each in preferences)
    if chosen := _find_preferred(first, preferences):
        why = f"{', '.join(first)} are equal in every measure, and the judge prefers {chosen} to each of the others"
        return ProposedWinner("winner", chosen, (), "judge", running, (why, *said, *reasons))
    why = f"{' and '.join(first)} are equal in every measure that decides: a person has to choose"
    return ProposedWinner("tie", "", first, "", running, (why, *said, *reasons))


def _find_first(entries: Sequence[CandidateFacts], found: Order) -> tuple[str, ...]:
    passing = {entry.label for entry in entries if combine_gates(entry) == "pass"}
    return tuple(label for label in found.places[0] if label in passing) if found.places else ()


def _find_preferred(labels: Sequence[str], preferences: Sequence[Preference]) -> str:
    """Return the one that is preferred to each of the others, or ""."""
    won = {
        (p.one, p.other) if p.result == "one" else (p.other, p.one) for p in preferences if p.result in ("one", "other")
    }
    return next((one for one in labels if all((one, other) in won for other in labels if other != one)), "")


def _explain_winner(found: Order, winner: str, number: int) -> tuple[str, str]:
    """Return the key at which the others fell, and a sentence on it."""
    if number == 1:
        return "alone", f"{winner} passes every gate, and there is nobody to compare it with"
    last = next((fall for fall in reversed(found.falls) if fall.better == (winner,)), None)
    if last is None or last.key == "gates":
        return "gates", f"{winner} is the only one that passes every gate"
    return last.key, f"{winner} passes every gate, and is ahead of the others that do; {TITLES[last.key]} decided"


def _explain_fall(fall: Fall, entries: Sequence[CandidateFacts]) -> str:
    if fall.key == "gates":
        entry = next(each for each in entries if each.label == fall.label)
        return f"{fall.label} does not pass the gates: {_list_open_gates(entry)}"
    return f"{fall.label} fell behind {', '.join(fall.better)} at {TITLES[fall.key]}: {fall.mine}, not {fall.theirs}"


def _explain_nobody(entries: Sequence[CandidateFacts]) -> Iterator[str]:
    yield "nobody passes every gate"
    yield from (f"{entry.label}: {_list_open_gates(entry)}" for entry in entries)


def _list_open_gates(entry: CandidateFacts) -> str:
    """Return the first two gates that it does not pass, failed ones before unknown ones."""
    left = sorted((g for g in judge_gates(entry) if g.result != "pass"), key=lambda gate: gate.result != "fail")
    words = dict.fromkeys(
        f"{gate.title}: {'' if gate.result == 'fail' else 'not known, '}{gate.why}" for gate in left[:2]
    )
    return "; ".join(words)


def _quote_judge(preference: Preference) -> str:
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


@dataclass(frozen=True, slots=True)
class CandidateStrengths:
    """Of one candidate, in words, the weightiest first. They may hold text of others."""

    label: str
    strengths: tuple[str, ...]
    weaknesses: tuple[str, ...]


def list_strengths(entries: Sequence[CandidateFacts]) -> tuple[CandidateStrengths, ...]:
    """Return what speaks for and against each, beside the others: gates, and the best and the worst of each measure."""
    values = {
        measure.key: {e.label: value for e in entries if (value := measure.value(e)) is not None}
        for measure in MEASURES
    }
    passing = sum(combine_gates(entry) == "pass" for entry in entries)
    return tuple(_list_own_strengths(entry, values, passing, len(entries)) for entry in entries)


def _list_own_strengths(
    entry: CandidateFacts, values: Mapping[str, Mapping[str, float]], passing: int, number: int
) -> CandidateStrengths:
    strengths: list[str] = []
    if combine_gates(entry) == "pass":
        strengths.append("the only one that passes every gate" if passing == 1 < number else "passes every gate")
    weaknesses = [
        f"{gate.title}: {'no' if gate.result == 'fail' else 'not known'} ({gate.why})"
        for gate in judge_gates(entry)
        if gate.result != "pass"
    ]
    for measure in MEASURES:
        mine = values[measure.key].get(entry.label)
        others = [value for label, value in values[measure.key].items() if label != entry.label]
        if mine is None or not others:
            continue
        best = measure.shown(min(others) if measure.better == "less" else max(others))
        if all(measure.ahead(mine, other) for other in others):
            strengths.append(f"{measure.best} ({measure.shown(mine)}; next: {best})")
        if all(measure.ahead(other, mine) for other in others):
            weaknesses.append(f"{measure.worst} ({measure.shown(mine)}; best: {best})")
    return CandidateStrengths(entry.label, tuple(strengths), tuple(weaknesses))


FOLDER = "docs/specs/features/evaluations"
"""Where evaluations are kept."""


@dataclass(frozen=True, slots=True)
class ComparedFeature:
    """The feature as people call it, its title, and globs of where changes are expected."""

    feature: str
    title: str
    expected: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the path of its evaluation."""
        return f"{FOLDER}/feature-{self.feature}-eval.md"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`entries` stand in the order of their places. `notes` are what could not be known, and why."""

    subject: ComparedFeature
    entries: tuple[CandidateFacts, ...]
    order: Order
    dominance: tuple[Dominance, ...]
    strengths: tuple[CandidateStrengths, ...]
    cross_checks: tuple[CrossCheck, ...]
    preferences: tuple[Preference, ...]
    proposal: ProposedWinner
    notes: tuple[str, ...] = ()

    @property
    def at(self) -> str:
        """Return when the newest fact was seen: the same facts make the same file, whenever it is written."""
        return format_timestamp(max((entry.at for entry in self.entries), default=""))

    @property
    def bases(self) -> tuple[str, ...]:
        """Return the commits that the candidates began from; one, unless somebody began anew."""
        return tuple(dict.fromkeys(entry.base for entry in self.entries if entry.base))


def _add_advice(made: ProposedWinner, checks: Sequence[CrossCheck]) -> ProposedWinner:
    """Add what a person should check before accepting it: new tests of others that fail on it."""
    against = [check for check in checks if check.failed and check.against in (made.winner, *made.tied)]
    said = (f"to look at: {c.against} fails {len(c.failed)} of the new tests of {c.tests_of}" for c in against)
    return replace(made, reasons=(*made.reasons, *said))


def build_evaluation(
    subject: ComparedFeature,
    entries: Sequence[CandidateFacts],
    cross_checks: Sequence[CrossCheck] = (),
    preferences: Sequence[Preference] = (),
    notes: Sequence[str] = (),
) -> Evaluation:
    """Return what follows from the facts on at least one candidate."""
    found = rank_candidates(entries)
    places = {label: place for place, labels in enumerate(found.places) for label in labels}
    sorted_ = tuple(sorted(entries, key=lambda entry: places[entry.label]))
    return Evaluation(
        subject,
        sorted_,
        found,
        find_dominance(sorted_),
        list_strengths(sorted_),
        tuple(cross_checks),
        tuple(preferences),
        _add_advice(propose_winner(sorted_, found, preferences), cross_checks),
        (*notes, *(f"{entry.label}: {note}" for entry in sorted_ for note in entry.notes)),
    )
