"""Remove worktrees where nothing is lost by it: their branches and aigon's record stay, and they can be made again."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aigon.config.loading import configuration, work_tree
from aigon.errors import AigonError
from aigon.files.home import repository_home
from aigon.files.store import lock
from aigon.git import worktrees
from aigon.git.hidden import refuse_hidden_changes
from aigon.git.person import Checkout
from aigon.job.locks import checkout_lock
from aigon.model.candidates import Candidate
from aigon.text.quoting import folded
from aigon.worktrees.cleanup_ignored import sorted_out
from aigon.worktrees.cleanup_parking import Leaving, park_ignored, park_uncommitted
from aigon.worktrees.lock import feature_lock
from aigon.worktrees.lookup import found
from aigon.worktrees.place import MARKER


def remove_safely(main: Checkout, candidate: Candidate, *, park: bool) -> str:
    """Remove a candidate's worktree; "" where it is gone, else why it stays, as half a sentence.

    It stays while a loop runs there, and while it holds what is in no commit: with `park` that is parked first. The
    branch and the record are not touched. A lock on it that this process holds is no hindrance.
    """
    home = repository_home(main.common_dir)
    try:
        path = found(main, candidate, configuration(work_tree(main.root)).worktree)
        if path is None:
            return _gone(main, candidate)
        if str(path) != candidate.path and not (path.parent / MARKER).exists():
            return f"its branch is checked out in {path}, which aigon did not make: git worktree remove {path}"
        with _to_ourselves(home, candidate, path), Checkout.open(path) as here:
            if here.root != path.resolve():
                return f"git takes {path} for a part of {here.root}"
            return _removed(Leaving(main, here, candidate, home, park))
    except AigonError as error:
        return f"{error}: {error.hint}" if error.hint else str(error)


def _gone(main: Checkout, candidate: Candidate) -> str:
    """Let git forget a worktree whose folder is gone."""
    path = Path(candidate.path)
    if candidate.path and os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        return f"{path} is there, but no worktree of this repository any more: look at it, and remove it yourself"
    record = worktrees.on_branch(main, candidate.branch)
    if record and record.missing and record.locked:
        return f"its folder is gone, and somebody locked it: {folded(record.locked)}"
    if record and record.missing:
        worktrees.remove(main, record.path)
    return ""


@contextmanager
def _to_ourselves(home: Path, candidate: Candidate, path: Path) -> Iterator[None]:
    """Hold the locks that a loop there would hold. Raises AigonError (exit 7) where one does."""
    what = f"The worktree of feature {candidate.feature}-{candidate.label}"
    with ExitStack() as held:
        for each in (lock(feature_lock(home, candidate), what), checkout_lock(home, path)):
            try:
                held.enter_context(each)
            except AigonError as error:
                if not error.where.startswith(f"pid {os.getpid()} on "):  # whoever asks may hold it already
                    raise
        yield


def _removed(it: Leaving) -> str:
    ignored = sorted_out(it.main, it.here)
    if why := _standing(it.here) or ignored.reason or park_uncommitted(it):
        return why
    if ignored.parked:
        park_ignored(it, ignored.parked)
    worktrees.remove(it.main, it.here.root)
    return ""


def _standing(here: Checkout) -> str:
    """What no parking helps with."""
    if Path.cwd().is_relative_to(here.root):
        return f"you stand in it ({here.root}): go to the main checkout first"
    if doing := here.under_way():
        return f"a {doing} is under way in {here.root}"
    if any(each.path == here.root and each.locked for each in worktrees.listed(here)):
        return f"somebody locked it: git worktree unlock {here.root}"
    if (here.git_dir / "modules").exists():
        return (
            f"it has submodules checked out, which may hold commits that nothing else has: "
            f"look at them, then git worktree remove --force {here.root}"
        )
    refuse_hidden_changes(here)
    return ""
