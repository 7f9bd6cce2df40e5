"""The definition of proven: every criterion passed, every check passed, and the tree holds more than the base."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from aigon.model.checks import OWN_ROLES, Finding
from aigon.model.criteria import COMMAND_KINDS, HIDDEN, WAIVED, Criterion, Verdict
from aigon.model.outcomes import VALIDATION_SKIPPED, Met, NeedsHuman
from aigon.text.amounts import list_criteria
from aigon.text.quoting import fold

if TYPE_CHECKING:
    from aigon.job.assessment import Assessment
    from aigon.journal.events import IterationFinished

IN_PLACE = "proved in place, not in a clean room"
ACCEPTED = "every criterion passed before the first turn, which --accept-passing accepted"


class Demand(Struct, frozen=True):
    """The meaning of proven for this job. `known_failures` are checks that may fail, by the spec's frontmatter.

    `in_place`: the project gave up the clean-room proof, which the outcome says. `accept_passing`: a person accepts
    that every criterion passes before the first turn, as in a refactoring. The outcome says what is `stated`.
    """

    criteria: tuple[Criterion, ...]
    known_failures: tuple[str, ...] = ()
    skip_validation: bool = False
    in_place: bool = False
    accept_passing: bool = False
    stated: tuple[str, ...] = ()


def find_proof(demand: Demand, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> Met | None:
    """Return Met only if every criterion and every check passed; nothing unknown counts."""
    passed = {v.criterion for v in verdicts if v.status == "met"}
    failures = [f for f in findings if f.status != "pass"]
    if not demand.criteria or any(c.number not in passed for c in demand.criteria):
        return None
    waived = [v for v in verdicts if v.is_waived]
    if len(waived) == len(demand.criteria):
        return None
    if not all(is_forgiven(demand, f) for f in failures):
        return None
    if not _has_passed_check(findings) and not all(_stands_alone(v) for v in verdicts):
        return None
    return Met(
        (
            *([VALIDATION_SKIPPED] if demand.skip_validation else []),
            *([IN_PLACE] if demand.in_place else []),
            *demand.stated,
            *(f"criterion {v.criterion} was {v.evidence}: {fold(v.reason)}" for v in waived),
            *(f"known failure: {f.title} ({f.summary})" for f in failures),
            *(p.message for f in findings if f.role == "proof" for p in f.problems if p.severity == "warning"),
        )
    )


def is_hollow(demand: Demand, assessment: "Assessment | IterationFinished", *, worked: bool) -> bool:
    """Return whether every criterion passed at the base and nothing since shows more: a pass proves nothing then.

    That is if the tree adds nothing to the base, or no agent has `worked` and no person accepted it: what people
    committed meanwhile may be about anything.
    """
    idle = assessment.adds_nothing or not (worked or demand.accept_passing)
    return idle and _all_passed_at_base(demand, assessment)


def _all_passed_at_base(demand: Demand, assessment: "Assessment | IterationFinished") -> bool:
    waived = {verdict.criterion for verdict in assessment.verdicts if verdict.is_waived}
    return {criterion.number for criterion in demand.criteria} - waived <= set(assessment.passed_at_base)


def with_acceptance(demand: Demand, assessment: "Assessment | IterationFinished", proven: Met) -> Met:
    accepted = demand.accept_passing and _all_passed_at_base(demand, assessment)
    return Met((ACCEPTED, *proven.caveats)) if accepted else proven


def describe_nothing_built(demand: Demand, assessment: "Assessment | IterationFinished") -> NeedsHuman:
    """Return the outcome if everything passes, as it did at the base, and nothing since shows more."""
    numbers = tuple(criterion.number for criterion in demand.criteria)
    which, it = list_criteria(numbers), "It proves" if len(numbers) == 1 else "They prove"
    reason = f"nothing was built. No file has changed, and {which} passed before the first turn. {it} nothing"
    if not assessment.adds_nothing:
        reason = f"no agent has worked, and {which} passed before the commits on this branch as well. {it} nothing"
    return NeedsHuman(numbers, reason, nothing_built=True)


def require_support(findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts, but unclear if they rest on checks and none passed: a judge's word alone is no proof."""
    if _has_passed_check(findings):
        return tuple(verdicts)
    return tuple(_doubt(v) if v.status == "met" and not _stands_alone(v) else v for v in verdicts)


def _doubt(verdict: Verdict) -> Verdict:
    said = f" ({verdict.reason})" if verdict.reason else ""
    why = f"no check passed, so the {verdict.method}'s word alone is no proof{said}; `aigon approve` decides"
    return replace(verdict, status="unclear", method="human", reason=why)


def is_forgiven(demand: Demand, finding: Finding) -> bool:
    """Return whether the check is a known failure. One of aigon's own never is: what is in no commit is not proven."""
    return finding.role not in OWN_ROLES and finding.check in demand.known_failures


def _has_passed_check(findings: Sequence[Finding]) -> bool:
    """Return whether any check of the project's own passed."""
    return any(f.role not in OWN_ROLES and f.status == "pass" for f in findings)


def _stands_alone(verdict: Verdict) -> bool:
    """Return whether it is proof even if no check ran: a command's exit, a number against a bound, a person."""
    return verdict.method in (*COMMAND_KINDS, HIDDEN, "approval", WAIVED)
