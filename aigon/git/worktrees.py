"""Linked worktrees of the person's repository, with their own git: list, add, repair and remove them."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from msgspec import Struct

from aigon.errors import environment
from aigon.git.person import NO_HOOKS, Checkout
from aigon.git.repository import read_git_link

UNFINISHED = "initializing"
"""The reason of git's lock on a worktree that it is making; a killed git leaves it."""


class WorktreeRecord(Struct, frozen=True):
    """A worktree in git's list, which includes the main checkout.

    `branch` is None if HEAD is detached, `locked` the reason of a lock. `missing` says that the folder is gone; one
    without its `.git` file is not missing, as it may hold work.
    """

    path: Path
    branch: str | None
    locked: str
    missing: bool


def list_worktrees(checkout: Checkout) -> tuple[WorktreeRecord, ...]:
    """Return all worktrees of the repository, the main checkout first."""
    out = checkout.git("worktree", "list", "--porcelain", "-z")
    return tuple(_parse_record(entry.split("\0")) for entry in out.strip("\0").split("\0\0") if entry)


def _parse_record(lines: Sequence[str]) -> WorktreeRecord:
    said = dict(line.partition(" ")[::2] for line in lines)
    path = Path(said["worktree"])
    branch = said["branch"].removeprefix("refs/heads/") if "branch" in said else None
    locked = (said["locked"] or "no reason given") if "locked" in said else ""
    return WorktreeRecord(path, branch, locked, not path.is_dir())


def find_worktree_of(checkout: Checkout, branch: str) -> WorktreeRecord | None:
    return next((record for record in list_worktrees(checkout) if record.branch == branch), None)


def find_owner(folder: Path) -> Path | None:
    """Return the git directory that the linked worktree at `folder` names, whether it exists or not."""
    record = find_record(folder)
    return record.parent.parent if record else None


def find_record(folder: Path) -> Path | None:
    """Return git's record of the linked worktree at `folder`: `<git directory>/worktrees/<name>`."""
    record = read_git_link(folder)
    return record if record and record.parent.name == "worktrees" else None


def add_worktree(checkout: Checkout, path: Path, branch: str, base: str, sparse: Sequence[str] = ()) -> None:
    """Check out `branch`, created at `base` if it is new, in a new worktree at `path`, without hooks.

    With `sparse` only these folders and the files at the root are checked out. A record of the same branch or path
    whose folder is gone is removed. Raises AigonError (exit 7) if the branch is checked out elsewhere, the folder is
    not empty, or git refuses.
    """
    for record in list_worktrees(checkout):
        if record.branch == branch and not record.missing:
            hint = f"Remove that worktree: git worktree remove {record.path}"
            if record.path == checkout.root:
                hint = "Switch to another branch there: git switch NAME"
            raise environment(f"The branch {branch} is checked out elsewhere", where=str(record.path), hint=hint)
        if record.missing and (record.branch == branch or record.path == path):
            _forget_record(checkout, record)
    if path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise environment(
            "There is something else in the place of a worktree",
            where=str(path),
            hint=f"Look at it, then move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )
    exists = checkout.commit_of(f"refs/heads/{branch}") is not None
    what = (str(path), branch) if exists else ("-b", branch, str(path), base)
    checkout.git(*NO_HOOKS, "worktree", "add", "-q", *(["--no-checkout"] if sparse else []), *what)
    if sparse:
        fill_worktree(checkout, path, sparse)


def fill_worktree(checkout: Checkout, path: Path, sparse: Sequence[str] = ()) -> None:
    """Fill a worktree that git has begun: one without an index, in which no work was done."""
    if any(record.path == path and record.locked == UNFINISHED for record in list_worktrees(checkout)):
        checkout.git("worktree", "unlock", str(path))
    if sparse:
        checkout.git(*NO_HOOKS, "-C", str(path), "sparse-checkout", "set", "--cone", *sparse)
    checkout.git(*NO_HOOKS, "-C", str(path), "reset", "-q", "--hard")


def _forget_record(checkout: Checkout, record: WorktreeRecord) -> None:
    if record.locked:
        raise environment(
            f"The worktree {record.path} is locked and its folder is missing: {record.locked}",
            where=str(record.path),
            hint=f"Bring it back, or give it up: git worktree unlock {record.path}",
        )
    checkout.git("worktree", "remove", str(record.path))


def repair_worktrees(checkout: Checkout, paths: Sequence[Path] = ()) -> None:
    """Let repository and worktrees find each other again after a move; `paths` are the new places of worktrees.

    Raises AigonError (exit 7) if a listed worktree belongs to another repository, of which this one is a copy.
    """
    for path in (*(record.path for record in list_worktrees(checkout)), *paths):
        owner = find_owner(path)
        if owner and owner != checkout.common_dir and owner.exists():
            raise environment(
                f"This repository's record of the worktree {path} is a copy: it belongs to another repository",
                where=str(owner),
                hint="Remove the record here, not the worktree: the folder of that name in .git/worktrees",
            )
    checkout.ask("worktree", "repair", *map(str, paths))


def remove_worktree(checkout: Checkout, path: Path) -> None:
    """Remove a worktree and git's record of it, but not its branch. Raises AigonError (exit 7).

    git refuses one that holds changes or untracked files; ignored files are removed. Submodules that were never checked
    out do not keep it.
    """
    forced = ["--force"] if _has_unused_submodules(checkout, path) else []
    if forced and checkout.ask(*NO_HOOKS, "-C", str(path), "status", "--porcelain", "--untracked-files=all") != "":
        forced = []
    checkout.git(*NO_HOOKS, "worktree", "remove", *forced, str(path))


def _has_unused_submodules(checkout: Checkout, path: Path) -> bool:
    record = find_record(path)
    if record is None or (record / "modules").exists():
        return False
    return "160000 " in (checkout.ask("-C", str(path), "ls-files", "--stage") or "")
