"""The state of a file, link or folder: enough to tell cheaply whether it changed, and to restore it."""

import os
import stat
import sys
import time
from pathlib import Path

from msgspec import Struct

from aigon.files.atomic import open_plain

Mark = tuple[int, ...]
FRESH_NS = 20_000_000
"""Clocks of file systems have steps of up to 10 ms on Linux: what changed just now may change again unseen."""
NOTHING: Mark = (0,)
HIDDEN: Mark = (1,)


def read_mark(path: str) -> Mark:
    """Return what changes with a file, as programs cannot set a ctime; NOTHING for no file, HIDDEN if out of reach."""
    try:
        return make_mark(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError:
        return HIDDEN


def make_mark(state: os.stat_result) -> Mark:
    return (state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev)


class FileState(Struct, frozen=True):
    """`mode` is 0 if nothing exists; `data` holds a file's bytes or a link's target; `names` what a folder holds.

    If it is `fresh`, its mark proves nothing yet.
    """

    mark: Mark
    mode: int = 0
    data: bytes = b""
    names: frozenset[str] = frozenset()
    fresh: bool = False

    def is_untouched(self, now: Mark) -> bool:
        """Return whether the mark `now` proves that nothing changed."""
        return self.mark == now and not self.fresh

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """True if it is a folder, and no link to one."""
        return stat.S_ISDIR(self.mode)

    def same(self, other: "FileState") -> bool:
        """Return whether the two are equal, whenever they were written."""
        return (self.mode, self.names, self.data) == (other.mode, other.names, other.data)


def read_state(path: str, before: FileState | None = None, *, grows: bool = False) -> FileState:
    """Return the state of `path`. Nothing is read if it is as `before`; of a file that `grows`, only what is new.

    Raises OSError.
    """
    now = read_mark(path)
    if before and before.is_untouched(now):
        return before
    if now == NOTHING:
        return FileState(NOTHING)
    mode, fresh = now[0], is_fresh(now)
    if stat.S_ISREG(mode):
        with open_plain(path) as file:
            known = before.data if before and grows and _has_grown(before, now) else b""
            file.seek(len(known))
            return FileState(now, mode, known + file.read(), fresh=fresh)
    if stat.S_ISLNK(mode):
        return FileState(now, mode, os.readlink(os.fsencode(path)), fresh=fresh)  # noqa: PTH115 - Path would change it
    return FileState(now, mode, names=list_names(path) if stat.S_ISDIR(mode) else frozenset(), fresh=fresh)


def _has_grown(before: FileState, now: Mark) -> bool:
    """Return whether it is the same file, and not shorter."""
    return before.mark[4:] == now[4:] and now[1] >= len(before.data)


def list_names(folder: str | Path) -> frozenset[str]:
    with os.scandir(folder) as entries:
        return frozenset(entry.name for entry in entries)


def is_fresh(now: Mark) -> bool:
    """Return whether another change could leave the mark as it is.

    On Linux the clock that gives files of a local disk their times says so. A disk that keeps no fractions of
    milliseconds, or belongs to another machine, gets the longest step.
    """
    if len(now) < 2:
        return False
    if sys.platform == "linux" and os.major(now[5]) and now[3] % 1_000_000:
        return now[3] >= read_file_clock()
    return now[3] > time.time_ns() - FRESH_NS


def read_file_clock() -> int:
    """Return the time in nanoseconds that a file would get now: CLOCK_REALTIME_COARSE of Linux."""
    return time.clock_gettime_ns(5)
