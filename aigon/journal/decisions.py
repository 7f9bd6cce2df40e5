"""Decisions of people on criteria, and for how long each holds."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, convert

from aigon.model.criteria import WAIVED, Criterion, Verdict

DecisionKind = Literal["approve", "reject", "waive", "reset"]


class HumanDecision(Struct, frozen=True, forbid_unknown_fields=True):
    """An approval or rejection of one criterion, for the code in `commit` with the content `content`.

    If the criterion's text or the code changes, it no longer holds: it was made about the old one. `waive` says that
    the criterion, as it is worded, is not needed, whatever the code; `reset` takes all earlier decisions on it back.
    """

    criterion: int
    text: str
    decision: DecisionKind
    why: str
    content: str
    commit: str
    who: str
    at: str


def parse_decision(document: Mapping[str, object]) -> HumanDecision:
    """Return the decision in a document. Raises ValueError, naming the field, for a malformed one."""
    return convert(document, HumanDecision)


def find_decision(decisions: Iterable[HumanDecision], criterion: Criterion, content: str) -> HumanDecision | None:
    """Return the last of `decisions` on this criterion and this content.

    They are in the order of the record: clocks can be set back, and times with offsets do not sort as text.
    """
    found = None
    for each in decisions:
        if (each.criterion, each.text) != (criterion.number, criterion.text):
            continue
        if each.decision == "reset":
            found = None
        elif each.decision == "waive" or (content and each.content == content):
            found = each
    return found


def find_outdated_approval(decisions: Iterable[HumanDecision], criterion: Criterion) -> HumanDecision | None:
    """Return a person's last word on this criterion if that was to approve of other code."""
    mine = [each for each in decisions if (each.criterion, each.text) == (criterion.number, criterion.text)]
    return mine[-1] if mine and mine[-1].decision == "approve" else None


def decision_verdict(decision: HumanDecision) -> Verdict:
    """Return the verdict that a person's decision amounts to."""
    who = f"{decision.who} on {decision.at[:10]} ({decision.commit[:8]})"
    if decision.decision == "waive":
        return Verdict(decision.criterion, "met", WAIVED, f"waived by {who}", decision.why)
    if decision.decision == "approve":
        return Verdict(decision.criterion, "met", "approval", f"approved by {who}", decision.why)
    return Verdict(decision.criterion, "unmet", "approval", f"rejected by {who}", decision.why)


def find_human_ticks(criteria: Iterable[Criterion], decisions: Iterable[HumanDecision]) -> tuple[str, ...]:
    """Return the texts of ticked `human` items that aigon did not tick itself for an approval of other code."""
    approved = {d.text for d in decisions if d.decision == "approve"}
    return tuple(c.text for c in criteria if c.kind == "human" and c.checked and c.text not in approved)
