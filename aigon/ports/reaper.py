"""No survivor: whatever a program leaves behind becomes aigon's child, and is ended.

Signalling a group misses children that called `setsid`. As a child subreaper (Linux) aigon inherits them, whatever
they did to hide. Elsewhere only the group is signalled. Nothing else may run during a sweep: an orphan has no owner.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
"""From <linux/prctl.h>."""
SWEEP_SECONDS = 5.0


def adopt_orphans() -> bool:
    """Become the reaper of every descendant; False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def children(pid: int | str = "self") -> list[int]:
    """The direct children of a process, of all its threads; empty when it is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - on the hot path
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
    return found


def descendants() -> list[int]:
    """Every living descendant, deepest last."""
    if not Path("/proc/self/task").exists():
        import psutil

        return [child.pid for child in psutil.Process().children(recursive=True)]
    found = children()
    for pid in found:
        found += children(pid)
    return found


def sweep() -> int:
    """Kill and reap every descendant until none is left; how many were found. Call it where no other phase runs."""
    ended: set[int] = set()
    limit = time.monotonic() + SWEEP_SECONDS
    while (living := descendants()) and time.monotonic() < limit:
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(pid for pid in living if not _reaped_quietly(pid))
        _reap()
    return len(ended)


def _reaped_quietly(pid: int) -> bool:
    """A zombie that only waited to be collected is not a survivor."""
    try:
        return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def _reap() -> None:
    """Collect the dead; wait for one where all still live, since SIGKILL is on its way."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        if children():
            os.waitpid(-1, 0)
