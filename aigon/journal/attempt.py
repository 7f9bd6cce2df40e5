"""One attempt: facts about an iteration that aigon observed itself, kept small.

The agent's words are left out. `Attempt.detail`, which may quote its program, is for people only.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from sys import intern
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from aigon.journal.events import IterationFinished
from aigon.model.changes import FileChange
from aigon.model.checks import OWN_ROLES, CheckStatus, Finding, TestCounts
from aigon.model.criteria import Promise, Verdict, VerdictStatus
from aigon.model.failures import FailureGroup, format_location, group_problems, has_failed, select_errors
from aigon.model.turns import CostStatus, TurnEnd
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


class CheckResult(Protocol):
    """The result of a check."""

    @property
    def check(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def status(self) -> CheckStatus: ...


def count_passed_checks(results: Sequence[CheckResult]) -> tuple[int, int]:
    """Return how many of the project's own checks passed, and of how many.

    aigon's own checks run only at some assessments; counted, they would change the total from line to line.
    """
    project = [result.status for result in results if result.check not in OWN_ROLES]
    return project.count("pass"), len(project)


def describe_checks(results: Sequence[CheckResult]) -> str:
    """Count the project's own checks, and name those of aigon's that failed: `2 of 3 checks passed, Git red`."""
    green, total = count_passed_checks(results)
    skipped = sum(result.check not in OWN_ROLES and result.status == "skipped" for result in results)
    words = [f"{green} of {total} checks passed" if total else "no check ran"]
    words += [f"{skipped} skipped"] if skipped else []
    words += [f"{r.title} red" for r in results if r.check in OWN_ROLES and r.status in ("fail", "error")]
    return ", ".join(words)


class ReturnedFailures(Struct, frozen=True):
    """Failures of one check that had gone and came back: `number` of them, with the `names` that are known."""

    title: str
    number: int
    names: tuple[str, ...] = ()


class Attempt(Struct, frozen=True):
    """One iteration: the turn and the assessment after it. Number 0 is the baseline and has no turn.

    The turn: it began at `at` and took `tries`, since one that was rate-limited or broken off is repeated. `end`
    is how the last try ended, if known. `duration` and `cost` (US dollars) are of all tries, of which `unpriced` did
    not report their cost; `waited` is seconds between them.

    The assessment: `looked_at` is empty without one. `best` is the best score before; `again` and `same_tree` are the
    latest earlier iterations with the same fingerprint or tree. `changes` are the first of `changed` files. `notes`
    say what aigon undid.
    """

    number: int
    agent: str = ""
    model: str = ""
    effort: str = ""
    rung: int = 0
    rungs: int = 1
    at: str = ""
    tries: int = 0
    end: TurnEnd | None = None
    exit_code: int | None = None
    detail: str = ""
    duration: float = 0.0
    waited: float = 0.0
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    unpriced: int = 0
    looked_at: str = ""
    fingerprint: str = ""
    tree: str = ""
    score: tuple[int, ...] = ()
    best: tuple[int, ...] = ()
    checks: tuple[CheckSummary, ...] = ()
    criteria: int = 0
    open: tuple[RemainingCriterion, ...] = ()
    changes: tuple[FileChange, ...] = ()
    changed: int = 0
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()
    again: int | None = None
    same_tree: int | None = None
    returned: tuple[ReturnedFailures, ...] = ()

    @property
    def judged(self) -> bool:
        return bool(self.looked_at)

    @property
    def failing(self) -> tuple[CheckSummary, ...]:
        return tuple(check for check in self.checks if check.red)

    @property
    def proven(self) -> int:
        """The number of criteria that passed."""
        return self.criteria - len(self.open)

    @property
    def better(self) -> bool:
        """True if the score is higher than ever before."""
        return self.judged and self.score > self.best


MAX_FILES = 20
"""Changed files of an attempt that are kept by name."""
MAX_NAMES = 5
"""Failures of one check that came back and are kept by name."""


def add_assessment(attempt: Attempt, event: IterationFinished, earlier: Sequence[Attempt]) -> Attempt:
    """Return the attempt with its assessment. `earlier` attempts include the baseline and are oldest first."""
    checks = tuple(summarise_check(finding) for finding in event.findings)
    assessed = replace(
        attempt,
        at=attempt.at or event.started_at,
        looked_at=event.at or "unknown",
        fingerprint=event.fingerprint,
        tree=event.tree,
        score=event.score,
        best=max([each.score for each in earlier], default=()),
        checks=checks,
        criteria=len(event.verdicts),
        open=list_remaining_criteria(event.verdicts),
        promises=event.promises,
        again=_find_latest(earlier, "fingerprint", event.fingerprint),
        same_tree=_find_latest(earlier, "tree", event.tree),
        returned=_find_returned(checks, earlier),
    )
    if not (changes := event.changes):  # a second assessment of an iteration keeps the changes of the first
        return assessed
    return replace(
        assessed,
        changes=tuple(replace(change, path=fold(change.path, MAX_LINE_CHARS)) for change in changes[:MAX_FILES]),
        changed=len(changes),
        added=sum(max(change.added, 0) for change in changes),
        removed=sum(max(change.removed, 0) for change in changes),
    )


def _find_latest(attempts: Sequence[Attempt], field: str, wanted: str) -> int | None:
    """Return the number of the last attempt with that value in `field`."""
    return (
        next((each.number for each in reversed(attempts) if getattr(each, field) == wanted), None) if wanted else None
    )


def _find_returned(checks: Sequence[CheckSummary], attempts: Sequence[Attempt]) -> tuple[ReturnedFailures, ...]:
    """Find failures of now that the last assessment did not have and one before that had."""
    wanted = {name for check in checks if check.red for name in check.fingerprints}
    earlier = (attempt for attempt in reversed(attempts) if attempt.judged)
    wanted -= _collect_failures(islice(earlier, 1))
    known = wanted & _collect_failures(earlier) if wanted else set[str]()
    returned = []
    for check in checks:
        back = [index for index, name in enumerate(check.fingerprints) if check.red and name in known]
        if back:
            names = tuple(check.names[index] for index in back[:MAX_NAMES] if check.names)
            returned.append(ReturnedFailures(check.title, len(back), names))
    return tuple(returned)


def _collect_failures(attempts: Iterable[Attempt]) -> set[str]:
    return {name for attempt in attempts for check in attempt.checks for name in check.fingerprints}
