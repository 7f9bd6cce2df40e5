"""Check out branches for a merge, and put everything back afterwards, even if the merge was killed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.errors import AigonError, environment
from aigon.files.atomic import write_atomic
from aigon.git.person import NO_HOOKS, Checkout
from aigon.git.worktrees import list_worktrees
from aigon.text.quoting import fold

MARK = "without-branch"
"""In the git directory of a checkout: `feature-done` took the branch away for a moment, and HEAD is its own."""


@contextmanager
def open_branch(main: Checkout, branch: str) -> Iterator[Checkout]:
    """Yield the worktree that has `branch`, or else the main checkout after switching to it."""
    other = main.checked_out_elsewhere(branch)
    if other and Path(other).is_dir():
        with Checkout.open(Path(other)) as place:
            yield place
        return
    if main.branch != branch:  # a worktree that is gone still counts as having it
        main.git(*NO_HOOKS, "switch", "-q", "--ignore-other-worktrees", branch)
    yield main


@contextmanager
def detach_head(main: Checkout, branch: str, commit: str) -> Iterator[Checkout]:
    """Yield the checkout that has `branch` at `commit`: no branch moves before the commit is known to be good."""
    with open_branch(main, branch) as place:
        if changed := place.list_changed():
            where = f"{place.root}: {', '.join(fold(path) for path in changed[:5])}"
            raise environment("There are uncommitted changes", where=where, hint="Commit or stash them there")
        mark = place.git_dir / "aigon" / MARK
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        try:
            place.git(*NO_HOOKS, "switch", "-q", "--detach", commit)
            yield place
        finally:
            switch_back(place, branch)
            mark.unlink()


def switch_back(place: Checkout, branch: str) -> None:
    """Check out `branch` again. What checks changed in tracked files is saved aside first."""
    try:
        place.git(*NO_HOOKS, "switch", "-q", "--ignore-other-worktrees", branch)
    except AigonError:
        save_changes_aside(place, branch)
        place.git(*NO_HOOKS, "switch", "-q", "--ignore-other-worktrees", branch)


def save_changes_aside(place: Checkout, name: str) -> None:
    """Save aside what is not committed in tracked files, and reset them to HEAD."""
    if commit := place.git(*NO_HOOKS, "stash", "create", "left by feature-done"):
        save_commit_aside(place, name, commit)
    place.git(*NO_HOOKS, "reset", "-q", "--hard")


@contextmanager
def save_work_of_people(place: Checkout, name: str) -> Iterator[None]:
    """Save aside what people commit or stage in here, before the checkout is put back. Raises AigonError (exit 7) then.

    A proof takes minutes, in a checkout that may be a person's.
    """
    before = place.head, place.ask("write-tree")
    try:
        yield
    finally:
        head, tree = place.head, place.ask("write-tree")
        if (head, tree) != before:
            message = "committed or staged during feature-done"
            commit = place.git("commit-tree", tree, "-p", "HEAD", "-m", message) if tree else str(head)
            ref = save_commit_aside(place, name, commit)
            raise environment(
                "Something was committed or staged here during the proof, so nothing was merged",
                where=str(place.root),
                hint=f"It is kept as {ref}: `git show {ref}`, then `git checkout {ref} -- PATH`. Then run it again",
            )


def save_commit_aside(checkout: Checkout, name: str, commit: str) -> str:
    """Keep a commit under a ref of aigon's own, and return the ref."""
    ref = f"refs/aigon/parked/{name}/{commit[:12]}"
    checkout.git("update-ref", ref, commit)
    return ref


def move_branch(main: Checkout, branch: str, commit: str, old: str) -> None:
    """Move a branch from `old` to `commit`, with the files of the worktree that has it."""
    other = main.checked_out_elsewhere(branch)
    if main.branch != branch and not (other and Path(other).is_dir()):
        main.git("update-ref", "-m", "aigon feature-done", f"refs/heads/{branch}", commit, old)
        return
    with open_branch(main, branch) as place:
        if place.head != old:
            raise environment(f"The branch {branch} has moved", where=str(place.root), hint="Run it again")
        place.git(*NO_HOOKS, "reset", "-q", "--keep", commit)


FILE = "merging.json"


class UnfinishedMerge(Struct, frozen=True):
    """A merge of `branch` into `target`, which stood at `onto`, while the main checkout stood on `before`.

    `label` is whose work it is; `tree` what git made of the merge, once it has.
    """

    name: str
    label: str
    branch: str
    target: str
    onto: str
    before: str
    tree: str = ""


def note_merge(home: Path, unfinished: UnfinishedMerge) -> None:
    write_atomic(home / FILE, json.dumps(to_builtins(unfinished)).encode() + b"\n")


def note_tree(home: Path, tree: str) -> None:
    """Add to the note the tree that the merge came to."""
    if found := read_note(home):
        note_merge(home, replace(found, tree=tree))


def read_note(home: Path) -> UnfinishedMerge | None:
    """Return the note; None if no merge broke off, or if the note is damaged."""
    try:
        return UnfinishedMerge(**json.loads((home / FILE).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def forget_merge(home: Path) -> None:
    (home / FILE).unlink(missing_ok=True)


def settle_merge(main: Checkout, home: Path) -> UnfinishedMerge | None:
    """Put back what a merge that broke off has left. If the target has it already, return the note instead.

    Raises AigonError (exit 7) if a person changed files since.
    """
    found = read_note(home)
    if found is None:
        return None
    with suppress(AigonError):  # its worktree may be gone by now
        _restore_worktrees(main, found)
    if main.commit_of(f"refs/heads/{found.target}") != found.onto:
        return found
    _restore_target(main, found)
    if main.branch != found.before and main.commit_of(f"refs/heads/{found.before}"):
        switch_back(main, found.before)
    forget_merge(home)
    return None


def _restore_target(main: Checkout, found: UnfinishedMerge) -> None:
    """Reset files and index to the target; what else the index holds is saved aside."""
    if main.branch != found.target or not (main.list_changed() or main.under_way() == "merge"):
        return
    tree = main.ask("write-tree")
    if tree and tree not in (found.tree, main.git("rev-parse", "HEAD^{tree}")):
        save_commit_aside(main, found.branch, main.git("commit-tree", tree, "-p", "HEAD", "-m", "half a merge"))
    if main.ask(*NO_HOOKS, "reset", "-q", "--merge") is None or main.list_changed():
        raise environment(
            f"A merge of {found.branch} into {found.target} was interrupted here, and files have changed since",
            where=", ".join(main.list_changed()[:5]),
            hint="Commit or stash your changes, then run it again",
        )


def _restore_worktrees(main: Checkout, found: UnfinishedMerge) -> None:
    """Check out the branch again wherever a rebase or a proof took it away."""
    for record in list_worktrees(main)[1:]:
        if not record.missing:
            with Checkout.open(record.path) as place:
                _restore_branch(main, place, found)
    _restore_branch(main, main, found)


def _restore_branch(main: Checkout, place: Checkout, found: UnfinishedMerge) -> None:
    mark = place.git_dir / "aigon" / MARK
    if not mark.exists():
        return
    if place.under_way() == "rebase":
        place.git(*NO_HOOKS, "rebase", "--abort")
    if place.branch is None:
        save_commit_aside(main, found.branch, str(place.head))
        switch_back(place, found.branch)
    mark.unlink()
