"""What the machine has left, and how many checks run side by side on it."""

import os
import resource
import select
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.process.stop import Stop

if TYPE_CHECKING:
    from filelock import FileLock


def measure_free_disk(path: Path) -> int | None:
    """Bytes that this person may still write beside `path`; None when unknown."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that may still be taken; `limit` names what bounds them, "" for the machine itself."""

    free: int
    limit: str = ""


def measure_free_memory() -> int | None:
    """Bytes of memory that may still be taken without swapping; None when unknown."""
    found = measure_memory()
    return found.free if found else None


def measure_memory() -> Memory | None:
    """What is left of the machine's memory or of a limit that leaves less; None when unknown."""
    known = [one for one in (_measure_machine(), *_measure_cgroups(), _measure_process_limit()) if one]
    return min(known, key=lambda one: one.free) if known else None


def read_file_size_limit() -> int | None:
    """How many bytes this process and its children may write into one file (ulimit -f); None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft


def _measure_machine() -> Memory | None:
    try:
        for line in Path("/proc/meminfo").read_bytes().splitlines():
            if line.startswith(b"MemAvailable:"):
                return Memory(int(line.split()[1]) * 1024)
    except OSError:
        return _measure_by_psutil()
    return None


def _measure_by_psutil() -> Memory:
    import psutil

    return Memory(int(psutil.virtual_memory().available))


def _measure_process_limit() -> Memory | None:
    """What any one process may have in all: its children inherit it, each for itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else Memory(soft, "the limit on address space (ulimit -v)")


_V2, _V1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")
_UNLIMITED = 1 << 60
"""Version 1 has no word for "no limit", but a number near 2^63."""


def _measure_cgroups() -> Iterator[Memory]:
    """What the control groups leave that this process is in, each within those above it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            yield from _measure_groups(_V2, path, ("memory.max", "memory.current", "inactive_file"))
        elif "memory" in controllers.split(","):
            wanted = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _measure_groups(_V1, path, wanted)


def _measure_groups(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[Memory]:
    """By group, from the inmost out. In a container the path may be that of the host, which is not there."""
    inmost = root / path.lstrip("/")
    for group in (inmost, *inmost.parents):
        if group.is_relative_to(root) and (left := _measure_group(group, *names)) is not None:
            yield Memory(left, f"the control group {group}")


def _measure_group(group: Path, limit: str, used: str, reclaimable: str) -> int | None:
    """Limit less use, where what the kernel keeps of files that nobody reads now does not count as used."""
    try:
        most = int((group / limit).read_text())
        if most >= _UNLIMITED:
            return None
        taken = int((group / used).read_text())
        entries = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # none there, or `max`: no limit
        return None
    return max(0, most - taken + int(entries.get(reclaimable, 0)))


@cache
def count_slots() -> int:
    """How many checks run side by side unless the project says otherwise: one per core that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable)


RETRY_SECONDS = 0.05
"""Seconds between two tries: little beside a check, and next to nothing for the machine."""


class CheckSlots:
    """`number` slots, as lock files in `folder`. Every loop that shares them has to ask for the same number."""

    def __init__(self, folder: Path, number: int) -> None:
        self._door = folder / "check-slot-door.lock"
        self._slots = tuple(folder / f"check-slot-{n}.lock" for n in range(1, number + 1))

    @contextmanager
    def acquire(self, stop: Stop, *, exclusive: bool = False) -> Iterator[bool]:
        """Hold a slot, or all of them with `exclusive`, as soon as there is one; False once `stop` says now."""
        with ExitStack() as held:
            yield self._all(stop, held) if exclusive else self._any(stop, held)

    def _any(self, stop: Stop, held: ExitStack) -> bool:
        while not stop.look():
            with ExitStack() as passing:
                if take_first_lock([self._door], passing) and take_first_lock(self._slots, held):
                    return True
            pause_briefly(stop)
        return False

    def _all(self, stop: Stop, held: ExitStack) -> bool:
        with ExitStack() as passing:
            return all(wait_for_lock(path, stop, passing if path == self._door else held) for path in self._ordered)

    @property
    def _ordered(self) -> tuple[Path, ...]:
        return (self._door, *self._slots)


def wait_for_lock(path: Path, stop: Stop, held: ExitStack) -> bool:
    """Hold the lock on `path` for as long as `held` lasts, whenever it is free; False once `stop` says now."""
    while not stop.look():
        if take_first_lock([path], held):
            return True
        pause_briefly(stop)
    return False


def take_first_lock(paths: Sequence[Path], held: ExitStack) -> bool:
    """Hold the lock on the first of these that is free, for as long as `held` lasts; False where none is."""
    from filelock import Timeout

    for path in paths:
        try:
            held.enter_context(_lock(path))
        except Timeout:
            continue
        return True
    return False


def _lock(path: Path) -> "FileLock":
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(os.fspath(path), timeout=0)


def pause_briefly(stop: Stop) -> None:
    """Wait a moment, and no longer once `stop` says now."""
    waiting = select.poll()
    waiting.register(stop.fileno(), select.POLLIN)
    waiting.poll(RETRY_SECONDS * 1000)
