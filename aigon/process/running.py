"""What runs on this machine for a repository: a note for every aigon that works on one, and for what that started.

    <home>/running/<invocation>.json
    <home>/running/<invocation>.stop      another aigon asks this one to end: `finish` the iteration, or `now`

A note is there from the start of an invocation to its end; one whose aigon is gone says that it was killed. It is not
flushed: after a power cut nothing of it runs any more. A process is known by its number and by when it started, since
numbers are given out anew.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

FOLDER = "running"
Request = Literal["finish", "now"]
"""How an aigon is asked to end: as by the first Ctrl+C, or as by the second."""
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Started:
    """A process that was started: its number, and when, as the system says it (no clock that people read)."""

    pid: int
    start: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """One aigon that works on a feature: who and where it is, since when, and the leaders of sessions it has not ended.

    `machine` tells a boot of a machine, and a container on it, from any other. `since` is for people.
    """

    invocation: str
    run_id: str
    feature: str
    label: str
    host: str
    machine: str
    loop: Started
    since: str
    sessions: tuple[Started, ...] = ()


@dataclass(slots=True)
class Running:
    """The note of this process, kept up to date; None where there is none. What cannot be written hinders nothing."""

    path: Path | None = None
    about: Invocation | None = None
    _lock: Lock = field(default_factory=Lock)

    @property
    def request(self) -> Path | None:
        """The file in which others ask this process to end."""
        return request_of(self.path) if self.path else None

    def begun(self, pid: int) -> None:
        """A program was started that leads the session `pid`."""
        if self.about is not None:
            with self._lock:
                self._write((*self.about.sessions, Started(pid, start_of(pid))))

    def over(self) -> None:
        """What was started is over, and swept."""
        if self.about is not None and self.about.sessions:
            with self._lock:
                self._write(())

    def _write(self, sessions: tuple[Started, ...]) -> None:
        from dataclasses import replace

        assert self.about is not None and self.path is not None, "both or neither"
        self.about = replace(self.about, sessions=sessions)
        write(self.path, self.about)


@contextmanager
def noted(home: Path, invocation: str, run_id: str, feature: str, label: str) -> Iterator[Running]:
    """A note about this process, for as long as the context lasts."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    me = Started(os.getpid(), start_of(os.getpid()))
    about = Invocation(invocation, run_id, feature, label, socket.gethostname(), machine(), me, since)
    path = home / FOLDER / f"{invocation}.json"
    running = Running(path, about)
    write(path, about)
    try:
        yield running
    finally:
        forget(path)


def forget(note: Path) -> None:
    """Remove a note, and the request that belongs to it."""
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        request_of(note).unlink(missing_ok=True)


def request_of(note: Path) -> Path:
    """The file in which others ask the aigon of a note to end."""
    return note.with_suffix(".stop")


def request(note: Path, how: Request) -> None:
    """Ask the aigon of a note to end. What was asked for at once stays so. Raises OSError."""
    file = request_of(note)
    if requested(file) != "now":
        temporary = file.with_name(f"{file.name}.tmp")
        temporary.write_text(how)
        temporary.replace(file)
    if not note.exists():  # it has just ended
        forget(note)


def requested(file: Path) -> Request | None:
    """What is asked for in `file`; None for nothing."""
    try:
        with open(file) as opened:  # noqa: PTH123 - on the hot path
            how = opened.read(10)
    except OSError:
        return None
    return how if how in ("finish", "now") else None  # type: ignore[return-value]


def write(path: Path, about: Invocation) -> None:
    """The note, whole or not at all; a disk that takes no more is another's to speak of."""
    temporary = path.with_name(f"{path.name}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        temporary.write_text(json.dumps({"schema_version": SCHEMA_VERSION, **asdict(about)}))
        temporary.replace(path)


def notes(home: Path) -> list[Path]:
    """The notes that there are."""
    try:
        names = os.listdir(home / FOLDER)  # noqa: PTH208 - every command looks
    except OSError:
        return []
    return [home / FOLDER / name for name in sorted(names) if name.endswith(".json")]


def read(path: Path) -> Invocation | None:
    """A note; None for one that is gone, not whole, or of another version's making."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        if found.pop("schema_version") != SCHEMA_VERSION:
            return None
        loop, sessions = _started(found.pop("loop")), tuple(map(_started, found.pop("sessions")))
        return Invocation(**{name: str(value) for name, value in found.items()}, loop=loop, sessions=sessions)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _started(document: dict[str, Any]) -> Started:
    return Started(int(document["pid"]), str(document["start"]))


def here(about: Invocation) -> bool:
    """Whether the processes of a note are among those that this process can see by their numbers."""
    return about.host == socket.gethostname() and about.machine == machine()


def passed(about: Invocation) -> bool:
    """Whether they are of an earlier boot of this very machine: none of them runs any more."""
    return about.host == socket.gethostname() and about.machine.partition("/")[0] != machine().partition("/")[0]


def start_of(pid: int) -> str:
    """When a process started, in ticks since the boot (seconds since the epoch where there is no /proc).

    "" where it is gone or only waits to be collected.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a plain read
            fields = file.read().rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _asked(pid)


def parent_of(pid: int) -> int | None:
    """The number of a process's parent; None for one that is gone."""
    import psutil

    try:
        return int(psutil.Process(pid).ppid())
    except psutil.Error:
        return None


def _asked(pid: int) -> str:
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return ""


def lives(one: Started) -> bool:
    """Whether that very process is still there."""
    return bool(one.start) and start_of(one.pid) == one.start


@cache
def machine() -> str:
    """This boot of this machine, and, after a stroke, the space of process numbers that this process is in."""
    boot = space = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path
    return f"{boot}/{space}"
