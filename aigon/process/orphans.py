"""End what a program left behind: descendants, what was seen to descend, and what carries aigon's mark."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.locks import read_start
from aigon.process.running import Invocation, StartedProcess, is_alive

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
def contain_descendants() -> Iterator[None]:
    """Of what is started in here nothing outlives it, and what ran before is let be.

    For a program that runs before any loop: it must not be one's reaper for good, or the guardian that is posted later
    would be a descendant.
    """
    before = frozenset(list_descendants())
    adopt_orphans()
    try:
        yield
    finally:
        _sweep_new(before)
        adopt_orphans(adopt=False)


def _sweep_new(before: frozenset[int]) -> None:
    """End every descendant but these, and collect those: nobody else's exit code is taken away."""
    limit = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < limit and (living := [pid for pid in list_descendants() if pid not in before]):
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # a grandchild: it is one's own once its parent is gone
                os.waitpid(pid, os.WNOHANG)
        time.sleep(PAUSE_SECONDS)


def list_children(pid: int | str = "self") -> list[int]:
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


def list_descendants() -> list[int]:
    """Every living descendant, deepest last."""
    if not Path("/proc/self/task").exists():
        import psutil

        return [child.pid for child in psutil.Process().children(recursive=True)]
    found = list_children()
    for pid in found:
        found += list_children(pid)
    return found


def sweep() -> int:
    """Kill and reap every descendant until none is left; how many were found. Call it where no other phase runs."""
    ended: set[int] = set()
    limit = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < limit:
        living = [pid for pid in list_descendants() if not is_zombie(pid)]
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


def end_leftovers_of_run(run_id: str) -> int:
    """Kill what a killed aigon left running for `run_id`, known by AIGON_RUN in its environment; how many there were.

    They are not this process's children any more. Only where the system shows environments as files (Linux).
    """
    ended: set[int] = set()
    limit = time.monotonic() + SWEEP_SECONDS
    while (living := _list_marked(f"AIGON_RUN={run_id}".encode())) and time.monotonic() < limit:
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(living)
        time.sleep(PAUSE_SECONDS)
    return len(ended)


def _list_marked(mark: bytes) -> list[int]:
    """Living processes with `mark` in their environment, but for this one and those it runs in."""
    spared = _read_own_lineage()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if int(entry.parent.name) not in spared and mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


def _read_own_lineage() -> set[int]:
    """This process and its ancestors."""
    import psutil

    return {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}


ENDING_STEPS = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""What a survivor gets, and for how many seconds it is waited for afterwards."""
SURVIVOR_PAUSE_SECONDS = 0.01


def find_survivors(about: Invocation) -> tuple[StartedProcess, ...]:
    """The living processes that the invocation started, but for this one and those that it runs in."""
    marked = f"AIGON_INVOCATION={about.invocation}"
    named = {one.pid for one in about.sessions if is_alive(one)}
    everybody = _list_parents()
    roots = named | {pid for pid in everybody if marked in _read_environment(pid)}
    spared = _list_lineage(everybody)
    found = sorted(_add_descendants(roots, everybody) - spared) if roots else []
    return tuple(StartedProcess(pid, start) for pid in found if (start := read_start(pid)))


def _list_parents() -> dict[int, int]:
    """Every process by number, with the number of its parent."""
    if not Path("/proc/self/stat").exists():
        import psutil

        return {one.pid: one.info["ppid"] or 0 for one in psutil.process_iter(["ppid"])}
    return dict(_read_parents())


def _read_parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(name), int(Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[1])


def _read_environment(pid: int) -> list[str]:
    """Empty where it may not be seen, as that of another person's process."""
    if sys.platform.startswith("linux"):
        try:
            return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return []
    import psutil

    try:
        return [f"{name}={value}" for name, value in psutil.Process(pid).environ().items()]
    except psutil.Error:
        return []


def read_command_line(pid: int) -> str:
    """The words of its command line; its bare name where it has none, "" where it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""


def _add_descendants(roots: set[int], parents: Mapping[int, int]) -> set[int]:
    """These and everything that descends from them."""
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _list_lineage(parents: Mapping[int, int]) -> set[int]:
    """This process and those that it runs in."""
    pid, found = os.getpid(), {0, 1}
    while pid not in found:
        found.add(pid)
        pid = parents.get(pid, 0)
    return found


def end_marked_survivors(invocation: str) -> int:
    """Kill what has the mark of an invocation that is at work itself: this one's, where no other phase runs."""
    me = StartedProcess(os.getpid(), read_start(os.getpid()))
    about = Invocation(invocation, "", "", "", "", "", me, "")
    limit = time.monotonic() + ENDING_STEPS[-1][1]
    ended: set[StartedProcess] = set()
    while (found := set(find_survivors(about))) and time.monotonic() < limit:
        ended |= found
        _signal_each(found, signal.SIGKILL)
        time.sleep(SURVIVOR_PAUSE_SECONDS)
    return len(ended)


def end_survivors(about: Invocation) -> int:
    """End every survivor, and what it starts meanwhile; how many are gone."""
    seen: set[StartedProcess] = set()
    for number, seconds in ENDING_STEPS:
        limit = time.monotonic() + seconds
        told: set[StartedProcess] = set()
        while (left := set(find_survivors(about))) and time.monotonic() < limit:
            seen |= left
            _signal_each(left - told if number != signal.SIGKILL else left, number)
            told |= left
            time.sleep(SURVIVOR_PAUSE_SECONDS)
    return sum(not is_alive(one) for one in seen)


def _signal_each(whom: Iterable[StartedProcess], number: signal.Signals) -> None:
    """Signal these, and nobody who was given the number of one since: a pidfd stays that of the process it was for."""
    for one in whom:
        with contextlib.suppress(OSError):
            if not hasattr(os, "pidfd_open"):
                if is_alive(one):
                    os.kill(one.pid, number)
                continue
            fd = os.pidfd_open(one.pid)
            try:
                if is_alive(one):
                    signal.pidfd_send_signal(fd, number)
            finally:
                os.close(fd)


LOOK_SECONDS = 0.05
"""Between two looks: a look takes a few milliseconds, and a daemon about as long to leave its parents."""


@dataclass(slots=True)
class DescendantTracker:
    """A program, by its number, and everything that was seen to descend from it."""

    pid: int
    seen: set[StartedProcess] = field(default_factory=set)
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
            self.seen.add(StartedProcess(pid, read_start(pid)))

    def end(self) -> None:
        """Kill what was seen, and what is in one of its sessions by now. The program itself is over."""
        import psutil

        others = {pid for pid in psutil.pids() if _read_session(pid) in self.sessions - {os.getsid(0)}}
        known = {one.pid for one in self.seen if is_alive(one)}
        for pid in (others | known) - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _read_session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1
