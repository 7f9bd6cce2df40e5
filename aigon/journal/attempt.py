"""One attempt: facts about an iteration that aigon observed itself, kept small.

The agent's words are left out. `Attempt.detail`, which may quote its program, is for people only.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from aigon.journal.events import IterationFinished
from aigon.model.assessments import (
    MAX_LINE_CHARS,
    CheckSummary,
    RemainingCriterion,
    list_remaining_criteria,
    summarise_check,
)
from aigon.model.changes import FileChange
from aigon.model.checks import OWN_ROLES, CheckStatus
from aigon.model.criteria import Promise
from aigon.model.turns import CostStatus, TurnEnd
from aigon.text.quoting import fold


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


_get_score, _get_fingerprint, _get_tree = map(attrgetter, ("score", "fingerprint", "tree"))
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
        best=max(map(_get_score, earlier), default=()),
        checks=checks,
        criteria=len(event.verdicts),
        open=list_remaining_criteria(event.verdicts),
        promises=event.promises,
        again=_find_latest(earlier, _get_fingerprint, event.fingerprint),
        same_tree=_find_latest(earlier, _get_tree, event.tree),
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


def _find_latest(attempts: Sequence[Attempt], get_name: Callable[[Attempt], str], wanted: str) -> int | None:
    """Return the number of the last attempt with that name."""
    return next((each.number for each in reversed(attempts) if get_name(each) == wanted), None) if wanted else None


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
