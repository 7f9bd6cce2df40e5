"""An attempt with the look after it, beside the looks before: what got better, what is the same, what came back."""

from collections.abc import Sequence
from dataclasses import replace

from aigon.journal.attempt import Attempt, Returned
from aigon.journal.events import IterationFinished
from aigon.model.assessments import MAX_LINE_CHARS, CheckSummary, list_remaining_criteria, summarise_check
from aigon.model.changes import FileChange
from aigon.text.quoting import folded

FILES = 20
"""Changed files of an attempt that are kept by name."""
NAMES = 5
"""Failures that came back, and are kept by name, of one check."""


def looked(attempt: Attempt, event: IterationFinished, looks: Sequence[Attempt]) -> Attempt:
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
    first = tuple(replace(change, path=folded(change.path, MAX_LINE_CHARS)) for change in changes[:FILES])
    added, removed = sum(max(c.added, 0) for c in changes), sum(max(c.removed, 0) for c in changes)
    return replace(attempt, changes=first, changed=len(changes), added=added, removed=removed)


def _returned(checks: Sequence[CheckSummary], looks: Sequence[Attempt]) -> tuple[Returned, ...]:
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


def _back(check: CheckSummary, known: set[str]) -> Returned:
    there = [at for at, name in enumerate(check.fingerprints) if name in known]
    return Returned(check.title, len(there), tuple(check.names[at] for at in there[:NAMES] if check.names))
