"""One file, link or folder as it was found: enough to tell for nothing whether it changed, and to make it again."""

import os
import stat
import time
import zlib
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

Mark = tuple[int, ...]
FRESH_NS = 20_000_000
"""A clock of a file system goes in steps, up to 10 ms on Linux: what changed just now may change again unseen."""
PIECE = 256 * 1024
"""Bytes of a file that are packed together, in less than a millisecond."""
NOTHING: Mark = (0,)
HIDDEN: Mark = (1,)


def read_mark(path: str) -> Mark:
    """What changes with the file, as nobody can set a ctime. `NOTHING`: nothing is there, `HIDDEN`: one cannot look."""
    try:
        return make_mark(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError:
        return HIDDEN


def make_mark(found: os.stat_result) -> Mark:
    """The mark of a file whose state is known."""
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


@dataclass(frozen=True, slots=True)
class Piece:
    """So many bytes of a file, packed, and their digest, which tells whether others are alike."""

    size: int
    digest: bytes
    packed: bytes


@dataclass(frozen=True, slots=True)
class FileState:
    """`mode` is 0 where nothing is; `end` a file's bytes or a link's target; `names` what a folder holds.

    `fresh`: its mark proves nothing yet. Of a file that grows, what comes before `end` is in `pieces`: a journal of a
    thousand iterations takes up less than a megabyte then.
    """

    mark: Mark
    mode: int = 0
    end: bytes = b""
    names: frozenset[str] = frozenset()
    fresh: bool = False
    pieces: tuple[Piece, ...] = ()

    @property
    def data(self) -> bytes:
        """All of a file's bytes, or a link's target."""
        return b"".join([*(zlib.decompress(piece.packed) for piece in self.pieces), self.end])

    @property
    def size(self) -> int:
        """How many bytes that is."""
        return sum(piece.size for piece in self.pieces) + len(self.end)

    def untouched(self, now: Mark) -> bool:
        """Whether a mark taken now proves that nothing changed."""
        return self.mark == now and not self.fresh

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, and no link to one."""
        return stat.S_ISDIR(self.mode)

    def same(self, other: "FileState") -> bool:
        """Whether the two are alike, whenever they were written."""
        if (self.mode, self.names) != (other.mode, other.names):
            return False
        return (self.pieces, self.end) == (other.pieces, other.end) or self.data == other.data


def read_state(path: str, before: FileState | None = None, *, grows: bool = False) -> FileState:
    """What is at `path` now. Nothing is read where it is as `before`; of a file that only grows, only what is new.

    Raises OSError where it cannot be read.
    """
    now = read_mark(path)
    if before and before.untouched(now):
        return before
    if now == NOTHING:
        return FileState(NOTHING)
    mode, fresh = now[0], _is_fresh(now)
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
    """What is at `path` now, all of it read. Where it still begins with the pieces of `kept`, they are not made again.

    Raises OSError where it cannot be read.
    """
    now = read_mark(path)
    if kept.pieces and stat.S_ISREG(now[0]):
        fresh = _is_fresh(now)
        with _open_plain(path) as file:
            if all(sha256(file.read(piece.size)).digest() == piece.digest for piece in kept.pieces):
                return replace(kept, mark=now, mode=now[0], end=file.read(), fresh=fresh)
    return read_state(path)


def list_names(folder: str | Path) -> frozenset[str]:
    """What a folder holds, by name."""
    with os.scandir(folder) as found:
        return frozenset(entry.name for entry in found)


def _is_fresh(now: Mark) -> bool:
    return len(now) > 1 and now[3] > time.time_ns() - FRESH_NS


def _has_grown(before: FileState, now: Mark) -> bool:
    return before.mark[4:] == now[4:] and now[1] >= before.size


def _pack(known: FileState, file: BinaryIO) -> tuple[tuple[Piece, ...], bytes]:
    """The pieces and the end of a file of which all but what is known is read."""
    pieces, end = known.pieces, known.end
    while more := file.read(PIECE):
        end += more
        if len(end) >= PIECE:
            pieces, end = (*pieces, Piece(len(end), sha256(end).digest(), zlib.compress(end, 1))), b""
    return pieces, end


def _open_plain(path: str) -> BinaryIO:
    """A plain file: no link is followed, and a pipe blocks nobody."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
