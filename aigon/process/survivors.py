"""What an aigon that was killed left running, found by its note, and ended; never a process of somebody else.

A process is one of its own where it is the very one that the note names (by number and start), where it has the mark
of the invocation in its environment, or where it descends from such a one. What was scrubbed of its mark, left its
session and lost its parent cannot be told from anybody's: only the guardian and the sweep get those.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from aigon.process.running import Invocation, Started, lives, start_of

LADDER = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""What a survivor gets, and for how many seconds it is waited for afterwards."""
PAUSE = 0.01


def survivors(about: Invocation) -> tuple[Started, ...]:
    """The living processes that the invocation started, but for this one and those that it runs in."""
    marked = f"AIGON_INVOCATION={about.invocation}"
    named = {one.pid for one in about.sessions if lives(one)}
    everybody = _everybody()
    roots = named | {pid for pid in everybody if marked in _environment(pid)}
    spared = _lineage(everybody)
    found = sorted(_family(roots, everybody) - spared) if roots else []
    return tuple(Started(pid, start) for pid in found if (start := start_of(pid)))


def _everybody() -> dict[int, int]:
    """Every process by number, with the number of its parent."""
    if not Path("/proc/self/stat").exists():
        import psutil

        return {one.pid: one.info["ppid"] or 0 for one in psutil.process_iter(["ppid"])}
    return dict(_parents())


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(name), int(Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[1])


def _environment(pid: int) -> list[str]:
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


def command_line(pid: int) -> str:
    """The words of its command line; its bare name where it has none, "" where it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""


def _family(roots: set[int], parents: Mapping[int, int]) -> set[int]:
    """These and everything that descends from them."""
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _lineage(parents: Mapping[int, int]) -> set[int]:
    """This process and those that it runs in."""
    pid, found = os.getpid(), {0, 1}
    while pid not in found:
        found.add(pid)
        pid = parents.get(pid, 0)
    return found


def end_marked(invocation: str) -> int:
    """Kill what has the mark of an invocation that is at work itself: this one's, where no other phase runs."""
    me = Started(os.getpid(), start_of(os.getpid()))
    about = Invocation(invocation, "", "", "", "", "", me, "")
    limit = time.monotonic() + LADDER[-1][1]
    ended: set[Started] = set()
    while (found := set(survivors(about))) and time.monotonic() < limit:
        ended |= found
        _tell(found, signal.SIGKILL)
        time.sleep(PAUSE)
    return len(ended)


def end(about: Invocation) -> int:
    """End every survivor, and what it starts meanwhile; how many are gone."""
    seen: set[Started] = set()
    for number, seconds in LADDER:
        limit = time.monotonic() + seconds
        told: set[Started] = set()
        while (left := set(survivors(about))) and time.monotonic() < limit:
            seen |= left
            _tell(left - told if number != signal.SIGKILL else left, number)
            told |= left
            time.sleep(PAUSE)
    return sum(not lives(one) for one in seen)


def _tell(whom: Iterable[Started], number: signal.Signals) -> None:
    """Signal these, and nobody who was given the number of one since: a pidfd stays that of the process it was for."""
    for one in whom:
        with contextlib.suppress(OSError):
            if not hasattr(os, "pidfd_open"):
                if lives(one):
                    os.kill(one.pid, number)
                continue
            fd = os.pidfd_open(one.pid)
            try:
                if lives(one):
                    signal.pidfd_send_signal(fd, number)
            finally:
                os.close(fd)
