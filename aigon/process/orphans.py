"""End what a program left behind, whatever it did to hide.

On Linux aigon is a child subreaper: it inherits what left its session and lost its parent, and a sweep ends that.
Elsewhere descendants are tracked while a program runs. What a killed aigon left is found by its note
(`aigon.process.running`) and by its mark in the environment of processes.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from aigon.files.locks import read_start
from aigon.process.running import Invocation, StartedProcess, is_alive, read_parent

SUBREAPER = sys.platform.startswith("linux")
"""Whether this system gives orphans to a process that asked for them."""
PR_SET_CHILD_SUBREAPER = 36
"""From <linux/prctl.h>."""
SWEEP_SECONDS = 5.0
PAUSE_SECONDS = 0.001
"""Between two looks at processes that have been sent SIGKILL: they need about that long to end."""
ENDING_STEPS = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""The signals that a survivor gets, each with the seconds that it then has."""
SURVIVOR_PAUSE_SECONDS = 0.01
TRACK_SECONDS = 0.05
"""Between two looks at descendants: a look takes milliseconds, a daemon about as long to leave its parents."""
kept: set[int] = set()
"""Children that a sweep leaves alone: the processes that start programs for this one."""


def adopt_orphans(*, adopt: bool = True) -> bool:
    """Become the reaper of every descendant, or stop being it; return False if the system has no such thing."""
    if not SUBREAPER:
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0) == 0)


@contextmanager
def contain_descendants() -> Iterator[None]:
    """End what is started in here and still runs at the end; leave alone what ran before.

    For programs that run before a loop. This process must not stay the reaper, or the watchdog that is started later
    would be a descendant.
    """
    before = frozenset(list_descendants())
    adopt_orphans()
    try:
        yield
    finally:
        limit = time.monotonic() + SWEEP_SECONDS
        while time.monotonic() < limit and (new := [pid for pid in list_descendants() if pid not in before]):
            for pid in new:
                _kill(pid)
                with contextlib.suppress(ChildProcessError):  # a grandchild becomes a child once its parent is gone
                    os.waitpid(pid, os.WNOHANG)  # never -1: the exit code of another child is not taken away
            time.sleep(PAUSE_SECONDS)
        adopt_orphans(adopt=False)


def sweep() -> int:
    """Kill and reap every descendant until none is left; return how many there were.

    Call it only while no other program of aigon's runs: an orphan has no owner. A process that may not be killed, such
    as one of another user, is not waited for beyond SWEEP_SECONDS.
    """
    ended: set[int] = set()
    limit = time.monotonic() + SWEEP_SECONDS
    # waitpid does not tell whether another child than those kept is left. Their list does, as only waitpid shortens it.
    while time.monotonic() < limit and not (kept and {*list_children()} == kept):
        living = [pid for pid in list_descendants() if not is_zombie(pid)]
        for pid in living:
            _kill(pid)
        ended.update(living)
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                kept.discard(pid)
        except ChildProcessError:  # only waitpid knows for certain that no child is left
            break
        time.sleep(PAUSE_SECONDS)
    return len(ended)


