"""What stands in git's way when it puts the work tree back, and is in no commit: git would delete it, unasked.

Nested repositories, ignored files, and what git could not read stay out of a snapshot, so parking it saves none of it.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

_FOLDERS = ("000000", "160000")
"""Modes, in git's raw format, at which git writes no file: nothing, and a submodule."""


def obstacles(git: Callable[..., bytes], root: Path, commit: str) -> tuple[str, ...]:
    """Paths that the snapshot in the index does not hold and that `commit` would overwrite; none below another."""
    wanted = {path: new for path, old, new in _raw(git("diff-index", "--cached", *_RAW, commit)) if old not in _FOLDERS}
    gone = {path for path, new in wanted.items() if new == "000000"}
    linked = {path for path, new in wanted.items() if new == "160000" and os.path.lexists(root / path)}
    refused = {path for path, old, _ in _raw(git("diff-files", *_RAW)) if old not in _FOLDERS and _stands(root, path)}
    parents = _parents(gone)
    others = [os.fsdecode(path).rstrip("/") for path in git("ls-files", "--others", "-z").split(b"\0") if path]
    return _outermost(linked | refused | {path for other in others for path in _over(other, gone, parents)})


_RAW = ("--raw", "--abbrev=64", "-z", "--no-renames", "--ignore-submodules=all")


def _raw(out: bytes) -> Iterator[tuple[str, str, str]]:
    """Path, old mode and new mode of each entry."""
    fields = out.split(b"\0")
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        old, new = head.decode()[1:].split(" ")[:2]
        yield os.fsdecode(path), old, new


def _stands(root: Path, path: str) -> bool:
    """Whether something is there that is not reached through a link: git takes the link away, not what is behind it."""
    place = root / path
    return os.path.lexists(place) and place.parent.resolve() == place.parent


def _over(other: str, gone: set[str], parents: set[str]) -> Iterator[str]:
    """Where what no commit holds stands over, at, or in the place of a file that is to come back."""
    if other in parents:
        yield other
    yield from ({other, *_parents({other})} & gone)


def _parents(paths: set[str]) -> set[str]:
    return {path[:i] for path in paths for i, letter in enumerate(path) if letter == "/"}


def _outermost(paths: set[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in paths if not _parents({path}) & paths))
