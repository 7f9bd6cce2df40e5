"""What git ignores in a worktree that is to go: what can be had again, what has to be parked, what nobody may move."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from aigon.git.person import Checkout
from aigon.secrets.leaks import blocked, leak
from aigon.worktrees.copies import copies, held
from aigon.worktrees.ignored import committed_in, left

LARGEST = 100 * 1024 * 1024
"""Bytes that are parked of one worktree's ignored files: they go into the repository for good."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """`parked` are paths to be kept in a commit; `reason` is why nothing may be done at all, "" where it may."""

    parked: tuple[str, ...] = ()
    reason: str = ""


def sorted_out(main: Checkout, worktree: Checkout) -> Ignored:
    """What is to be done about the ignored files of `worktree`; none is touched."""
    copied, parked, size = copies(worktree), [], 0
    try:
        for path in chain(left(worktree), committed_in(worktree)):
            if path.endswith("/.git"):
                return Ignored(reason=f"{path[:-5]} is a repository of its own, and git ignores it here")
            if _is_had(main.root, worktree.root, path, copied):
                continue
            size += (worktree.root / path).lstat().st_size
            if why := _unparkable(worktree.root, path, size):
                return Ignored(reason=why)
            parked.append(path)
    except OSError as error:
        return Ignored(reason=f"{error.filename} cannot be read: {error.strerror}")
    return Ignored(tuple(parked))


def _is_had(main: Path, root: Path, path: str, copied: Mapping[str, str]) -> bool:
    """Whether the main checkout has the same, or had it when it was copied; a link to there is nothing of its own."""
    file, original = root / path, main / path
    if file.is_symlink() and Path(os.path.realpath(file)).is_relative_to(main):
        return True
    name = held(file)
    if (original.is_symlink() or original.is_file()) and held(original) == name:
        return True
    return copied.get(path) == name and not _is_secret(path)


def _is_secret(path: str) -> bool:
    return blocked(path) or path.rpartition("/")[2].startswith(".env")


def _unparkable(root: Path, path: str, size: int) -> str:
    if _is_secret(path):
        return f"{path} may hold secrets, git ignores it, and the main checkout has no such file, or another one"
    if size > LARGEST:
        return f"git ignores more than {LARGEST // 1024**2} MB of files there, such as {path}"
    found = None if (root / path).is_symlink() else leak(path, (root / path).read_bytes())
    return f"{path} is ignored by git and not to be parked: {found.why}" if found else ""
