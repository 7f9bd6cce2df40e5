"""How much disk and memory is taken while something runs: looked at now and then, by a thread of its own."""

import contextlib
import resource
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.volumes import look
from aigon.model.resources import ResourceUse, Volume, keep_lowest, measure_disk_use
from aigon.process.reaper import descendants

DISK_SECONDS = 0.25
"""Between two looks at the file systems: four calls of statvfs, about 10 µs. What fills a disk takes longer."""
MEMORY_SECONDS = 1.0
"""Between two looks at the memory of all processes, at least; and 50 times as long as the last one took, so that a
large tree costs 2 % of one core at most."""
SHARE = 50
PAGE = resource.getpagesize()


@dataclass(slots=True)
class Meter:
    """The least that was free on each of `volumes`, and the most memory that this process's descendants had, since
    `begin`; `least` is what was free since `mark`.

    Memory is the sum of proportional shares (PSS) of all descendants, by samples, or what the system counted of the
    largest single process that ended since, where that is more: it sees what lives shorter than a sample.
    `trouble` is the first error for want of room that something other than the loop ran into.
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

    def begin(self) -> None:
        """What is taken from here on counts."""
        now = self.now()
        with self._lock:
            self.before = self.lowest = self.least = now
            self.peak, self.largest, self._due = 0, _largest(), 0.0
        self._watch()

    def mark(self) -> None:
        """From here on `least` is the least: what comes now is to be told from what was before."""
        if not self.before:
            self.begin()
        now = self.now()
        with self._lock:
            self.least, self.trouble = now, None

    def now(self) -> tuple[Volume, ...]:
        """The file systems as they are."""
        return tuple(map(look, self.volumes))

    def sample(self) -> None:
        """Look once."""
        now = self.now()
        with self._lock:
            self.lowest = tuple(map(keep_lowest, self.lowest, now)) if self.lowest else now
            self.least = tuple(map(keep_lowest, self.least, now)) if self.least else now
        if time.monotonic() >= self._due:
            begun = time.monotonic()
            self.peak = max(self.peak, of_descendants())
            self._due = time.monotonic() + max(MEMORY_SECONDS, SHARE * (time.monotonic() - begun))

    def taken(self) -> tuple[ResourceUse, ...]:
        """What was taken since `begin`."""
        if not self.before:
            return ()
        self.sample()
        largest = _largest()
        peak = max(self.peak, largest if largest > self.largest else 0)
        return (*measure_disk_use(self.before, self.lowest), *((ResourceUse("memory", peak),) if peak else ()))

    def close(self) -> None:
        """No more looks."""
        self._over.set()
        if self._thread:
            self._thread.join()

    def _watch(self) -> None:
        if self._thread is None and self.volumes:
            self._thread = threading.Thread(target=self._look_on, name="meter", daemon=True)
            self._thread.start()

    def _look_on(self) -> None:
        while not self._over.wait(DISK_SECONDS):
            self.sample()


def _largest() -> int:
    """Bytes that the largest child had which has ended so far, or any that it waited for itself (wait4)."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def of_descendants() -> int:
    """Bytes of memory that all descendants of this process have, what they share counted once; 0 without /proc."""
    if not Path("/proc/self/task").exists():
        return 0
    return sum(map(_share, descendants()))


def _share(pid: int) -> int:
    """The proportional share of one process; where that may not be read, what it has for itself."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):
        _, resident, shared = Path(f"/proc/{pid}/statm").read_bytes().split()[:3]
        return (int(resident) - int(shared)) * PAGE
    return 0
