"""Notice that a program hangs: for a while it printed nothing, and neither it nor what it started computed anything.

Only for a program beside which nothing else of aigon's runs: whatever descends from aigon is then the program's, also
what left its session (a build server works for the agent that started it).
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aigon.process.reaper import descendants

BUSY = 0.005
"""Of one processor: who uses less waits. Node with a timer every 80 ms uses 0.0013, a shell that looks for a file every
50 ms 0.024 (measured, Linux)."""
LOOKS = 8
"""How often, within the time allowed, it is looked whether anything computes."""
LONGEST = 30.0
"""Seconds between two of these looks at most."""


@dataclass(slots=True)
class Idle:
    """The silence of one program: it hangs after `seconds` without a sign of life. Times are monotonic."""

    seconds: float
    since: float = field(default_factory=lambda: time.monotonic())
    looked: float = 0.0
    used: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.looked, self.used = self.since, processor_seconds()

    def heard(self) -> None:
        """It printed something."""
        self.since = time.monotonic()

    def over(self) -> bool:
        """Whether it hangs by now. Asked often; it looks only now and then, and only where nothing is printed.

        Never after a shorter while: one tick of the system's is a hundredth of a second, and of a second that is work.
        """
        now = time.monotonic()
        if now - max(self.looked, self.since) < min(self.seconds / LOOKS, LONGEST):
            return False
        used, before, passed = processor_seconds(), self.used, now - self.looked
        self.looked, self.used = now, used
        if sum(max(0.0, spent - before.get(pid, 0.0)) for pid, spent in used.items()) >= BUSY * passed:
            self.since = now
        return now - self.since >= self.seconds


def processor_seconds() -> dict[int, float]:
    """What every living descendant of this process has used of the processors, with children that it waited for."""
    if not Path("/proc/self/stat").exists():
        return _asked()
    tick = os.sysconf("SC_CLK_TCK")
    return {pid: ticks / tick for pid in descendants() if (ticks := _ticks(pid))}


def _ticks(pid: int) -> int:
    """utime, stime, cutime and cstime, in ticks of the system; 0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a plain read
            return sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
    except (OSError, ValueError):
        return 0


def _asked() -> dict[int, float]:
    """The same where the system shows no files about its processes."""
    import psutil

    found = {}
    for pid in descendants():
        try:
            found[pid] = float(sum(psutil.Process(pid).cpu_times()[:4]))
        except psutil.Error:
            continue
    return found
