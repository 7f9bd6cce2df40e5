"""The state of a file, link or folder: enough to tell cheaply whether it changed, and to restore it."""

import os
import stat
import sys
import time
import zlib
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

Mark = tuple[int, ...]
FRESH_NS = 20_000_000
"""Clocks of file systems have steps of up to 10 ms on Linux: what changed just now may change again unseen."""
PIECE = 256 * 1024
"""Bytes of a file that are packed together, which takes less than a millisecond."""
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


class Piece(Struct, frozen=True):
    """`size` bytes of a file, packed, and their digest."""

    size: int
    digest: bytes
    packed: bytes


class FileState(Struct, frozen=True):
    """`mode` is 0 if nothing exists; `end` holds a file's bytes or a link's target; `names` what a folder holds.

    If it is `fresh`, its mark proves nothing yet. Of a file that grows, what precedes `end` is in `pieces`: a journal
    of a thousand iterations takes less than a megabyte.
    """

    mark: Mark
    mode: int = 0
    end: bytes = b""
    names: frozenset[str] = frozenset()
    fresh: bool = False
    pieces: tuple[Piece, ...] = ()

    @property
    def data(self) -> bytes:
        """All bytes of a file, or the target of a link."""
        return b"".join([*(zlib.decompress(piece.packed) for piece in self.pieces), self.end])

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces) + len(self.end)

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
        if (self.mode, self.names) != (other.mode, other.names):
            return False
        return (self.pieces, self.end) == (other.pieces, other.end) or self.data == other.data


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
        known = before if before and grows and _has_grown(before, now) else FileState(NOTHING)
        with _open_plain(path) as file:
            file.seek(known.size)
            # What is written anew each time is not worth packing.
            pieces, end = _pack(known, file) if grows else ((), file.read())
        return FileState(now, mode, end, fresh=fresh, pieces=pieces)
    if stat.S_ISLNK(mode):
        return FileState(now, mode, os.readlink(os.fsencode(path)), fresh=fresh)  # noqa: PTH115 - Path would change it
    return FileState(now, mode, names=list_names(path) if stat.S_ISDIR(mode) else frozenset(), fresh=fresh)


def reread_state(path: str, kept: FileState) -> FileState:
    """Read all of `path`; reuse the pieces of `kept` if the file still begins with them. Raises OSError."""
    now = read_mark(path)
    if kept.pieces and stat.S_ISREG(now[0]):
        fresh = is_fresh(now)
        with _open_plain(path) as file:
            if all(sha256(file.read(piece.size)).digest() == piece.digest for piece in kept.pieces):
                return replace(kept, mark=now, mode=now[0], end=file.read(), fresh=fresh)
    return read_state(path)


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


def _has_grown(before: FileState, now: Mark) -> bool:
    return before.mark[4:] == now[4:] and now[1] >= before.size


def _pack(known: FileState, file: BinaryIO) -> tuple[tuple[Piece, ...], bytes]:
    pieces, end = known.pieces, known.end
    while more := file.read(PIECE):
        end += more
        if len(end) >= PIECE:
            pieces, end = (*pieces, Piece(len(end), sha256(end).digest(), zlib.compress(end, 1))), b""
    return pieces, end


def _open_plain(path: str) -> BinaryIO:
    """Open a plain file: no link is followed, and a pipe does not block."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
