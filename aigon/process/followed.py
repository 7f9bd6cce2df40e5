"""What a program starts, followed by looking again and again: for systems that give orphans to nobody but init.

What is seen once is remembered with its session, and ended with it. What forks twice between two looks is not seen; if
it keeps the environment it was given, the sweep still finds it by that (`aigon.process.survivors`).
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field

from aigon.process.running import Started, lives, start_of

LOOK_SECONDS = 0.05
"""Between two looks: a look takes a few milliseconds, and a daemon about as long to leave its parents."""


@dataclass(slots=True)
class Followed:
    """A program, by its number, and everything that was seen to descend from it."""

    pid: int
    seen: set[Started] = field(default_factory=set)
    sessions: set[int] = field(default_factory=set)
    next: float = 0.0

    def look(self) -> None:
        """See what it has started by now."""
        now = time.monotonic()
        if now < self.next:
            return
        import psutil

        self.next = now + LOOK_SECONDS
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.pid).children(recursive=True):
                self._remember(child.pid)

    def _remember(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            self.sessions.add(os.getsid(pid))
            self.seen.add(Started(pid, start_of(pid)))

    def end(self) -> None:
        """Kill what was seen, and what is in one of its sessions by now. The program itself is over."""
        import psutil

        others = {pid for pid in psutil.pids() if _session(pid) in self.sessions - {os.getsid(0)}}
        known = {one.pid for one in self.seen if lives(one)}
        for pid in (others | known) - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1
