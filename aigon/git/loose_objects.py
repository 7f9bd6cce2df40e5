"""Objects that another git wrote: handed to the disk before a ref of aigon's names them.

An agent that adds or commits leaves objects that git, as it comes, does not flush; aigon's own git then finds them
there and writes nothing. aigon's own objects were written out as they came (`aigon.git.trusted`).
"""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aigon.process.syscalls import call

SLACK = 2.0
"""Seconds that a file's time may lie behind the clock: ext4 counts in ticks, FAT in steps of two seconds."""
TICK_NS = 20_000_000
"""Nanoseconds after which a further change of a folder has another time: the kernel's clock for files goes in steps of
up to 10 ms."""
_ZERO = ctypes.c_int64(0)
_WRITE_OUT = 1 | 2 | 4
"""SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER in <fcntl.h>: what git's `writeout-only` asks for."""


def write_out(objects: Path, since: float, seen: dict[str, int] | None = None) -> int:
    """Hand the loose objects written `since` (seconds of the epoch) to the disk; how many there were.

    They are durable with the next fsync on that file system. Folders that are as they were when `seen` last are passed
    over; what is seen now is noted there. Raises OSError where the disk does not take them.
    """
    written = 0
    for name in _fresh(objects, since - SLACK, {} if seen is None else seen):
        with suppress(FileNotFoundError):  # packed meanwhile, by a git that flushes packs
            _write_out(name)
            written += 1
    return written


def _fresh(objects: Path, since: float, seen: dict[str, int]) -> Iterator[str]:
    """A new file changes its folder's time: others need no second look."""
    for folder in _entries(objects):
        changed = _changed(folder)
        if len(folder.name) != 2 or changed < since * 1e9 or seen.get(folder.name) == changed:
            continue
        settled = time.time_ns() - changed > TICK_NS  # else a file may still come and leave the time as it is
        yield from (file.path for file in _entries(folder.path) if _changed(file) >= since * 1e9)
        if settled:
            seen[folder.name] = changed


def _changed(entry: "os.DirEntry[str]") -> int:
    """When it changed, in nanoseconds; 0 for one that a person's git packed and removed since it was listed."""
    try:
        return entry.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _entries(folder: str | Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if not entry.name.startswith("tmp_")]
    except FileNotFoundError:
        return []


def _write_out(name: str) -> None:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            call("sync_file_range", file, _ZERO, _ZERO, _WRITE_OUT)
        except (AttributeError, OSError):  # macOS has none, and not every file system does
            os.fsync(file)
    finally:
        os.close(file)


def remove_empty(objects: Path) -> int:
    """Remove loose objects without a byte, which are none: what a power cut leaves of a file; how many there were."""
    found = [file for folder in _entries(objects) if len(folder.name) == 2 for file in _entries(folder.path)]
    empty = [file.path for file in found if file.stat(follow_symlinks=False).st_size == 0]
    for name in empty:
        Path(name).unlink(missing_ok=True)
    return len(empty)
