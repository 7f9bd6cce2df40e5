"""Notice that a parent is gone: the watchdog that outlives a killed aigon, and a child that watches standard input.

If the loop is killed with SIGKILL (by a person, or by the kernel for lack of memory), its agent would work on, paid for
and unattended. The watchdog waits at a pipe whose other end only aigon holds: if it ends without a farewell, aigon is
gone and the watchdog kills what it left. It starts before aigon adopts orphans, so that no sweep ends it.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from aigon.process.running import RunningNote

_DETACH_SCRIPT = 'exec 3<&0; "$@" <&3 3<&- & exec 3<&-'
"""The shell exits at once: what it started is then a child of init, or of a reaper above aigon."""
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
"""A shell waits: it starts thirty times as fast as the interpreter, which `$0` names."""
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
                # The session first: a process that hides its environment (ssh-agent) cannot be asked for the mark.
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


class Watchdog(Struct):
    """The end of the pipe that aigon holds, None without a watchdog. What it is told is noted in `running`, too."""

    pipe: int | None = None
    running: RunningNote = field(default_factory=RunningNote)

    def record_start(self, pid: int) -> None:
        """Record a program that leads the session `pid`; safe to call from any thread."""
        self._say(f"begun {pid}")
        self.running.record_start(pid)

    def over(self) -> None:
        """Record that all programs have ended and were swept: their numbers may be reused."""
        self._say("over")
        self.running.over()

    def farewell(self) -> None:
        """Let the watchdog go without ending anything."""
        self._say("farewell")
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None

    def _say(self, line: str) -> None:
        if self.pipe is not None:
            with contextlib.suppress(OSError):  # a watchdog that somebody ended is no reason to stop
                os.write(self.pipe, f"{line}\n".encode())


@contextmanager
def run_watchdog(invocation: str, running: RunningNote | None = None) -> Iterator[Watchdog]:
    """Watch over what `invocation` starts for as long as the context lasts, on systems with /proc.

    The watchdog knows its processes by AIGON_INVOCATION, not by the run: a resume continues the same run.
    """
    watchdog = Watchdog(_start_watchdog(invocation) if sys.platform.startswith("linux") else None)
    watchdog.running = running or RunningNote()
    try:
        yield watchdog
    finally:
        watchdog.farewell()


def _start_watchdog(invocation: str) -> int | None:
    """Start a watchdog that is no descendant of this process; return the pipe to it, None if it did not start."""
    argv = [
        "/bin/sh",
        "-c",
        _DETACH_SCRIPT,
        "sh",
        "/bin/sh",
        "-c",
        _WAIT_SCRIPT,
        sys.executable,
        _END_SCRIPT,
        invocation,
    ]
    null = subprocess.DEVNULL
    read, write = os.pipe()
    try:
        done = subprocess.run(argv, stdin=read, stdout=null, stderr=null, env={}, cwd="/", start_new_session=True)
        if done.returncode == 0:
            return write
    except OSError:
        pass
    finally:
        os.close(read)
    os.close(write)
    return None


def watch_parent(silence: float | None = None) -> None:
    """Send this process a SIGTERM once standard input ends, which only the parent holds open: the run ends at once.

    With `silence` a parent that has said nothing for so many seconds is gone, too: it may be stopped.
    """

    def wait() -> None:
        with contextlib.suppress(OSError):  # an input that cannot be read is held by nobody either
            while select.select([0], [], [], silence)[0] and os.read(0, 4096):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True, name="parent").start()
