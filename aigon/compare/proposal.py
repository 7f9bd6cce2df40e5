"""The whole of a comparison: the facts, the order, strengths and weaknesses, and a proposal with reasons."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.compare.facts import CandidateFacts, CrossCheck, Preference
from aigon.compare.order import (
    MEASURES,
    Dominance,
    Order,
    combine_gates,
    find_dominance,
    judge_gates,
    rank_candidates,
)
from aigon.text.amounts import format_timestamp

TITLES: Mapping[str, str] = {
    "gates": "the gates",
    "criteria": "criteria passed",
    **{measure.key: measure.title.lower() for measure in MEASURES},
}
"""What the keys at which a candidate can fall are called."""


class ProposedWinner(Struct, frozen=True):
    """`winner` and `tied` are labels. `decided_by` names what left one: a measure's key, `gates`, `judge`, `alone`, "".

    `so_far`: a candidate still runs, and may change it. `reasons` are sentences without their full stop; they may hold
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
    gates = {entry.label: _list_open_gates(entry) for entry in entries}
    if not first:
        reasons = (f"{label}: {open_gates}" for label, open_gates in gates.items())
        return ProposedWinner("nobody", so_far=running, reasons=("no candidate passes every gate", *reasons))
    falls = tuple(
        f"{fall.label} does not pass the gates: {gates[fall.label]}"
        if fall.key == "gates"
        else f"{fall.label} fell behind {', '.join(fall.better)} at {TITLES[fall.key]}: {fall.mine}, not {fall.theirs}"
        for fall in found.falls
    )
    if len(first) == 1:
        key, why = _explain_winner(found, first[0], len(entries))
        return ProposedWinner("winner", first[0], (), key, running, (why, *falls))
    quotes = tuple(map(_quote_judge, preferences))
    if chosen := _find_preferred(first, preferences):
        why = f"{', '.join(first)} are equal in every measure, and the judge prefers {chosen} to each of the others"
        return ProposedWinner("winner", chosen, (), "judge", running, (why, *quotes, *falls))
    why = f"{' and '.join(first)} are equal in every measure that decides: a person has to choose"
    return ProposedWinner("tie", "", first, "", running, (why, *quotes, *falls))


def _find_first(entries: Sequence[CandidateFacts], found: Order) -> tuple[str, ...]:
    passing = {entry.label for entry in entries if combine_gates(entry) == "pass"}
    return tuple(label for label in found.places[0] if label in passing) if found.places else ()


def _find_preferred(labels: Sequence[str], preferences: Sequence[Preference]) -> str:
    """Return the one that is preferred to each of the others, or ""."""
    won = {(p.one, p.other) for p in preferences if p.result == "one"}
    won |= {(p.other, p.one) for p in preferences if p.result == "other"}
    return next((one for one in labels if all((one, other) in won for other in labels if other != one)), "")


def _explain_winner(found: Order, winner: str, number: int) -> tuple[str, str]:
    """Return the key at which the others fell, and a sentence on it."""
    if number == 1:
        return "alone", f"{winner} passes every gate, and there is no other to compare it with"
    last = next((fall for fall in reversed(found.falls) if fall.better == (winner,)), None)
    if last is None or last.key == "gates":
        return "gates", f"{winner} is the only one that passes every gate"
    return last.key, f"{winner} passes every gate, and is ahead of the others that do; {TITLES[last.key]} decided"


def _list_open_gates(entry: CandidateFacts) -> str:
    """Return the first two gates that it does not pass, failed ones before unknown ones."""
    gates = sorted((g for g in judge_gates(entry) if g.result != "pass"), key=lambda gate: gate.result != "fail")
    words = (f"{gate.title}: {'' if gate.result == 'fail' else 'not known, '}{gate.why}" for gate in gates[:2])
    return "; ".join(dict.fromkeys(words))


