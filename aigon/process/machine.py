"""What the machine has left."""

import os
import resource
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def disk_free(path: Path) -> int | None:
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


def memory_free() -> int | None:
    """Bytes of memory that may still be taken without swapping; None when unknown."""
    found = memory()
    return found.free if found else None


def memory() -> Memory | None:
    """What is left of the machine's memory or of a limit that leaves less; None when unknown."""
    known = [one for one in (_of_machine(), *_of_cgroups(), _of_process()) if one]
    return min(known, key=lambda one: one.free) if known else None


def longest_file() -> int | None:
    """How many bytes this process and its children may write into one file (ulimit -f); None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft


def _of_machine() -> Memory | None:
    try:
        for line in Path("/proc/meminfo").read_bytes().splitlines():
            if line.startswith(b"MemAvailable:"):
                return Memory(int(line.split()[1]) * 1024)
    except OSError:
        return _by_psutil()
    return None


def _by_psutil() -> Memory:
    import psutil

    return Memory(int(psutil.virtual_memory().available))


def _of_process() -> Memory | None:
    """What any one process may have in all: its children inherit it, each for itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else Memory(soft, "the limit on address space (ulimit -v)")


_V2, _V1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")
_UNLIMITED = 1 << 60
"""Version 1 has no word for "no limit", but a number near 2^63."""


def _of_cgroups() -> Iterator[Memory]:
    """What the control groups leave that this process is in, each within those above it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            yield from _within(_V2, path, ("memory.max", "memory.current", "inactive_file"))
        elif "memory" in controllers.split(","):
            wanted = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _within(_V1, path, wanted)


def _within(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[Memory]:
    """By group, from the inmost out. In a container the path may be that of the host, which is not there."""
    inmost = root / path.lstrip("/")
    for group in (inmost, *inmost.parents):
        if group.is_relative_to(root) and (left := _left(group, *names)) is not None:
            yield Memory(left, f"the control group {group}")


def _left(group: Path, limit: str, used: str, reclaimable: str) -> int | None:
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
def slots() -> int:
    """How many checks run side by side unless the project says otherwise: one per core that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable)
