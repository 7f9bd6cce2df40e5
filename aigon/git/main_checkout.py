"""Where a repository's main checkout is, and its linked worktrees: read from files, so that a look costs no git."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aigon.errors import environment

_BARE = re.compile(r"^\s*bare\s*=\s*true\s*$", re.M | re.I)
_LARGEST = 64 * 1024
"""Bytes that are read of one of git's own small files."""


@dataclass(frozen=True, slots=True)
class Repository:
    """`root` is the main checkout, or the worktree that was asked from where the repository is bare.

    `common_dir` is the git directory that all worktrees share, `worktrees` the roots of the others.
    """

    root: Path
    common_dir: Path
    worktrees: tuple[Path, ...]


def around(start: Path) -> Repository:
    """The repository around `start`. Raises AigonError (exit 7) outside of one."""
    for folder in (start, *start.parents):
        if (git_dir := _git_dir(folder)) is not None:
            common = _shared(git_dir)
            root = _main(common, folder, git_dir).resolve()
            return Repository(root, common, tuple(_others(common, root)))
    raise environment(
        "This is not a git repository", where=str(start), hint="Run `git init` here, or go to your repository"
    )


def branch_at(root: Path) -> str:
    """Return the branch that is checked out at `root`; "" if HEAD is detached."""
    git_dir = _git_dir(root)
    head = _read(git_dir / "HEAD").strip() if git_dir else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def _git_dir(folder: Path) -> Path | None:
    """The git directory of the checkout at `folder`: a folder, or the one that a file `.git` names."""
    found = folder / ".git"
    if found.is_file():
        named = _read(found)
        found = folder / named.removeprefix("gitdir:").strip() if named.startswith("gitdir:") else found
    return found.resolve() if (found / "HEAD").is_file() else None


def _shared(git_dir: Path) -> Path:
    """A linked worktree's git directory says where the one of the repository is."""
    file = git_dir / "commondir"
    return (git_dir / _read(file).strip()).resolve() if file.is_file() else git_dir


def _main(common: Path, asked: Path, git_dir: Path) -> Path:
    """The main checkout: where the repository's git directory lies, unless it is bare or lies apart from it."""
    if git_dir == common or common.name != ".git" or _BARE.search(_read(common / "config")):
        return asked
    return common.parent


def _others(common: Path, root: Path) -> Iterator[Path]:
    """The roots of linked worktrees that are there; git may name one relative to its own folder."""
    for file in sorted(common.glob("worktrees/*/gitdir")):
        place = (file.parent / _read(file).strip()).parent.resolve()
        if place != root and place.is_dir():
            yield place


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode(errors="surrogateescape")
    except OSError:
        return ""
