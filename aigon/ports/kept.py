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
"""Bytes of a growing file that are packed together: each time it costs a few milliseconds, once in some 30 turns."""
NOTHING: Mark = (0,)
HIDDEN: Mark = (1,)


def mark(path: str) -> Mark:
    """What changes with the file, as nobody can set a ctime. `NOTHING`: nothing is there, `HIDDEN`: one cannot look."""
    try:
        return mark_of(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError:
        return HIDDEN


def mark_of(found: os.stat_result) -> Mark:
    """The mark of a file whose state is known."""
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


@dataclass(frozen=True, slots=True)
class Kept:
    """`mode` is 0 where nothing is; `end` a file's bytes or a link's target; `names` what a folder holds.

    `fresh`: its mark proves nothing yet. Of a file that grows, what comes before `end` is in `packed`, of `size` bytes
    and with this `digest`: a journal of a thousand iterations takes up less than a megabyte then.
    """

    mark: Mark
    mode: int = 0
    end: bytes = b""
    names: frozenset[str] = frozenset()
    fresh: bool = False
    packed: tuple[bytes, ...] = ()
    size: int = 0
    digest: bytes = b""

    @property
    def data(self) -> bytes:
        """All of a file's bytes, or a link's target."""
        return b"".join([*map(zlib.decompress, self.packed), self.end])

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

    def same(self, other: "Kept") -> bool:
        """Whether the two are alike, whenever they were written."""
        if (self.mode, self.names) != (other.mode, other.names):
            return False
        return self.end == other.end if self.packed is other.packed else self.data == other.data


def look(path: str, before: Kept | None = None, *, grows: bool = False) -> Kept:
    """What is at `path` now. Nothing is read where it is as `before`; of a file that only grows, only what is new.

    Raises OSError where it cannot be read.
    """
    now = mark(path)
    if before and before.untouched(now):
        return before
    if now == NOTHING:
        return Kept(NOTHING)
    mode, fresh = now[0], _is_fresh(now)
    if stat.S_ISREG(mode):
        if grows:
            return _growing(path, before if before and _grew(before, now) else Kept(NOTHING), now, fresh=fresh)
        with _opened(path) as file:
            return Kept(now, mode, file.read(), fresh=fresh)
    if stat.S_ISLNK(mode):
        return Kept(now, mode, os.readlink(os.fsencode(path)), fresh=fresh)  # noqa: PTH115 - Path would change it
    return Kept(now, mode, names=names_in(path) if stat.S_ISDIR(mode) else frozenset(), fresh=fresh)


def look_again(path: str, kept: Kept) -> Kept:
    """What is at `path` now, all of it read. Where it still begins with what `kept` has packed, that is not kept twice.

    Raises OSError where it cannot be read.
    """
    now = mark(path)
    if kept.packed and stat.S_ISREG(now[0]):
        fresh = _is_fresh(now)
        with _opened(path) as file:
            if _digest(file, kept.size) == kept.digest:
                return replace(kept, mark=now, mode=now[0], end=file.read(), fresh=fresh)
    return look(path)


def names_in(folder: str | Path) -> frozenset[str]:
    """What a folder holds, by name."""
    with os.scandir(folder) as found:
        return frozenset(entry.name for entry in found)


def _is_fresh(now: Mark) -> bool:
    return len(now) > 1 and now[3] > time.time_ns() - FRESH_NS


def _digest(file: BinaryIO, size: int) -> bytes:
    """Of the first `size` bytes; of fewer where there are not so many."""
    found = sha256()
    while size > 0 and (more := file.read(min(PIECE, size))):
        found.update(more)
        size -= len(more)
    return found.digest()


def _grew(before: Kept, now: Mark) -> bool:
    return before.mark[4:] == now[4:] and now[1] >= before.size + len(before.end)


def _growing(path: str, before: Kept, now: Mark, *, fresh: bool) -> Kept:
    """A file of which all but what `before` holds is read, piece by piece."""
    packed, size, end = before.packed, before.size, before.end
    with _opened(path) as file:
        file.seek(size + len(end))
        while more := file.read(PIECE):
            end += more
            if len(end) >= PIECE:
                packed, size, end = (*packed, zlib.compress(end, 1)), size + len(end), b""
    digest = before.digest if size == before.size else _digest_of(packed)
    return Kept(now, now[0], end, fresh=fresh, packed=packed, size=size, digest=digest)


def _digest_of(packed: tuple[bytes, ...]) -> bytes:
    found = sha256()
    for piece in packed:
        found.update(zlib.decompress(piece))
    return found.digest()


def _opened(path: str) -> BinaryIO:
    """A plain file: no link is followed, and a pipe blocks nobody."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
