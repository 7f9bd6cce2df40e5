"""A second name for every object of the repository, outside of it: what an agent or a check deletes is put back.

It is for where nothing keeps them from deleting: agents without a repository of their own, and checks without a
sandbox, which run the agent's code. Names cost no space and hardly any time; an object that is overwritten in place is
damaged under both.
"""

import errno
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aigon.git.branch_ref import TICK_NS
from aigon.git.trusted import TrustedGit

KEPT = (".pack", ".idx", ".rev")
"""What makes a pack; git makes the rest again."""
LARGEST_COPY = 256 << 20
"""Bytes of a file that is copied where the folder is on another file system; a larger one is not held."""


@dataclass(slots=True)
class HeldObjects:
    """The objects of a repository, held in `folder`."""

    git: TrustedGit
    folder: Path
    _held: set[str] | None = None
    _seen: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """What was in each folder of objects, and when that had changed last."""

    def hold(self, tips: Iterable[str], *, believe: bool = False) -> tuple[str, ...]:
        """Put back what was deleted, and hold what is new; return a sentence if anything was deleted.

        What a person's git has packed or pruned is let go: all is well as long as everything is there that refs and
        `tips` lead to. That is not asked with `believe`. While nothing is deleted, no program is started.
        """
        objects = self.git.common_dir / "objects"
        if self._held is None:
            self._held = set(_list_objects(self.folder, {}))
        there = set(_list_objects(objects, self._seen))
        gone, new = self._held - there, there - self._held
        deleted = bool(gone) and not believe and not self._is_whole(tips)
        back = [_add_name(self.folder / name, objects / name) for name in sorted(gone) if deleted]
        for name in gone if not deleted else ():
            (self.folder / name).unlink(missing_ok=True)
        for name in sorted(new):
            _add_name(objects / name, self.folder / name)
        self._held = self._held | there if deleted else there
        return (f"{sum(back)} files with git's objects were deleted; they were put back",) if any(back) else ()

    def _is_whole(self, tips: Iterable[str]) -> bool:
        asked = ("-c", "core.commitGraph=false", "rev-list", "--objects", "--quiet", "--all", *tips)
        return self.git.refs(*asked)[0] == 0


def _list_objects(objects: Path, seen: dict[str, tuple[int, list[str]]]) -> Iterator[str]:
    """Yield the files with objects; folders that have not changed since they were `seen` are not listed again."""
    with suppress(OSError), os.scandir(objects) as entries:
        folders = [entry.name for entry in entries if len(entry.name) == 2 or entry.name == "pack"]
        for folder in folders:
            with suppress(OSError):
                changed = (objects / folder).stat().st_mtime_ns
                known, names = seen.get(folder, (0, []))
                if known != changed:
                    listed = os.listdir(objects / folder)  # noqa: PTH208 - names alone
                    kept = [name for name in listed if not name.startswith("tmp_")]
                    names = [f"{folder}/{name}" for name in kept if folder != "pack" or name.endswith(KEPT)]
                if time.time_ns() - changed > TICK_NS:  # else another change may leave the time as it is
                    seen[folder] = changed, names
                yield from names


def _add_name(source: Path, target: Path) -> bool:
    """Give a file a second name; return whether that worked: it may have gone meanwhile, or be too large to be held."""
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno != errno.EXDEV or source.stat().st_size > LARGEST_COPY:
                return False
            shutil.copyfile(source, target)
        return True
    return False
