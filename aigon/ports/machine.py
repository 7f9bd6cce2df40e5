"""What the machine has left."""

import os
import shutil
from functools import cache
from pathlib import Path


def disk_free(path: Path) -> int | None:
    """Bytes that this person may still write beside `path`; None when unknown."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def memory_free() -> int | None:
    """Bytes of memory available without swapping; None when unknown."""
    try:
        for line in Path("/proc/meminfo").read_bytes().splitlines():
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return _memory_by_psutil()
    return None


def _memory_by_psutil() -> int | None:
    import psutil

    return int(psutil.virtual_memory().available)


@cache
def slots() -> int:
    """How many checks run side by side unless the project says otherwise: one per core that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable)
