"""The checkout that a branch stands in, and bringing HEAD back to where it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.git.person import NO_HOOKS, Checkout
from aigon.text.quoting import fold

MARK = "without-branch"
"""In the git directory of a checkout: `feature-done` took the branch away for a moment, and HEAD is its own."""


@contextmanager
def standing_on(main: Checkout, branch: str) -> Iterator[Checkout]:
    """The worktree that has `branch`; else the main checkout, switched to it and back where something goes wrong."""
    other = main.checked_out_elsewhere(branch)
    if other and Path(other).is_dir():
        with Checkout.open(Path(other)) as place:
            yield place
        return
    if main.branch != branch:  # a worktree that is gone still counts as having it
        main.git(*NO_HOOKS, "switch", "-q", "--ignore-other-worktrees", branch)
    yield main


@contextmanager
def detached(place: Checkout, branch: str, commit: str) -> Iterator[None]:
    """`place`, which has `branch`, with `commit` checked out: no branch moves before that is known to be good."""
    if changed := place.changed():
        where = f"{place.root}: {', '.join(fold(path) for path in changed[:5])}"
        raise environment("There are uncommitted changes", where=where, hint="Commit or stash them there")
    mark = place.git_dir / "aigon" / MARK
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    try:
        place.git(*NO_HOOKS, "switch", "-q", "--detach", commit)
        yield
    finally:
        back_on(place, branch)
        mark.unlink()


def back_on(place: Checkout, branch: str) -> None:
    """Check out `branch` again. What checks changed in files that git knows is parked first."""
    try:
        place.git(*NO_HOOKS, "switch", "-q", "--ignore-other-worktrees", branch)
    except AigonError:
        set_aside(place, branch)
        place.git(*NO_HOOKS, "switch", "-q", "--ignore-other-worktrees", branch)


def set_aside(place: Checkout, name: str) -> str:
    """Park what is not committed in files that git knows, and make them as HEAD has them; the ref, "" for nothing."""
    commit = place.git(*NO_HOOKS, "stash", "create", "left by feature-done")
    ref = park(place, name, commit) if commit else ""
    place.git(*NO_HOOKS, "reset", "-q", "--hard")
    return ref


def park(checkout: Checkout, name: str, commit: str) -> str:
    """Keep a commit under a ref of aigon's own; the ref."""
    ref = f"refs/aigon/parked/{name}/{commit[:12]}"
    checkout.git("update-ref", ref, commit)
    return ref


def move(main: Checkout, branch: str, commit: str, old: str) -> None:
    """Move a branch from `old` to `commit`, with the files of the worktree that has it."""
    other = main.checked_out_elsewhere(branch)
    if main.branch != branch and not (other and Path(other).is_dir()):
        main.git("update-ref", "-m", "aigon feature-done", f"refs/heads/{branch}", commit, old)
        return
    with standing_on(main, branch) as place:
        if place.head != old:
            raise environment(f"The branch {branch} moved meanwhile", where=str(place.root), hint="Run it again")
        place.git(*NO_HOOKS, "reset", "-q", "--keep", commit)
