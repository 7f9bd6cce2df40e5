"""Requests to `feature-done`, their results, and the retirement of candidates."""

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock
from aigon.spec.features import Feature

MergeMethod = Literal["merge", "squash", "rebase"]


class DoneRequest(Struct, frozen=True):
    """`wanted` and `agent` are as typed, `adopt` holds `AGENT:PATH`. `into` is the branch to merge into, "" for where
    the feature began. Without `verify` the person's hooks that may refuse are skipped.
    """

    wanted: str
    agent: str = ""
    into: str = ""
    how: MergeMethod = "merge"
    adopt: tuple[str, ...] = ()
    pr: bool = False
    keep_worktrees: bool = False
    force: bool = False
    verify: bool = True


class Retirement(Struct, frozen=True):
    """The fate of a candidate's worktree and branch. `ref` keeps its last commit; `why` says why something stays.

    `removed` is also true if they had been removed before; `gone` names what this merge removed.
    """

    label: str
    branch: str
    ref: str = ""
    worktree: str = ""
    removed: bool = False
    why: str = ""
    gone: tuple[str, ...] = ()


class DoneResult(Struct, frozen=True):
    """A feature that is merged, or waits for it on the forge (`url`).

    `proof` says what the merge rests on; `adopted` holds `LABEL:PATH`.
    """

    feature: Feature
    target: str
    commit: str
    branch: str
    label: str = ""
    how: MergeMethod = "merge"
    proof: str = ""
    adopted: tuple[str, ...] = ()
    winner: Retirement | None = None
    losers: tuple[Retirement, ...] = ()
    url: str = ""


ARENA = "refs/aigon/arena/"
"""Below it, by feature and label, the last commits of candidates that were not merged."""


def retire_candidate(main: Checkout, home: Path, candidate: Candidate, *, keep: bool) -> Retirement:
    """Put away one that was not merged: ref first, then worktree, then branch. A running loop is never disturbed."""
    tip = main.commit_of(f"refs/heads/{candidate.branch}")
    if is_locked(loop_lock(home, candidate.feature, candidate.label)):
        return Retirement(candidate.label, candidate.branch, worktree=candidate.path, why="its loop still runs")
    ref = _keep_commit(main, candidate, tip)
    gone, why = _remove_worktree(main, candidate, keep)
    if why:
        return Retirement(candidate.label, candidate.branch, ref, candidate.path, why=why)
    if tip and main.ask("update-ref", "-d", f"refs/heads/{candidate.branch}", tip) is not None:
        gone = (*gone, "branch")
    elif tip:
        why = "its branch has moved"
    return Retirement(candidate.label, candidate.branch, ref, candidate.path, removed=True, why=why, gone=gone)


def retire_winner(main: Checkout, candidate: Candidate, *, keep: bool) -> Retirement:
    """Put away the worktree of the one that was merged: its branch stays, as in solo mode."""
    gone, why = _remove_worktree(main, candidate, keep)
    return Retirement(candidate.label, candidate.branch, worktree=candidate.path, removed=not why, why=why, gone=gone)


def _keep_commit(main: Checkout, candidate: Candidate, tip: str | None) -> str:
    """Keep a commit of a candidate under a ref, numbered if another commit has the name, and return the ref.

    If the branch is gone, return the ref of an earlier call, or "".
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


def _remove_worktree(main: Checkout, candidate: Candidate, keep: bool) -> tuple[tuple[str, ...], str]:
    """Remove its worktree. Return what was removed, and why it stays; "" once it is gone."""
    if keep:
        return (), "--keep-worktrees"
    if Path.cwd().is_relative_to(candidate.path):
        return (), "you are in it"
    from aigon.worktrees.cleanup import remove_safely

    was_there = os.path.lexists(candidate.path)
    why = remove_safely(main, candidate, park=False)
    return ("worktree",) if was_there and not why else (), why
