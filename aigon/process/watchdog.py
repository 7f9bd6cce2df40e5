"""Notice that a parent is gone: the watchdog that outlives a killed aigon, and a child that watches standard input."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aigon.process import run
from aigon.process.running import RunningNote

_WAIT_SCRIPT = r"""
sessions=
while IFS= read -r line; do
    case $line in
        "begun "*) sessions="$sessions ${line#begun }" ;;
        over) sessions= ;;
        farewell) exit 0 ;;
    esac
done
exec "$0" -I -S -c "$1" "$2" $sessions
"""
"""A shell waits, since it is there in a thirtieth of the time that an interpreter takes; `$0` is that interpreter."""
_END_SCRIPT = r"""
import os, signal, sys, time
mark, sessions = b"AIGON_INVOCATION=" + os.fsencode(sys.argv[1]), set(map(int, sys.argv[2:]))
def marked(name):
    with open("/proc/" + name + "/environ", "rb") as file:
        return mark in file.read().split(b"\0")
def left():
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(name) != os.getpid():
                with open("/proc/" + name + "/stat", "rb") as file:
                    state, _, _, session = file.read().rpartition(b")")[2].split()[:4]
                # The session first: what hides its environment (ssh-agent does) cannot be asked for the mark.
                if state != b"Z" and (int(session) in sessions or marked(name)):
                    yield int(name)
        except (OSError, ValueError):
            pass
limit = time.monotonic() + 10
while time.monotonic() < limit and (found := list(left())):
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.005)
"""


@dataclass(slots=True)
class Watchdog:
    """The end of the pipe that aigon holds; None where there is no guardian. What it is told is noted down as well."""

    pipe: int | None = None
    running: RunningNote = field(default_factory=RunningNote)

    def begun(self, pid: int) -> None:
        """A program was started that leads the session `pid`. Any thread may say so."""
        self._say(f"begun {pid}")
        self.running.begun(pid)

    def over(self) -> None:
        """All programs are over and swept: their numbers may be others' soon."""
        self._say("over")
        self.running.over()

    def farewell(self) -> None:
        """All is in order: the guardian may go without doing anything."""
        self._say("farewell")
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None

    def _say(self, line: str) -> None:
        if self.pipe is not None:
            with contextlib.suppress(OSError):  # a guardian that somebody ended is no reason to stop
                os.write(self.pipe, f"{line}\n".encode())


@contextmanager
def run_watchdog(invocation: str, running: RunningNote | None = None) -> Iterator[Watchdog]:
    """A guardian over what `invocation` starts, for as long as the context lasts. Only where there is /proc.

    It knows its own by AIGON_INVOCATION in their environment. Not by the run: a resume goes on under the same one.
    `running` is the note about what runs.
    """
    guardian = _start_watchdog(invocation) if sys.platform.startswith("linux") else Watchdog()
    guardian.running = running or RunningNote()
    try:
        yield guardian
    finally:
        guardian.farewell()


def _start_watchdog(invocation: str) -> Watchdog:
    read, write = os.pipe()
    try:
        there = run.start_detached(["/bin/sh", "-c", _WAIT_SCRIPT, sys.executable, _END_SCRIPT, invocation], stdin=read)
    finally:
        os.close(read)
    if not there:
        os.close(write)
        return Watchdog()
    return Watchdog(write)


CHUNK = 4096


def end_this_process() -> None:
    """As a SIGTERM from outside would: the run ends at once, and its state is saved."""
    os.kill(os.getpid(), signal.SIGTERM)


def watch_parent(on_gone: Callable[[], None] = end_this_process) -> None:
    """Call `on_gone`, in a thread of its own, once standard input is at its end."""
    threading.Thread(target=_wait_for_end_of_input, args=(on_gone,), daemon=True, name="parent").start()


def _wait_for_end_of_input(on_gone: Callable[[], None]) -> None:
    try:
        while os.read(0, CHUNK):
            pass
    except OSError:
        pass  # an input that cannot be read is held by nobody either
    on_gone()
