"""Resources that programs use: processor time, which shows a hang; memory and disk, which show a shortage."""

import contextlib
import os
import resource
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from aigon.files.system_errors import measure_volume, probe_volume
from aigon.model.resources import ResourceUse, Volume, keep_lowest, measure_disk_use
from aigon.process.capacity import Memory, measure_memory
from aigon.process.orphans import list_descendants

DISK_SECONDS = 0.25
"""Between two looks at the file systems: four calls of statvfs, about 10 µs. Filling a disk takes longer."""
MEMORY_SECONDS = 1.0
"""Between two looks at the memory of all processes, at least."""
SHARE = 50
"""The pause is this many times the length of the last look: a large tree costs at most 2 % of one core."""
PAGE = resource.getpagesize()


class Meter(Struct):
    """The least that was free on each of `volumes`, and the most memory that descendants had, since `begin`.

    Memory is sampled as the sum of proportional shares (PSS) of all descendants. If the system counted more for the
    largest single process that ended since, that counts: it also sees what lives shorter than a sample. `least` is what
    was free since `mark`; `trouble` is the first error for lack of space that another part of aigon ran into.
    """

    volumes: tuple[Volume, ...] = ()
    before: tuple[Volume, ...] = ()
    lowest: tuple[Volume, ...] = ()
    least: tuple[Volume, ...] = ()
    peak: int = 0
    largest: int = 0
    trouble: Exception | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _due: float = 0.0
    _probed: tuple[float, Memory | None, tuple[Volume, ...]] | None = None

    def begin(self) -> None:
        """Count what is taken from here on."""
        now = self.now()
        with self._lock:
            self.before = self.lowest = self.least = now
            self.peak, self.largest, self._due = 0, _read_largest_child(), 0.0
        if self._thread is None and self.volumes:
            self._thread = threading.Thread(target=self._keep_sampling, name="meter", daemon=True)
            self._thread.start()

    def mark(self) -> None:
        """Start `least` anew, to tell what comes now from what was before."""
        if not self.before:
            self.begin()
        now = self.now()
        with self._lock:
            self.least, self.trouble = now, None

    def now(self) -> tuple[Volume, ...]:
        """Return the file systems as they are."""
        return tuple(map(measure_volume, self.volumes))

    def probe(self, folders: Sequence[Path]) -> tuple[Memory | None, tuple[Volume, ...]]:
        """Return what is left of memory and disks; a block is written in each of the folders to see that it can be.

        That, and a look at the memory, holds for DISK_SECONDS: a new file is the dearest part of it.
        """
        now = self.now()
        if self._probed and time.monotonic() - self._probed[0] < DISK_SECONDS:
            return self._probed[1], tuple(map(keep_lowest, now, self._probed[2]))
        for folder in folders:
            now = tuple(probe_volume(volume, folder) for volume in now)
        self._probed = time.monotonic(), measure_memory(), now
        return self._probed[1:]

    def sample(self) -> None:
        now = self.now()
        with self._lock:
            self.lowest = tuple(map(keep_lowest, self.lowest or now, now))
            self.least = tuple(map(keep_lowest, self.least or now, now))
        if time.monotonic() >= self._due:
            begin = time.monotonic()
            self.peak = max(self.peak, measure_memory_of_descendants())
            self._due = time.monotonic() + max(MEMORY_SECONDS, SHARE * (time.monotonic() - begin))

    def measure_use(self) -> tuple[ResourceUse, ...]:
        """Return what was taken since `begin`."""
        if not self.before:
            return ()
        self.sample()
        largest = _read_largest_child()
        peak = max(self.peak, largest if largest > self.largest else 0)
        return (*measure_disk_use(self.before, self.lowest), *((ResourceUse("memory", peak),) if peak else ()))

    def close(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _keep_sampling(self) -> None:
        while not self._over.wait(DISK_SECONDS):
            self.sample()


def _read_largest_child() -> int:
    """Return the peak memory of the largest descendant that has ended and was waited for (wait4)."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def measure_memory_of_descendants() -> int:
    """Return the bytes of memory of all descendants, shared pages counted once; 0 without /proc."""
    return sum(map(_read_share, list_descendants())) if Path("/proc/self/task").exists() else 0


def _read_share(pid: int) -> int:
    """Return the proportional share of one process, or its private memory if the share may not be read."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):
        _, resident, shared = Path(f"/proc/{pid}/statm").read_bytes().split()[:3]
        return (int(resident) - int(shared)) * PAGE
    return 0


BUSY_SHARE = 0.005
"""Of one processor: a program that uses less waits. Node with a timer every 80 ms uses 0.0013, a shell that looks for a
file every 50 ms 0.024 (measured, Linux)."""
LOOKS = 8
"""Looks at processor time within the time allowed."""
LONGEST_LOOK_SECONDS = 30.0
"""Between two of these looks, at most."""


class IdleClock(Struct):
    """The silence of one program: it hangs after `seconds` in which it neither prints nor computes.

    Only for a program while aigon runs no other: then every descendant is the program's, even one that left its
    session (a build server works for the agent that started it). Times are monotonic.
    """

    seconds: float
    since: float = field(default_factory=lambda: time.monotonic())
    looked: float = 0.0
    used: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.looked, self.used = self.since, measure_processor_seconds()

    def heard(self) -> None:
        self.since = time.monotonic()

    def over(self) -> bool:
        """Return whether it hangs by now; looks at processor time only now and then, and only during silence.

        Never after a short while: the system counts in hundredths of a second, and of a second one of them is work.
        """
        now = time.monotonic()
        if now - max(self.looked, self.since) < min(self.seconds / LOOKS, LONGEST_LOOK_SECONDS):
            return False
        used, before, passed = measure_processor_seconds(), self.used, now - self.looked
        self.looked, self.used = now, used
        if sum(max(0.0, spent - before.get(pid, 0.0)) for pid, spent in used.items()) >= BUSY_SHARE * passed:
            self.since = now
        return now - self.since >= self.seconds


def measure_processor_seconds() -> dict[int, float]:
    """Return the processor time of every living descendant, with that of children that it waited for."""
    if not Path("/proc/self/stat").exists():
        return _ask_psutil()
    tick, seconds = os.sysconf("SC_CLK_TCK"), {}
    for pid in list_descendants():
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            seconds[pid] = sum(map(int, fields[11:15])) / tick  # utime + stime + cutime + cstime
    return seconds


def _ask_psutil() -> dict[int, float]:
    import psutil

    seconds = {}
    for pid in list_descendants():
        with contextlib.suppress(psutil.Error):
            seconds[pid] = float(sum(psutil.Process(pid).cpu_times()[:4]))
    return seconds
