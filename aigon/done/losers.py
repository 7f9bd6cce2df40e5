"""The candidates after one of them is merged: their work is kept under refs, their worktrees go where that is safe."""

import os
from pathlib import Path

from aigon.done.request import Left
from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.model.candidates import Candidate
from aigon.process.running import loop_lock

ARENA = "refs/aigon/arena/"
"""Below it, by feature and label, the last commits of candidates that were not merged."""


def retired(main: Checkout, home: Path, candidate: Candidate, *, keep: bool) -> Left:
    """What becomes of one that was not merged: ref first, then worktree, then branch. Its loop is never disturbed."""
    tip = main.commit_of(f"refs/heads/{candidate.branch}")
    if running(home, candidate):
        return Left(candidate.label, candidate.branch, worktree=candidate.path, why="its loop still runs")
    ref = kept(main, candidate, tip)
    gone, why = _removed(main, candidate, keep)
    if why:
        return Left(candidate.label, candidate.branch, ref, candidate.path, why=why)
    if tip and main.ask("update-ref", "-d", f"refs/heads/{candidate.branch}", tip) is not None:
        gone = (*gone, "branch")
    elif tip:
        why = "its branch moved meanwhile"
    return Left(candidate.label, candidate.branch, ref, candidate.path, removed=True, why=why, gone=gone)


def winner(main: Checkout, candidate: Candidate, *, keep: bool) -> Left:
    """What becomes of the one that was merged: its branch stays, as in solo mode."""
    gone, why = _removed(main, candidate, keep)
    return Left(candidate.label, candidate.branch, worktree=candidate.path, removed=not why, why=why, gone=gone)


def running(home: Path, candidate: Candidate) -> bool:
    """Whether somebody holds the lock on a candidate's loop."""
    return bool(is_locked(loop_lock(home, candidate.feature, candidate.label)))


def kept(main: Checkout, candidate: Candidate, tip: str | None) -> str:
    """The ref that keeps a commit of a candidate, numbered where another one has its name.

    Without a commit (its branch is gone) the one that was made before; "" where none was.
    """
    name, number = f"{ARENA}{candidate.feature}/{candidate.label}", 1
    ref = name
    if tip is None:
        return ref if main.commit_of(ref) else ""
    while (there := main.commit_of(ref)) not in (None, tip):
        number += 1
        ref = f"{name}-{number}"
    if there is None:
        main.git("update-ref", ref, tip, "")
    return ref


def _removed(main: Checkout, candidate: Candidate, keep: bool) -> tuple[tuple[str, ...], str]:
    """Remove its worktree. Return what was removed, and why it stays; "" once it is gone."""
    if keep:
        return (), "--keep-worktrees"
    if Path.cwd().is_relative_to(candidate.path):
        return (), "you are in it"
    from aigon.worktrees.cleanup import remove_safely

    was_there = os.path.lexists(candidate.path)
    why = remove_safely(main, candidate, park=False)
    return ("worktree",) if was_there and not why else (), why