def _quote_judge(preference: Preference) -> str:
    one, other = preference.one, preference.other
    sentence = {
        "one": f"the judge prefers {one} to {other}",
        "other": f"the judge prefers {other} to {one}",
        "tie": f"the judge does not tell {one} and {other} apart",
        "unknown": f"the judge gave no answer on {one} and {other}",
    }[preference.result]
    return f"{sentence}: {preference.reasons[0]}" if preference.reasons else sentence


class CandidateStrengths(Struct, frozen=True):
    """Of one candidate, in words, the weightiest first. They may hold text of others."""

    label: str
    strengths: tuple[str, ...]
    weaknesses: tuple[str, ...]


def list_strengths(entries: Sequence[CandidateFacts]) -> tuple[CandidateStrengths, ...]:
    """Return what speaks for and against each among the others: gates, and the best and the worst of each measure."""
    passing = [entry.label for entry in entries if combine_gates(entry) == "pass"]
    strengths: dict[str, list[str]] = {entry.label: [] for entry in entries}
    for label in passing:
        is_only = len(passing) == 1 < len(entries)
        strengths[label].append("the only one that passes every gate" if is_only else "passes every gate")
    weaknesses = {
        entry.label: [
            f"{gate.title}: {'no' if gate.result == 'fail' else 'not known'} ({gate.why})"
            for gate in judge_gates(entry)
            if gate.result != "pass"
        ]
        for entry in entries
    }
    for measure in MEASURES:
        values = {e.label: value for e in entries if (value := measure.value(e)) is not None}
        for label, mine in values.items():
            others = [value for other, value in values.items() if other != label]
            if not others:
                continue
            best = measure.shown(measure.find_best(others))
            if all(measure.is_ahead(mine, other) for other in others):
                strengths[label].append(f"{measure.best} ({measure.shown(mine)}; next: {best})")
            if all(measure.is_ahead(other, mine) for other in others):
                weaknesses[label].append(f"{measure.worst} ({measure.shown(mine)}; best: {best})")
    return tuple(CandidateStrengths(label, tuple(strengths[label]), tuple(weaknesses[label])) for label in strengths)


FOLDER = "docs/specs/features/evaluations"
"""Where evaluations are kept."""


class ComparedFeature(Struct, frozen=True):
    """The feature as people call it, its title, and globs of where changes are expected."""

    feature: str
    title: str
    expected: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the path of its evaluation."""
        return f"{FOLDER}/feature-{self.feature}-eval.md"


class Evaluation(Struct, frozen=True):
    """`entries` are in the order of their places. `notes` are what could not be known, and why."""

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
        """Return the commits that the candidates began from; one, unless a candidate began anew."""
        return tuple(dict.fromkeys(entry.base for entry in self.entries if entry.base))


def build_evaluation(
    subject: ComparedFeature,
    entries: Sequence[CandidateFacts],
    cross_checks: Sequence[CrossCheck] = (),
    preferences: Sequence[Preference] = (),
    notes: Sequence[str] = (),
) -> Evaluation:
    """Return what follows from the facts on at least one candidate."""
    order = rank_candidates(entries)
    places = {label: place for place, labels in enumerate(order.places) for label in labels}
    ordered = tuple(sorted(entries, key=lambda entry: places[entry.label]))
    proposal = propose_winner(ordered, order, preferences)
    advice = (  # what a person should check before accepting it
        f"to look at: {check.against} fails {len(check.failed)} of the new tests of {check.tests_of}"
        for check in cross_checks
        if check.failed and check.against in (proposal.winner, *proposal.tied)
    )
    return Evaluation(
        subject,
        ordered,
        order,
        find_dominance(ordered),
        list_strengths(ordered),
        tuple(cross_checks),
        tuple(preferences),
        replace(proposal, reasons=(*proposal.reasons, *advice)),
        (*notes, *(f"{entry.label}: {note}" for entry in ordered for note in entry.notes)),
    )
