"""What proven means: every criterion passed, every check passed, and the tree holds more than the base."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from aigon.model.checks import OWN_ROLES, Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.model.outcomes import VALIDATION_SKIPPED, Met, NeedsHuman
from aigon.text.amounts import list_criteria

IN_PLACE = "proved in place, not in a clean room"
ACCEPTED = "every criterion passed before the first turn, which --accept-passing accepted"


@dataclass(frozen=True, slots=True)
class Demand:
    """What proven means for this job. `known_failures` are check names that may stay red, by the spec's frontmatter.

    `in_place`: the project gave up the clean-room proof, which the outcome says. `accept_passing`: a person accepts
    that every criterion passes before the first turn, as in a refactoring.
    """

    criteria: tuple[Criterion, ...]
    known_failures: tuple[str, ...] = ()
    skip_validation: bool = False
    in_place: bool = False
    accept_passing: bool = False


def find_proof(demand: Demand, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> Met | None:
    """Met only if every criterion has the verdict met and every check is green; nothing unknown counts."""
    proven = {v.criterion for v in verdicts if v.status == "met"}
    if not demand.criteria or any(c.number not in proven for c in demand.criteria):
        return None
    red = [f for f in findings if f.status != "pass"]
    if not all(is_forgiven(demand, f) for f in red):
        return None
    if not _checked(findings) and not all(_stands_alone(v) for v in verdicts):
        return None
    weak = (p.message for f in findings if f.role == "proof" for p in f.problems if p.severity == "warning")
    return Met((*_caveats(demand, red), *weak))


class Compared(Protocol):
    """A look at a tree that was compared with the base."""

    @property
    def passed_at_base(self) -> tuple[int, ...]:
        """The criteria that passed at the base already."""

    @property
    def adds_nothing(self) -> bool:
        """Whether the tree holds nothing beyond the base but aigon's own files."""


def is_hollow(demand: Demand, look: Compared) -> bool:
    """Whether every criterion passed at the base and the tree adds nothing to it: a pass proves nothing then."""
    return look.adds_nothing and _all_passed_at_base(demand, look)


def _all_passed_at_base(demand: Demand, look: Compared) -> bool:
    return {criterion.number for criterion in demand.criteria} <= set(look.passed_at_base)


def with_acceptance(demand: Demand, look: Compared, proven: Met) -> Met:
    accepted = demand.accept_passing and _all_passed_at_base(demand, look)
    return Met((ACCEPTED, *proven.caveats)) if accepted else proven


def describe_nothing_built(demand: Demand) -> NeedsHuman:
    """The outcome where everything passes, as it did at the base, and no file has changed since."""
    numbers = tuple(criterion.number for criterion in demand.criteria)
    which, it = list_criteria(numbers), "It proves" if len(numbers) == 1 else "They prove"
    reason = f"nothing was built. No file has changed, and {which} passed before the first turn. {it} nothing"
    return NeedsHuman(numbers, reason, nothing_built=True)


def require_support(findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """`verdicts`, but unclear where one leans on checks and none passed: a judge's word alone is no proof."""
    if _checked(findings):
        return tuple(verdicts)
    return tuple(_leaning(v) if v.status == "met" and not _stands_alone(v) else v for v in verdicts)


def _leaning(verdict: Verdict) -> Verdict:
    said = f" ({verdict.reason})" if verdict.reason else ""
    why = f"no check passed, so the {verdict.method}'s word alone is no proof{said}; `aigon approve` decides"
    return replace(verdict, status="unclear", method="human", reason=why)


def is_forgiven(demand: Demand, finding: Finding) -> bool:
    """Listed as a known failure. Never a check of aigon's own: what is in no commit, for one, cannot be proven."""
    return finding.role not in OWN_ROLES and finding.check in demand.known_failures


def _checked(findings: Sequence[Finding]) -> bool:
    """Whether any check of the project's own passed."""
    return any(f.role not in OWN_ROLES and f.status == "pass" for f in findings)


def _stands_alone(verdict: Verdict) -> bool:
    """Proof enough where no check ran: a command's exit, a number against a bound, a person."""
    return verdict.method in ("verify", "metric", "approval")


def _caveats(demand: Demand, red: Sequence[Finding]) -> tuple[str, ...]:
    known = tuple(f"known failure: {f.title} ({f.summary})" for f in red)
    said = (VALIDATION_SKIPPED,) if demand.skip_validation else ()
    return (*said, *((IN_PLACE,) if demand.in_place else ()), *known)
