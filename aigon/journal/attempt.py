"""What one iteration tried and what came of it: facts that aigon saw itself, kept small.

What an agent said is not in here. `Attempt.detail`, which may quote its program, is for people and is given to no
agent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

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
    """What a check came to."""

    @property
    def check(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def status(self) -> CheckStatus: ...


def count_passed_checks(results: Sequence[CheckResult]) -> tuple[int, int]:
    """How many of the project's own checks passed, and of how many.

    aigon's own checks run only at some looks. Counted, they would make each line about another number of checks.
    """
    project = [result.status for result in results if result.check not in OWN_ROLES]
    return project.count("pass"), len(project)


def describe_checks(results: Sequence[CheckResult]) -> str:
    """Count the project's own checks, and name those of aigon's that are red: `2 of 3 checks green, Git red`."""
    green, total = count_passed_checks(results)
    skipped = sum(result.check not in OWN_ROLES and result.status == "skipped" for result in results)
    words = [f"{green} of {total} checks green" if total else "no check ran"]
    words += [f"{skipped} skipped"] if skipped else []
    words += [f"{r.title} red" for r in results if r.check in OWN_ROLES and r.status in ("fail", "error")]
    return ", ".join(words)


@dataclass(frozen=True, slots=True)
class ReturnedFailures:
    """Failures of one check that were gone at the look before and had been there at an earlier one.

    `names` are those that are known by name, of so many.
    """

    title: str
    number: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One iteration: the turn, and the look after it. Number 0 is the look at the base and has no turn.

    The turn: `at` is when its first try began, of `tries`: one that was held up (a usage limit) or broken off is
    repeated under its number. `end` is how the last try ended, None where that is not known. `duration` (seconds) and
    `cost` (US dollars, None where nothing is known) are of all tries, of which `unpriced` did not say what they cost;
    `waited` is seconds between them.

    The look: `looked_at` is empty where there was none. `fingerprint`, `tree` and `score` are those of
    `IterationFinished`, `best` is the best score before; `again` and `same_tree` are the latest iteration before with
    the same fingerprint or tree, None where there was none (0 is the base). Of `changed` files, with lines `added` and
    `removed`, `changes` are the first. `notes` say what aigon put back.
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
        """Whether there was a look after the turn."""
        return bool(self.looked_at)

    @property
    def failing(self) -> tuple[CheckSummary, ...]:
        """The checks that were red."""
        return tuple(check for check in self.checks if check.red)

    @property
    def proven(self) -> int:
        """How many criteria were."""
        return self.criteria - len(self.open)

    @property
    def better(self) -> bool:
        """Whether more was proven or green than ever before."""
        return self.judged and self.score > self.best


FILES = 20
"""Changed files of an attempt that are kept by name."""
NAMES = 5
"""Failures that came back, and are kept by name, of one check."""


def add_assessment(attempt: Attempt, event: IterationFinished, looks: Sequence[Attempt]) -> Attempt:
    """The attempt with the look at it. `looks` are those before, oldest first, that of the base too.

    One that was not judged may be among them: it has no score and no names.
    """
    checks = tuple(summarise_check(finding) for finding in event.findings)
    seen = replace(
        attempt,
        at=attempt.at or event.started_at,
        looked_at=event.at or "unknown",
        fingerprint=event.fingerprint,
        tree=event.tree,
        score=event.score,
        best=max([each.score for each in looks], default=()),
        checks=checks,
        criteria=len(event.verdicts),
        open=list_remaining_criteria(event.verdicts),
        promises=event.promises,
        again=_latest(looks, [each.fingerprint for each in looks], event.fingerprint),
        same_tree=_latest(looks, [each.tree for each in looks], event.tree),
        returned=_returned(checks, looks),
    )
    return _with_changes(seen, event.changes)


def _latest(looks: Sequence[Attempt], names: Sequence[str], wanted: str) -> int | None:
    """The number of the last look of that name; `names` are those of the looks."""
    if not wanted or wanted not in names:
        return None
    return looks[len(names) - 1 - names[::-1].index(wanted)].number


def _with_changes(attempt: Attempt, changes: Sequence[FileChange]) -> Attempt:
    """A second look at an iteration has no changes of its own: those of the first stay."""
    if not changes:
        return attempt
    first = tuple(replace(change, path=fold(change.path, MAX_LINE_CHARS)) for change in changes[:FILES])
    added, removed = sum(max(c.added, 0) for c in changes), sum(max(c.removed, 0) for c in changes)
    return replace(attempt, changes=first, changed=len(changes), added=added, removed=removed)


def _returned(checks: Sequence[CheckSummary], looks: Sequence[Attempt]) -> tuple[ReturnedFailures, ...]:
    """What is red now, was not at the look before, and had been at one before that."""
    if not any(check.red for check in checks):
        return ()
    looks = [look for look in looks if look.judged]
    if len(looks) < 2:
        return ()
    before = _failures(looks[-1:])
    known = _failures(looks[:-1]) - before
    return tuple(back for check in checks if check.red and (back := _back(check, known)).number)


def _failures(looks: Sequence[Attempt]) -> set[str]:
    return {name for look in looks for check in look.checks for name in check.fingerprints}


def _back(check: CheckSummary, known: set[str]) -> ReturnedFailures:
    there = [at for at, name in enumerate(check.fingerprints) if name in known]
    return ReturnedFailures(check.title, len(there), tuple(check.names[at] for at in there[:NAMES] if check.names))
