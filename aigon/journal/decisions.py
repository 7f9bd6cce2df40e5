"""What a person decided on a criterion, and for how long it holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Literal

from aigon.model.criteria import Criterion, Verdict


@dataclass(frozen=True, slots=True)
class HumanDecision:
    """An approval or rejection of one criterion, of the code in `commit`, whose content `content` names.

    It holds for that criterion's text and that code. When either changes, the criterion is open again: nobody has
    seen the new one.
    """

    criterion: int
    text: str
    decision: Literal["approve", "reject"]
    why: str
    content: str
    commit: str
    who: str
    at: str


def parse_decision(document: Mapping[str, object]) -> HumanDecision:
    """The decision in a document. Raises ValueError, with what is wrong, for what is none."""
    number = document.get("criterion")
    for name in fields(HumanDecision):
        value = document.get(name.name)
        if not isinstance(value, int if name.name == "criterion" else str) or isinstance(value, bool):
            raise ValueError(f"'{name.name}'")
    if extra := set(document) - {field.name for field in fields(HumanDecision)}:
        raise ValueError(f"'{sorted(extra)[0]}'")
    if document["decision"] not in ("approve", "reject"):
        raise ValueError("'decision'")
    return HumanDecision(number, **{key: value for key, value in document.items() if key != "criterion"})  # type: ignore[arg-type]


def find_decision(decisions: Iterable[HumanDecision], criterion: Criterion, content: str) -> HumanDecision | None:
    """The last of `decisions`, oldest first, on this criterion that speaks of this content.

    Their order is that of the record: clocks are put back, and times with offsets do not sort as text.
    """
    wanted = (criterion.number, criterion.text, content)
    fitting = [d for d in decisions if content and (d.criterion, d.text, d.content) == wanted]
    return fitting[-1] if fitting else None


def decision_verdict(decision: HumanDecision) -> Verdict:
    """The verdict that a person's decision amounts to."""
    who = f"{decision.who} on {decision.at[:10]} ({decision.commit[:8]})"
    if decision.decision == "approve":
        return Verdict(decision.criterion, "met", "approval", f"approved by {who}", decision.why)
    return Verdict(decision.criterion, "unmet", "approval", f"rejected by {who}", decision.why)


def find_human_ticks(criteria: Iterable[Criterion], decisions: Iterable[HumanDecision]) -> tuple[str, ...]:
    """The texts of `human` items that stand ticked and that aigon itself did not tick for an approval of other code."""
    approved = {d.text for d in decisions if d.decision == "approve"}
    return tuple(c.text for c in criteria if c.kind == "human" and c.checked and c.text not in approved)