def list_children(pid: int | str = "self") -> list[int]:
    """Return the direct children of all threads of a process; none if it is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - on the hot path
    except OSError:
        return []
    children: list[int] = []
    for task in tasks:
        try:
            file = os.open(f"/proc/{pid}/task/{task}/children", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        with open(file, "rb", buffering=0) as opened, contextlib.suppress(OSError):  # noqa: PTH123 - of a handle
            children += map(int, opened.readall().split())
    return children


def list_descendants() -> list[int]:
    """Return every living descendant but those that are kept, the deepest last."""
    if not Path("/proc/self/task").exists():
        import psutil

        return [child.pid for child in psutil.Process().children(recursive=True)]
    descendants = [pid for pid in list_children() if pid not in kept]
    for pid in descendants:
        descendants += list_children(pid)
    return descendants


def is_zombie(pid: int) -> bool:
    """Return whether a process is dead and waits to be collected: that is no survivor."""
    try:
        return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def end_leftovers_of_run(run_id: str) -> int:
    """Kill the processes of a run whose aigon was killed, by AIGON_RUN in their environment; return how many."""
    return len(_end_all(lambda: _find_marked("AIGON_RUN", run_id), ENDING_STEPS[-1:]))


def end_marked_survivors(invocation: str) -> int:
    """Kill what carries the mark of an invocation that is still at work; return how many processes there were."""
    return len(_end_all(lambda: _find_marked("AIGON_INVOCATION", invocation, offspring=True), ENDING_STEPS[-1:]))


def end_survivors(about: Invocation) -> int:
    """End every survivor of an invocation, and what it starts meanwhile; return how many are gone."""
    return sum(not is_alive(process) for process in _end_all(lambda: set(find_survivors(about)), ENDING_STEPS))


def find_survivors(about: Invocation) -> tuple[StartedProcess, ...]:
    """Return the living processes that the invocation started, except this one and its ancestors.

    Its own are those that its note names (by number and start), those with its mark, and all their descendants.
    """
    sessions = {process.pid for process in about.sessions if is_alive(process)}
    family = _find_marked("AIGON_INVOCATION", about.invocation, sessions, offspring=True)
    return tuple(sorted(family, key=lambda process: process.pid))


def _find_marked(name: str, value: str, more: Iterable[int] = (), *, offspring: bool = False) -> set[StartedProcess]:
    """Return the processes with this variable in their environment, and `more`; also their `offspring` if wanted.

    This process and its ancestors are left out. A process that hides its environment is not found.
    """
    parents = _read_parents()
    family = {*more, *(pid for pid in parents if read_variable(pid, name) == value)}
    while offspring and (children := {pid for pid, parent in parents.items() if parent in family} - family):
        family |= children
    pid, lineage = os.getpid(), {0, 1}
    while pid not in lineage:
        lineage.add(pid)
        pid = parents.get(pid, 0)
    return {StartedProcess(pid, start) for pid in family - lineage if (start := read_start(pid))}


def list_lineage(pid: int | None = None) -> tuple[StartedProcess, ...]:
    """Return this process, or `pid`, and its ancestors, the nearest first, as far as the system shows them."""
    lineage: list[StartedProcess] = []
    pid = pid or os.getpid()
    while pid and pid not in [process.pid for process in lineage]:
        lineage.append(StartedProcess(pid, read_start(pid)))
        pid = read_parent(pid)
    return tuple(lineage)


def _read_parents() -> dict[int, int]:
    import psutil

    return {process.pid: process.info["ppid"] or 0 for process in psutil.process_iter(["ppid"])}


def read_variable(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process was started with, as far as the system shows it."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(name)
    except psutil.Error:
        return None


def _end_all(
    find: Callable[[], set[StartedProcess]], steps: Iterable[tuple[signal.Signals, float]]
) -> set[StartedProcess]:
    """Send these signals in turn until nothing is found any more; return everything that was found."""
    ended: set[StartedProcess] = set()
    for number, seconds in steps:
        limit = time.monotonic() + seconds
        signalled: set[StartedProcess] = set()
        while (living := find()) and time.monotonic() < limit:
            ended |= living
            _signal_each(living if number == signal.SIGKILL else living - signalled, number)
            signalled |= living
            time.sleep(SURVIVOR_PAUSE_SECONDS)
    return ended


def _signal_each(processes: Iterable[StartedProcess], number: signal.Signals) -> None:
    """Signal these, and no process that has got the number of one since: a pidfd keeps to its process."""
    for process in processes:
        with contextlib.suppress(OSError):
            if not hasattr(os, "pidfd_open"):
                if is_alive(process):
                    os.kill(process.pid, number)
                continue
            fd = os.pidfd_open(process.pid)
            try:
                if is_alive(process):
                    signal.pidfd_send_signal(fd, number)
            finally:
                os.close(fd)


def read_command_line(pid: int) -> str:
    """Return the command line of a process, its bare name if it has none, "" if it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""


class DescendantTracker(Struct):
    """Everything that was seen to descend from the program `pid`, for systems that give orphans only to init.

    What forks twice between two looks is missed; if it keeps its environment, its mark still shows it.
    """

    pid: int
    seen: set[StartedProcess] = field(default_factory=set)
    sessions: set[int] = field(default_factory=set)
    next: float = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now < self.next:
            return
        import psutil

        self.next = now + TRACK_SECONDS
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(OSError):
                    self.sessions.add(os.getsid(child.pid))
                    self.seen.add(StartedProcess(child.pid, read_start(child.pid)))

    def end(self) -> None:
        """Kill what was seen, and what is in one of its sessions now, once the program itself has ended."""
        import psutil

        pids = {process.pid for process in self.seen if is_alive(process)}
        for pid in psutil.pids():
            with contextlib.suppress(OSError):
                if os.getsid(pid) in self.sessions - {os.getsid(0)}:
                    pids.add(pid)
        for pid in pids - {os.getpid()}:
            _kill(pid)
