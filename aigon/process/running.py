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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from aigon.files.locks import identify_machine, read_start

FOLDER = "running"
StopRequest = Literal["finish", "now"]
"""How an aigon is asked to end: as by the first Ctrl+C, or as by the second."""
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class StartedProcess:
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
    loop: StartedProcess
    since: str
    sessions: tuple[StartedProcess, ...] = ()


@dataclass(slots=True)
class RunningNote:
    """The note of this process, kept up to date; None where there is none. What cannot be written hinders nothing."""

    path: Path | None = None
    about: Invocation | None = None
    _lock: Lock = field(default_factory=Lock)

    @property
    def request(self) -> Path | None:
        """The file in which others ask this process to end."""
        return find_request_file(self.path) if self.path else None

    def begun(self, pid: int) -> None:
        """A program was started that leads the session `pid`."""
        if self.about is not None:
            with self._lock:
                self._write((*self.about.sessions, StartedProcess(pid, read_start(pid))))

    def over(self) -> None:
        """What was started is over, and swept."""
        if self.about is not None and self.about.sessions:
            with self._lock:
                self._write(())

    def _write(self, sessions: tuple[StartedProcess, ...]) -> None:
        from dataclasses import replace

        assert self.about is not None and self.path is not None, "both or neither"
        self.about = replace(self.about, sessions=sessions)
        write_note(self.path, self.about)


@contextmanager
def keep_note(home: Path, invocation: str, run_id: str, feature: str, label: str) -> Iterator[RunningNote]:
    """A note about this process, for as long as the context lasts."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    me = StartedProcess(os.getpid(), read_start(os.getpid()))
    about = Invocation(invocation, run_id, feature, label, socket.gethostname(), identify_machine(), me, since)
    path = home / FOLDER / f"{invocation}.json"
    running = RunningNote(path, about)
    write_note(path, about)
    try:
        yield running
    finally:
        remove_note(path)


def remove_note(note: Path) -> None:
    """Remove a note, and the request that belongs to it."""
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        find_request_file(note).unlink(missing_ok=True)


def find_request_file(note: Path) -> Path:
    """The file in which others ask the aigon of a note to end."""
    return note.with_suffix(".stop")


def request_stop(note: Path, how: StopRequest) -> None:
    """Ask the aigon of a note to end. What was asked for at once stays so. Raises OSError."""
    file = find_request_file(note)
    if read_request(file) != "now":
        temporary = file.with_name(f"{file.name}.tmp")
        temporary.write_text(how)
        temporary.replace(file)
    if not note.exists():  # it has just ended
        remove_note(note)


def read_request(file: Path) -> StopRequest | None:
    """What is asked for in `file`; None for nothing."""
    try:
        with open(file) as opened:  # noqa: PTH123 - on the hot path
            how = opened.read(10)
    except OSError:
        return None
    return how if how in ("finish", "now") else None  # type: ignore[return-value]


def write_note(path: Path, about: Invocation) -> None:
    """The note, whole or not at all; a disk that takes no more is another's to speak of."""
    temporary = path.with_name(f"{path.name}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        temporary.write_text(json.dumps({"schema_version": SCHEMA_VERSION, **asdict(about)}))
        temporary.replace(path)


def list_notes(home: Path) -> list[Path]:
    """The notes that there are."""
    try:
        names = os.listdir(home / FOLDER)  # noqa: PTH208 - every command looks
    except OSError:
        return []
    return [home / FOLDER / name for name in sorted(names) if name.endswith(".json")]


def read_note(path: Path) -> Invocation | None:
    """A note; None for one that is gone, not whole, or of another version's making."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        if found.pop("schema_version") != SCHEMA_VERSION:
            return None
        loop, sessions = _decode_process(found.pop("loop")), tuple(map(_decode_process, found.pop("sessions")))
        return Invocation(**{name: str(value) for name, value in found.items()}, loop=loop, sessions=sessions)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _decode_process(document: dict[str, Any]) -> StartedProcess:
    return StartedProcess(int(document["pid"]), str(document["start"]))


def is_on_this_machine(about: Invocation) -> bool:
    """Whether the processes of a note are among those that this process can see by their numbers."""
    return about.host == socket.gethostname() and about.machine == identify_machine()


def is_from_earlier_boot(about: Invocation) -> bool:
    """Whether they are of an earlier boot of this very machine: none of them runs any more."""
    return (
        about.host == socket.gethostname() and about.machine.partition("/")[0] != identify_machine().partition("/")[0]
    )


def read_parent(pid: int) -> int | None:
    """The number of a process's parent; None for one that is gone."""
    import psutil

    try:
        return int(psutil.Process(pid).ppid())
    except psutil.Error:
        return None


def is_alive(one: StartedProcess) -> bool:
    """Whether that very process is still there."""
    return bool(one.start) and read_start(one.pid) == one.start


SLACK = 5.0
"""Seconds by which a process may seem younger than its run: its age is counted from the start of the machine."""


def is_loop_alive(state: Mapping[str, Any], home: Path | None) -> bool:
    """Whether the loop that wrote "running" still is: its process is there and holds the feature's lock.

    A process number is given out anew after a while; where no lock can be asked, the process has to be as old as the
    run.
    """
    from aigon.files.locks import is_locked

    if state.get("status") != "running" or state.get("host") != socket.gethostname():
        return False
    pid = state.get("pid")
    if not isinstance(pid, int) or pid <= 0 or not _process_exists(pid):
        return False
    held = is_locked(_find_lock(home, state)) if home else None
    return _is_old_enough(pid, str(state.get("started_at"))) if held is None else held


def loop_lock(home: Path, feature: str, label: str = "") -> Path:
    """The lock that a loop on the feature holds; each agent in a worktree of its own, called `label`, has one."""
    return home / "locks" / f"feature-{feature}{f'-{label}' if label else ''}.lock"


def _find_lock(home: Path, state: Mapping[str, Any]) -> Path:
    return loop_lock(home, str(state.get("feature_id")), str(state.get("label") or ""))


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_old_enough(pid: int, since: str) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        dead = process.status() == psutil.STATUS_ZOMBIE
        return not dead and process.create_time() <= datetime.fromisoformat(since).timestamp() + SLACK
    except (psutil.Error, ValueError):
        return False
