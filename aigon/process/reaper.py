"""No survivor: whatever a program leaves behind becomes aigon's child, and is ended.

Signalling a group misses children that called `setsid`. As a child subreaper (Linux) aigon inherits them, whatever
they did to hide. Elsewhere the group is signalled, and what was seen to descend from a program or has aigon's mark in
its environment (`followed.py`, `survivors.py`). Nothing else may run during a sweep: an orphan has no owner.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUBREAPER = sys.platform.startswith("linux")
"""Whether this system gives orphans to whoever asked for them."""
PR_SET_CHILD_SUBREAPER = 36
"""From <linux/prctl.h>."""
SWEEP_SECONDS = 5.0
PAUSE_SECONDS = 0.001
"""Between two looks at processes that have been sent SIGKILL: they need about that long to go."""


def adopt_orphans(*, adopt: bool = True) -> bool:
    """Become the reaper of every descendant, or be it no more; False where the system has no such thing."""
    if not SUBREAPER:
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0) == 0)


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Of what is started in here nothing outlives it, and what ran before is let be.

    For a program that runs before any loop: it must not be one's reaper for good, or the guardian that is posted later
    would be a descendant.
    """
    before = frozenset(descendants())
    adopt_orphans()
    try:
        yield
    finally:
        _sweep_new(before)
        adopt_orphans(adopt=False)


def _sweep_new(before: frozenset[int]) -> None:
    """End every descendant but these, and collect those: nobody else's exit code is taken away."""
    limit = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < limit and (living := [pid for pid in descendants() if pid not in before]):
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # a grandchild: it is one's own once its parent is gone
                os.waitpid(pid, os.WNOHANG)
        time.sleep(PAUSE_SECONDS)


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
    while time.monotonic() < limit:
        living = [pid for pid in descendants() if not is_zombie(pid)]
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(living)
        if not _reap():
            break
    return len(ended)


def is_zombie(pid: int) -> bool:
    """Whether a process is dead and only waits to be collected: that is no survivor."""
    try:
        return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def _reap() -> bool:
    """Collect the dead; False when no child is left at all, which only `waitpid` knows for certain.

    SIGKILL is on its way to those that still live. One that may not be killed (it runs as somebody else) is not
    waited for beyond the sweep's time.
    """
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    time.sleep(PAUSE_SECONDS)
    return True


def end_leftovers(run_id: str) -> int:
    """Kill what a killed aigon left running for `run_id`, known by AIGON_RUN in its environment; how many there were.

    They are not this process's children any more. Only where the system shows environments as files (Linux).
    """
    ended: set[int] = set()
    limit = time.monotonic() + SWEEP_SECONDS
    while (living := _of_run(f"AIGON_RUN={run_id}".encode())) and time.monotonic() < limit:
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(living)
        time.sleep(PAUSE_SECONDS)
    return len(ended)


def _of_run(mark: bytes) -> list[int]:
    """Living processes with `mark` in their environment, but for this one and those it runs in."""
    spared = _lineage()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if int(entry.parent.name) not in spared and mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


def _lineage() -> set[int]:
    """This process and its ancestors."""
    import psutil

    return {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
