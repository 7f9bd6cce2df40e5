"""A process that outlives a killed aigon by a moment, to end what aigon can no longer end.

Whoever kills the loop with SIGKILL (a person, the kernel when memory is out) leaves an agent working on, paid for and
watched by nobody. The guardian waits at a pipe whose other end only aigon holds: end-of-file without a farewell means
that aigon is gone. It is started before aigon adopts orphans, so it is no descendant that a sweep would end.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aigon.process import run
from aigon.process.running import Running

_WAIT = r"""
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
_END = r"""
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
class Guardian:
    """The end of the pipe that aigon holds; None where there is no guardian. What it is told is noted down as well."""

    pipe: int | None = None
    running: Running = field(default_factory=Running)

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
def guarded(invocation: str, running: Running | None = None) -> Iterator[Guardian]:
    """A guardian over what `invocation` starts, for as long as the context lasts. Only where there is /proc.

    It knows its own by AIGON_INVOCATION in their environment. Not by the run: a resume goes on under the same one.
    `running` is the note about what runs.
    """
    guardian = _posted(invocation) if sys.platform.startswith("linux") else Guardian()
    guardian.running = running or Running()
    try:
        yield guardian
    finally:
        guardian.farewell()


def _posted(invocation: str) -> Guardian:
    read, write = os.pipe()
    try:
        there = run.detached(["/bin/sh", "-c", _WAIT, sys.executable, _END, invocation], stdin=read)
    finally:
        os.close(read)
    if not there:
        os.close(write)
        return Guardian()
    return Guardian(write)
