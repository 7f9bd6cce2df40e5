"""The remembered part of an assessment: every check with the first lines of its complaints, and what remains."""

from collections.abc import Sequence
from sys import intern

from msgspec import Struct

from aigon.model.checks import CheckStatus, Finding, TestCounts
from aigon.model.criteria import Verdict, VerdictStatus
from aigon.model.failures import FailureGroup, format_location, group_problems, has_failed, select_errors
from aigon.text.quoting import fold

MAX_LINE_CHARS = 200
MAX_COMPLAINTS = 3
_MAX_GROUPED_PROBLEMS = 20
"""Each costs a hash, and only a few lines are kept."""
_MAX_NAMES = 50


class Complaint(Struct, frozen=True):
    """One kind of failure: the first line of its example, its test or location, how many were like it."""

    text: str
    where: str
    times: int


class CheckSummary(Struct, frozen=True):
    """The result of one check; `duration` is in seconds. `complaints` of a failed one begin with the weightiest.

    `fingerprints` identify its failures; `names` are the same for people, in the same order, or empty.
    """

    check: str
    title: str
    status: CheckStatus
    summary: str
    counts: TestCounts | None = None
    duration: float = 0.0
    cached: bool = False
    complaints: tuple[Complaint, ...] = ()
    fingerprints: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def red(self) -> bool:
        """True if it failed or gave no result."""
        return self.status in ("fail", "error")


class RemainingCriterion(Struct, frozen=True):
    """A criterion that has not passed, and why."""

    criterion: int
    status: VerdictStatus
    reason: str


def summarise_check(finding: Finding) -> CheckSummary:
    """Return what is remembered of a finding. Words that recur with every iteration are in memory once."""
    failed = has_failed(finding)
    return CheckSummary(
        intern(finding.check),
        intern(fold(finding.title, 80)),
        finding.status,
        intern(fold(finding.summary, MAX_LINE_CHARS)),
        finding.counts,
        finding.duration,
        finding.cached,
        _list_complaints(finding) if failed else (),
        finding.fingerprints if failed else (),
        _list_names(finding) if failed else (),
    )


def list_remaining_criteria(verdicts: Sequence[Verdict]) -> tuple[RemainingCriterion, ...]:
    """Return the criteria that have not passed."""
    return tuple(
        RemainingCriterion(v.criterion, v.status, fold(v.reason or v.evidence, MAX_LINE_CHARS))
        for v in verdicts
        if v.status != "met"
    )


def _list_complaints(finding: Finding) -> tuple[Complaint, ...]:
    if groups := group_problems(select_errors(finding)[:_MAX_GROUPED_PROBLEMS]):
        return tuple(map(_make_complaint, groups[:MAX_COMPLAINTS]))
    last = fold(next((line for line in reversed(finding.excerpt.splitlines()) if line.strip()), ""), MAX_LINE_CHARS)
    return (Complaint(last, "", 1),) if last and last not in finding.summary else ()


def _make_complaint(group: FailureGroup) -> Complaint:
    example = group.example
    first = next((line for line in example.message.splitlines() if line.strip()), "")
    where = fold(example.test or format_location(example), MAX_LINE_CHARS)
    return Complaint(fold(first, MAX_LINE_CHARS), where, len(group.problems))


def _list_names(finding: Finding) -> tuple[str, ...]:
    """Return a name for each fingerprint. Equal errors share one, so names belong to them only if none do."""
    errors = [p for p in finding.problems if p.severity == "error"]
    if len(errors) != len(finding.fingerprints) or len(errors) > _MAX_NAMES:
        return ()
    return tuple((p.test or format_location(p) or p.message.strip())[:MAX_LINE_CHARS] for p in errors)
