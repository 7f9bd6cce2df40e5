"""Tell whether a person asks: nothing that a loop started may approve, merge, or stop anything.

aigon asks its own notes of running loops and the system's table of processes, never the words of a command line.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aigon.errors import AigonError, Exit
from aigon.files.home import list_homes
from aigon.files.locks import read_start
from aigon.process import running
from aigon.process.orphans import list_lineage, read_variable
from aigon.process.running import Invocation, StartedProcess

MARKS = ("AIGON_RUN", "AIGON_INVOCATION")
"""Variables that everything has which a loop starts, until it takes them out."""


def require_person(verb: str, yes: bool) -> None:
    """Raise AigonError (exit 4) inside a loop, and without a terminal unless `yes` was given outside of one."""
    require_outside_a_run(verb)
    require_terminal(verb, yes)


def require_outside_a_run(verb: str) -> None:
    """Raise AigonError (exit 4) inside a loop, whatever the options say."""
    if why := find_run_above():
        what = f"{verb} is for a person, and this is inside a run of the loop"
        raise AigonError(what, where=why, hint="Run it in your own shell", code=Exit.NEEDS_HUMAN)


def require_terminal(verb: str, yes: bool | None) -> None:
    """Raise AigonError (exit 4) if no person can be asked and `yes` was not given; None: the verb has no `--yes`."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        what = f"{verb} needs a person's answer, and there is no terminal to ask in"
        raise AigonError(
            what, hint="Run it in a terminal" + ("" if yes is None else ", or add --yes"), code=Exit.NEEDS_HUMAN
        )


def find_run_above(pid: int | None = None) -> str:
    """Return what shows that a loop started this process, or the one called `pid`; "" if nothing does.

    Its own environment and that of its ancestors, as far as the system shows it; then the notes: a loop above it, the
    leader of a session that a loop started, or such a session itself, which stays when its leader is gone; then locks
    that its ancestors hold. What loses its parents falls to the loop, which adopts orphans (Linux).
    """
    if pid is None and (mark := next((name for name in MARKS if os.environ.get(name)), "")):
        return f"{mark} is set"
    lineage = list_lineage(pid)
    for process in lineage[pid is None :]:
        if mark := next((name for name in MARKS if read_variable(process.pid, name)), ""):
            return f"process {process.pid}, which started this one, has {mark}"
    sessions = {_find_session(process.pid) for process in lineage}
    for about in _list_notes():
        # An arena or a queue (without a run) starts nothing but loops, some by a person's leave.
        if about.run_id and about.loop in lineage:
            return f"the loop on feature {about.feature} (process {about.loop.pid}) started this"
        if any(leader in lineage or _leads(leader, sessions) for leader in about.sessions):
            return f"the loop on feature {about.feature} started this session"
    # Without a sandbox an agent can delete notes and locks, but no lock that another process has open.
    if holder := next((process.pid for process in lineage[pid is None :] if _holds_loop_lock(process.pid)), 0):
        return f"process {holder}, which started this one, holds the lock of a loop"
    return ""


def _holds_loop_lock(pid: int) -> bool:
    """Return whether a process has the lock of a loop open, as far as the system shows it (Linux)."""
    opened = Path(f"/proc/{pid}/fd")
    with suppress(OSError):
        for name in os.listdir(opened):  # noqa: PTH208 - names alone
            with suppress(OSError):
                if running.LOOP_LOCK.search(os.readlink(opened / name)):  # noqa: PTH115 - a text
                    return True
    return False


def _list_notes() -> Iterator[Invocation]:
    """Yield the notes of all repositories whose processes have the numbers that this process sees."""
    for home in list_homes():
        yield from (about for _, about in running.read_notes(home) if running.is_on_this_machine(about))


def _leads(leader: StartedProcess, sessions: set[int]) -> bool:
    """Return whether `leader` leads one of these sessions: its number is free again only once the session is empty."""
    start = read_start(leader.pid)
    return leader.pid in sessions and start in ("", leader.start)


def _find_session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
