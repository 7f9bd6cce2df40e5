"""The whole of a comparison: what was known of everybody, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aigon.compare.rules.dominance import Dominance, dominance
from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evidence import CrossCheck, Preference
from aigon.compare.rules.order import Order, order
from aigon.compare.rules.proposal import Proposal, proposal
from aigon.compare.rules.strengths import Strengths, strengths
from aigon.text.amounts import format_timestamp

FOLDER = "docs/specs/features/evaluations"
"""Where evaluations are kept."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is compared: the feature as people call it, its title, the area where changes are expected (globs)."""

    feature: str
    title: str
    expected: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The file of its evaluation."""
        return f"{FOLDER}/feature-{self.feature}-eval.md"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`entries` stand in the order of their places. `notes` are what could not be known, and why."""

    subject: Subject
    entries: tuple[Entry, ...]
    order: Order
    dominance: tuple[Dominance, ...]
    strengths: tuple[Strengths, ...]
    cross_checks: tuple[CrossCheck, ...]
    preferences: tuple[Preference, ...]
    proposal: Proposal
    notes: tuple[str, ...] = ()

    @property
    def at(self) -> str:
        """When the newest fact was seen: the same facts make the same file, whenever it is written."""
        return format_timestamp(max((entry.at for entry in self.entries), default=""))

    @property
    def bases(self) -> tuple[str, ...]:
        """The commits that the candidates began from; one, unless somebody began anew."""
        return tuple(dict.fromkeys(entry.base for entry in self.entries if entry.base))


def _advised(made: Proposal, checks: Sequence[CrossCheck]) -> Proposal:
    """The proposal with what a person should look at before taking it: new tests of others that fail on it."""
    against = [check for check in checks if check.failed and check.against in (made.winner, *made.tied)]
    said = (f"to look at: {c.against} fails {len(c.failed)} of the new tests of {c.tests_of}" for c in against)
    return replace(made, reasons=(*made.reasons, *said))


def evaluated(
    subject: Subject,
    entries: Sequence[Entry],
    cross_checks: Sequence[CrossCheck] = (),
    preferences: Sequence[Preference] = (),
    notes: Sequence[str] = (),
) -> Evaluation:
    """What follows from the facts on at least one candidate."""
    found = order(entries)
    places = {label: place for place, labels in enumerate(found.places) for label in labels}
    sorted_ = tuple(sorted(entries, key=lambda entry: places[entry.label]))
    return Evaluation(
        subject,
        sorted_,
        found,
        dominance(sorted_),
        strengths(sorted_),
        tuple(cross_checks),
        tuple(preferences),
        _advised(proposal(sorted_, found, preferences), cross_checks),
        (*notes, *(f"{entry.label}: {note}" for entry in sorted_ for note in entry.notes)),
    )
