"""Notes of every aigon at work on this machine, by repository, and the lock of every loop.

    <home>/running/<invocation>.json
    <home>/running/<invocation>.stop      another aigon asks this one to end: `finish` the iteration, or `now`

A note lasts as long as its invocation: if that aigon is gone, it was killed. Notes are not flushed, as nothing of them
runs after a power cut. A process is known by number and start time, since numbers are reused.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from aigon.files.atomic import write_view
from aigon.files.locks import identify_machine, is_locked, read_start
from aigon.text.patterns import compile_re

FOLDER = "running"
QUEUES = {"watch": "aigon watch", "queue": "aigon run start"}
"""What a note calls these commands instead of a feature."""
StopRequest = Literal["finish", "now"]
"""How an aigon is asked to end: as by the first Ctrl+C, or as by the second."""
SCHEMA_VERSION = 1


class StartedProcess(Struct, frozen=True):
    """A process by its number and its start, as the system counts it."""

    pid: int
    start: str


class Invocation(Struct, frozen=True):
    """One aigon that works on a feature, and the leaders of the sessions that it has not ended.

    `machine` tells this boot of this machine or container from any other. `since` is for people.
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


class RunningNote(Struct):
    """The note of this process; without `path` and `about` nothing is written. Errors of the disk are ignored."""

    path: Path | None = None
    about: Invocation | None = None
    _lock: Lock = field(default_factory=Lock)

    @property
    def request(self) -> Path | None:
        """The file in which others ask this process to end."""
        return find_request_file(self.path) if self.path else None

    def record_start(self, pid: int) -> None:
        """Record a program that leads the session `pid`."""
        with self._lock:
            if self.path and self.about:
                started = StartedProcess(pid, read_start(pid))
                self.about = replace(self.about, sessions=(*self.about.sessions, started))
                write_note(self.path, self.about)

    def over(self) -> None:
        """Forget the programs. The note on disk may still name them: no later process is taken for one of them."""
        with self._lock:
            if self.about:
                self.about = replace(self.about, sessions=())


@contextmanager
def keep_note(home: Path, invocation: str, run_id: str, feature: str, label: str) -> Iterator[RunningNote]:
    """Keep a note about this process for as long as the context lasts."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    me = StartedProcess(os.getpid(), read_start(os.getpid()))
    about = Invocation(invocation, run_id, feature, label, os.uname().nodename, identify_machine(), me, since)
    path = home / FOLDER / f"{invocation}.json"
    write_note(path, about)
    try:
        yield RunningNote(path, about)
    finally:
        remove_note(path)


def remove_note(note: Path) -> None:
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        find_request_file(note).unlink(missing_ok=True)


def find_request_file(note: Path) -> Path:
    return note.with_suffix(".stop")


def request_stop(note: Path, how: StopRequest) -> None:
    """Ask the aigon of a note to end; `now` is never weakened to `finish`. Raises OSError."""
    file = find_request_file(note)
    if read_request(file) != "now":
        temporary = file.with_name(f"{file.name}.tmp")
        temporary.write_text(how)
        temporary.replace(file)
    if not note.exists():  # it has just ended
        remove_note(note)


def read_request(file: Path) -> StopRequest | None:
    try:
        with open(file) as opened:  # noqa: PTH123 - on the hot path
            how = opened.read(10)
    except OSError:
        return None
    return how if how in ("finish", "now") else None  # type: ignore[return-value]


def write_note(path: Path, about: Invocation) -> None:
    """Write a note whole or not at all, and ignore a full disk: others report that."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        write_view(path, json.dumps({"schema_version": SCHEMA_VERSION, **to_builtins(about)}))


def list_notes(home: Path) -> list[Path]:
    try:
        names = os.listdir(home / FOLDER)  # noqa: PTH208 - every command looks
    except OSError:
        return []
    return [home / FOLDER / name for name in sorted(names) if name.endswith(".json")]


def read_notes(home: Path) -> list[tuple[Path, Invocation]]:
    """Return every note that can be read, with its file."""
    return [(note, about) for note in list_notes(home) if (about := read_note(note))]


def list_queues(home: Path) -> list[Invocation]:
    """Return what watches folders or works through the backlog now."""
    return [about for _, about in read_notes(home) if about.feature in QUEUES and is_alive(about.loop)]


def read_note(path: Path) -> Invocation | None:
    """Return a note; None if it is gone, cut off, or of another version."""
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        if document.pop("schema_version") != SCHEMA_VERSION:
            return None
        loop, *sessions = (
            StartedProcess(int(process["pid"]), str(process["start"]))
            for process in (document.pop("loop"), *document.pop("sessions"))
        )
        texts = {name: str(value) for name, value in document.items()}
        return Invocation(**texts, loop=loop, sessions=tuple(sessions))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def is_on_this_machine(about: Invocation) -> bool:
    """Return whether this process sees the processes of a note under their numbers."""
    return about.host == os.uname().nodename and about.machine == identify_machine()


def is_from_earlier_boot(about: Invocation) -> bool:
    """Return whether a note is from an earlier boot of this machine: none of its processes runs any more."""
    boot = identify_machine().partition("/")[0]
    return about.host == os.uname().nodename and about.machine.partition("/")[0] != boot


def is_alive(process: StartedProcess) -> bool:
    """Return whether that very process still runs."""
    return bool(process.start) and read_start(process.pid) == process.start


def read_parent(pid: int) -> int | None:
    """Return the number of a process's parent; None if the process is gone."""
    import psutil

    try:
        return int(psutil.Process(pid).ppid())
    except psutil.Error:
        return None


SLACK = 5.0
"""Seconds by which a process may seem younger than its run: its age is counted from the start of the machine."""


def is_loop_alive(state: Mapping[str, Any], home: Path | None) -> bool:
    """Return whether the loop whose state says "running" still runs: its process exists and holds the feature's lock.

    If the lock cannot be asked, the process has to be as old as the run: numbers are reused.
    """
    if state.get("status") != "running" or state.get("host") != os.uname().nodename:
        return False
    pid = state.get("pid")
    if not isinstance(pid, int) or pid <= 0 or not _process_exists(pid):
        return False
    lock = loop_lock(home, str(state.get("feature_id")), str(state.get("label") or "")) if home else None
    held = is_locked(lock) if lock else None
    return _is_old_enough(pid, str(state.get("started_at"))) if held is None else held


LOOP_LOCK = compile_re(r"/locks/feature-[^/]+\.lock(?: \(deleted\))?$")
"""How the path of a lock that a loop holds ends, as the system shows it of an open file."""


def loop_lock(home: Path, feature: str, label: str = "") -> Path:
    """Return the lock that a loop on the feature holds; each candidate, called `label`, has its own."""
    return home / "locks" / f"feature-{feature}{f'-{label}' if label else ''}.lock"


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
