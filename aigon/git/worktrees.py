"""Linked worktrees of the person's repository, with their own git: listed, added, mended, removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from aigon.errors import environment
from aigon.git.person import NO_HOOKS, Checkout

UNFINISHED = "initializing"
"""The reason of the lock that git holds on a worktree while it makes it; a git that was killed leaves it."""


@dataclass(frozen=True, slots=True)
class WorktreeRecord:
    """A worktree as git has it in its list, the main checkout among them.

    `branch` is None where HEAD is detached, `locked` the reason of a lock ("" without one), `missing` says that the
    folder is gone; one that is there without its `.git` file is not missing: it may hold work.
    """

    path: Path
    branch: str | None
    head: str
    locked: str
    missing: bool


def list_worktrees(checkout: Checkout) -> tuple[WorktreeRecord, ...]:
    """All worktrees of the repository, the main checkout first."""
    out = checkout.git("worktree", "list", "--porcelain", "-z")
    return tuple(_parse_record(entry.split("\0")) for entry in out.strip("\0").split("\0\0") if entry)


def _parse_record(lines: Sequence[str]) -> WorktreeRecord:
    said = dict(line.partition(" ")[::2] for line in lines)
    path = Path(said["worktree"])
    branch = said["branch"].removeprefix("refs/heads/") if "branch" in said else None
    locked = (said["locked"] or "no reason given") if "locked" in said else ""
    return WorktreeRecord(path, branch, said.get("HEAD", ""), locked, not path.is_dir())


def find_worktree_of(checkout: Checkout, branch: str) -> WorktreeRecord | None:
    """The worktree that has `branch` checked out, whether it is there or missing."""
    return next((each for each in list_worktrees(checkout) if each.branch == branch), None)


def find_owner(folder: Path) -> Path | None:
    """The git directory of the repository that the linked worktree at `folder` names as its own, there or not.

    None where `folder` is no linked worktree.
    """
    record = find_record(folder)
    return record.parent.parent if record else None


def find_record(folder: Path) -> Path | None:
    """The folder that a linked worktree names as git's record of it, `<git directory>/worktrees/<name>`."""
    try:
        text = (folder / ".git").read_text(errors="surrogateescape")
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    record = (folder / text.removeprefix("gitdir:").strip()).resolve()
    return record if record.parent.name == "worktrees" else None


def add_worktree(checkout: Checkout, path: Path, branch: str, base: str, sparse: Sequence[str] = ()) -> None:
    """Check out `branch`, made at `base` where it does not exist, in a new worktree at `path`; hooks do not run.

    With `sparse` only these folders are checked out, and the files at the root. A record of the same branch or path
    whose folder is gone gives way. Raises AigonError (exit 7) for a branch that is checked out elsewhere, a folder
    that holds something, and whatever git refuses.
    """
    for record in list_worktrees(checkout):
        if record.branch == branch and not record.missing:
            raise _make_elsewhere_error(checkout, branch, record.path)
        if record.missing and (record.branch == branch or record.path == path):
            _forget_record(checkout, record)
    _require_empty(path)
    exists = checkout.commit_of(f"refs/heads/{branch}") is not None
    what = (str(path), branch) if exists else ("-b", branch, str(path), base)
    checkout.git(*NO_HOOKS, "worktree", "add", "-q", *(["--no-checkout"] if sparse else []), *what)
    if sparse:
        fill_worktree(checkout, path, sparse)


def fill_worktree(checkout: Checkout, path: Path, sparse: Sequence[str] = ()) -> None:
    """Fill a worktree that git has begun and nobody has worked in: one that has no index yet."""
    if any(each.path == path and each.locked == UNFINISHED for each in list_worktrees(checkout)):
        checkout.git("worktree", "unlock", str(path))
    if sparse:
        checkout.git(*NO_HOOKS, "-C", str(path), "sparse-checkout", "set", "--cone", *sparse)
    checkout.git(*NO_HOOKS, "-C", str(path), "reset", "-q", "--hard")


def _make_elsewhere_error(checkout: Checkout, branch: str, path: Path) -> Exception:
    main = path == checkout.root
    hint = (
        "Switch to another branch there: git switch NAME"
        if main
        else f"Remove that worktree: git worktree remove {path}"
    )
    return environment(f"The branch {branch} is checked out elsewhere", where=str(path), hint=hint)


def _require_empty(path: Path) -> None:
    if path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise environment(
            "Something stands where a worktree belongs, and aigon did not put it there",
            where=str(path),
            hint=f"Look at it, then move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )


def _forget_record(checkout: Checkout, record: WorktreeRecord) -> None:
    """Remove git's record of a worktree whose folder is gone; its branch stays."""
    if record.locked:
        raise environment(
            f"The worktree {record.path} is locked and its folder is not there: {record.locked}",
            where=str(record.path),
            hint=f"Bring it back, or give it up: git worktree unlock {record.path}",
        )
    checkout.git("worktree", "remove", str(record.path))


def repair_worktrees(checkout: Checkout, paths: Sequence[Path] = ()) -> None:
    """Let repository and worktrees find each other again after a move; `paths` are where moved worktrees are now.

    Raises AigonError (exit 7) where a worktree in the list is another repository's: this one is a copy of that.
    """
    if foreign := next(_list_foreign(checkout, paths), None):
        raise environment(
            f"This repository's record of the worktree {foreign} is a copy: it belongs to another repository",
            where=str(find_owner(foreign)),
            hint="Remove the record here, not the worktree: the folder of that name in .git/worktrees",
        )
    checkout.ask("worktree", "repair", *map(str, paths))


def _list_foreign(checkout: Checkout, paths: Sequence[Path]) -> Iterator[Path]:
    for path in (*(each.path for each in list_worktrees(checkout)), *paths):
        whose = find_owner(path)
        if whose and whose != checkout.common_dir and whose.exists():
            yield path


def remove_worktree(checkout: Checkout, path: Path) -> None:
    """Remove a worktree and git's record of it; its branch stays. Raises AigonError (exit 7).

    git itself refuses one that holds changes or untracked files; what it ignores there is removed. A submodule that
    was never checked out is no reason for it to stay.
    """
    forced = ["--force"] if _has_unused_submodules(checkout, path) and _is_clean(checkout, path) else []
    checkout.git(*NO_HOOKS, "worktree", "remove", *forced, str(path))


def _has_unused_submodules(checkout: Checkout, path: Path) -> bool:
    """Whether the branch names submodules and none of them was checked out there."""
    record = find_record(path)
    if record is None or (record / "modules").exists():
        return False
    return "160000 " in (checkout.ask("-C", str(path), "ls-files", "--stage") or "")


def _is_clean(checkout: Checkout, path: Path) -> bool:
    said = checkout.ask(*NO_HOOKS, "-C", str(path), "status", "--porcelain", "--untracked-files=all")
    return said == ""
