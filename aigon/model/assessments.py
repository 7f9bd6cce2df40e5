"""What is remembered of a look: every check with the first lines of what it complained about, and what is open."""

from collections.abc import Sequence
from dataclasses import dataclass
from sys import intern

from aigon.model.checks import CheckStatus, Finding, Problem, TestCounts
from aigon.model.criteria import Verdict, VerdictStatus
from aigon.model.failures import FailureGroup, format_location, group_problems, has_failed, select_errors
from aigon.text.quoting import fold

MAX_LINE_CHARS = 200
"""Characters that are kept of one line of others."""
MAX_COMPLAINTS = 3
"""Kinds of complaints that are kept of a check."""
_MAX_GROUPED_PROBLEMS = 20
"""Problems that are put together: each costs a hash, and a few lines are all that is kept."""
_MAX_NAMES = 50
"""Failures that are kept by name."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One kind of failure: the first line of its example, where that was (a test, a place), how many were like it."""

    text: str
    where: str
    times: int


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """What one check came to. `complaints` are of a red one, the weightiest first; `duration` is in seconds.

    `fingerprints` name its failures; `names` are the same for people, in the same order, empty where that is not known.
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
        """Failed, or gave no result."""
        return self.status in ("fail", "error")


@dataclass(frozen=True, slots=True)
class RemainingCriterion:
    """A criterion that is not proven, and why."""

    criterion: int
    status: VerdictStatus
    reason: str


def summarise_check(finding: Finding) -> CheckSummary:
    """What is remembered of a finding. Words that come again with every iteration are in memory once."""
    red = has_failed(finding)
    return CheckSummary(
        intern(finding.check),
        intern(fold(finding.title, 80)),
        finding.status,
        intern(fold(finding.summary, MAX_LINE_CHARS)),
        finding.counts,
        finding.duration,
        finding.cached,
        _complaints(finding) if red else (),
        finding.fingerprints if red else (),
        _names(finding) if red else (),
    )


def list_remaining_criteria(verdicts: Sequence[Verdict]) -> tuple[RemainingCriterion, ...]:
    """The criteria that are not proven."""
    return tuple(
        RemainingCriterion(v.criterion, v.status, fold(v.reason or v.evidence, MAX_LINE_CHARS))
        for v in verdicts
        if v.status != "met"
    )


def _complaints(finding: Finding) -> tuple[Complaint, ...]:
    found = group_problems(select_errors(finding)[:_MAX_GROUPED_PROBLEMS])
    if found:
        return tuple(_complaint(group) for group in found[:MAX_COMPLAINTS])
    last = next((line for line in reversed(finding.excerpt.splitlines()) if line.strip()), "")
    return (
        (Complaint(fold(last, MAX_LINE_CHARS), "", 1),)
        if last and fold(last, MAX_LINE_CHARS) not in finding.summary
        else ()
    )


def _complaint(group: FailureGroup) -> Complaint:
    example = group.example
    return Complaint(
        _first_line(example), fold(example.test or format_location(example), MAX_LINE_CHARS), len(group.problems)
    )


def _first_line(problem: Problem) -> str:
    return fold(next((line for line in problem.message.splitlines() if line.strip()), ""), MAX_LINE_CHARS)


def _names(finding: Finding) -> tuple[str, ...]:
    """A fingerprint is made of each error, and each stands once: only where both are as many, they belong together."""
    errors = [p for p in finding.problems if p.severity == "error"]
    if len(errors) != len(finding.fingerprints) or len(errors) > _MAX_NAMES:
        return ()
    return tuple(
        (p.test or format_location(p) or p.message.strip())[:MAX_LINE_CHARS] for p in errors
    )  # few of them are ever shown
