"""Requests of an agent during its turn: claims, criteria left to a person, proposals. None of them decides anything."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.model import Recorded
from aigon.model.criteria import Criterion, Promise, Verdict
from aigon.text.patterns import compile_re

RequestKind = Literal["done", "skip", "reset", "enqueue"]
MAX_PROPOSALS = 10
"""Proposals of a run that are kept: a person reads them."""
_ID = compile_re(r"([A-Za-z]+-?\d+):\s")
"""An ID that the text of a criterion begins with, as `T001: ` does."""


class AgentRequest(Recorded, frozen=True):
    """One request. `done`, `skip` and `reset` are about a criterion; `text` is the reason or the proposed title."""

    kind: RequestKind
    criterion: int = 0
    text: str = ""
    priority: str = ""


class Requests(Struct, frozen=True):
    """The requests in force: criteria claimed since the last assessment, those left to a person and why, proposals."""

    claims: tuple[int, ...] = ()
    skips: Mapping[int, str] = field(default_factory=dict)
    proposals: tuple[AgentRequest, ...] = ()

    def apply(self, requests: Iterable[AgentRequest]) -> "Requests":
        """Return the requests in force after these. Reading the same ones twice changes nothing."""
        claims, skips, proposals = dict.fromkeys(self.claims), dict(self.skips), list(self.proposals)
        for each in requests:
            if each.kind == "enqueue":
                if len(proposals) < MAX_PROPOSALS and each.text not in [known.text for known in proposals]:
                    proposals.append(each)
                continue
            claims.pop(each.criterion, None)
            skips.pop(each.criterion, None)
            if each.kind == "done":
                claims[each.criterion] = None
            elif each.kind == "skip":
                skips[each.criterion] = each.text
        return Requests(tuple(claims), skips, tuple(proposals))

    def settle(self) -> "Requests":
        """Return what is left after an assessment, which keeps or breaks every claim."""
        return replace(self, claims=()) if self.claims else self

    def resume(self) -> "Requests":
        """Return what is left when a person resumes a run that had ended: they know what was left to them."""
        return Requests(proposals=self.proposals)


def resolve_task(criteria: Sequence[Criterion], feature: str, task: str) -> int:
    """Return the number of the criterion that `task` names: `3` or the ID in its text, also with `42.` before it.

    0 if there is none.
    """
    prefix, dot, name = task.rpartition(".")
    if dot and prefix != feature:
        return 0
    if name.isdecimal():
        return next((each.number for each in criteria if each.number == int(name)), 0)
    named = ((each.number, _ID.match(each.text)) for each in criteria)
    return next((number for number, match in named if match and match[1].lower() == name.lower()), 0)


def judge_claims(claims: Iterable[int], verdicts: Sequence[Verdict]) -> tuple[Promise, ...]:
    """Return each claim that a criterion is done as a promise that the verdict keeps or breaks."""
    known = {verdict.criterion: verdict for verdict in verdicts}
    return tuple(
        Promise(f"criterion {number} is done", verdict.status == "met", verdict.reason)
        for number in claims
        if (verdict := known.get(number))
    )
