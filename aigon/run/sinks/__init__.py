"""Sinks: what receives the events of a run and writes something, for people or for later.

Those that ship for people share a file; a plug-in is a module with `open_sink(run: SinkContext)`. What that returns is
called with every event, in order, and closed at the end. It runs in parallel with the loop: it cannot delay or end a
run, and an error in it is logged.

    memory    what earlier attempts tried
    steps     the steps of each turn
    tasks     the criteria as tasks

A snapshot of the tasks next to the journal spares folding a journal of a thousand iterations again. It counts only for
the very bytes that it was made of: up to `position`, with their checksum. It is no record: without it, or if it does
not fit, the journal is folded from its start.
"""

import time
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path

from msgspec import Struct, convert, field, to_builtins

from aigon.errors import environment
from aigon.files.atomic import write_view
from aigon.files.checksums import damage_error, dump_with_sum, load_with_sum, parse_lines
from aigon.files.resources import Registry
from aigon.journal.events import Event, IterationFinished, RolledBack, RunFinished
from aigon.journal.records import Records
from aigon.journal.replay import CHUNK, decode_events
from aigon.journal.sinks import Observer
from aigon.journal.state import State, replay
from aigon.journal.state_file import EncodedIterations
from aigon.journal.steps import TurnHistory
from aigon.journal.tasks import Tasks

SINKS = Registry("aigon.sinks", __name__, "sink", {"files": "memory steps tasks"})


class RunPast(Struct, frozen=True):
    """The state of a run that goes on, and what its sinks have to know of the events so far."""

    state: State = field(default_factory=State)
    iterations: EncodedIterations = field(default_factory=EncodedIterations)
    turns: TurnHistory = field(default_factory=TurnHistory)


class SinkContext(Struct, frozen=True):
    """The run that a sink watches. `folder` is the run's folder in aigon's home; `past` what the run resumes; `toon`
    asks for tables in TOON.
    """

    feature: str
    label: str
    run_id: str
    root: Path
    folder: Path
    past: RunPast
    toon: bool = False


def open_sinks(run: SinkContext) -> Sequence[Observer]:
    """Return every sink. Raises AigonError (exit 2) for a plug-in that cannot be loaded, before any agent starts."""
    loaded = ((name, SINKS.load(name)) for name in SINKS.names())
    return [(getattr(module, f"open_{name}", None) or module.open_sink)(run) for name, module in loaded]


def replay_past(events: Iterable[Event]) -> RunPast:
    """Fold these events, oldest first. Each is released before the next one is asked for: a journal may be long."""
    state, iterations, turns = State(), EncodedIterations(), TurnHistory()
    for event in events:
        state = state.apply(event)
        iterations.take(event)
        turns.take(event)
    return RunPast(state, iterations, turns)


SNAPSHOT = "tasks-snapshot.json"
SECONDS_BETWEEN_WRITES = 1.0
"""What a second adds to a journal takes less to fold than a snapshot to write."""


class SnapshotSink:
    """Writes the snapshot after iterations, at most once in `apart` seconds, and at the end of a run.

    The journal has the event by then.
    """

    def __init__(self, journal: Path, apart: float = SECONDS_BETWEEN_WRITES) -> None:
        self._journal, self._position, self._checksum = journal, 0, 0
        self._apart, self._written = apart, -apart

    def __call__(self, event: Event, state: State) -> None:
        is_due = isinstance(event, IterationFinished) and time.monotonic() - self._written >= self._apart
        if is_due or isinstance(event, RunFinished):
            self._written = time.monotonic()
            with suppress(OSError):  # a full disk is reported by the sinks that must write
                self._write(state.tasks)

    def _write(self, tasks: Tasks) -> None:
        with self._journal.open("rb") as file:
            file.seek(self._position)
            while data := file.read(CHUNK):
                self._position += len(data)
                self._checksum = zlib.crc32(data, self._checksum)
        document = {"position": self._position, "checksum": self._checksum, "tasks": to_builtins(tasks)}
        write_view(self._journal.parent / SNAPSHOT, [dump_with_sum(document)])

    def close(self) -> None:
        """Nothing is open."""


def read_tasks(records: Records) -> Tasks:
    """Return the tasks of the newest run. Raises AigonError (exit 7) for a journal that is damaged or gone."""
    try:
        data = records.journal.read_bytes()
    except OSError as error:
        raise environment(
            f"The journal cannot be read: {error.strerror}", where=str(records.journal), hint="aigon doctor"
        ) from error
    tasks, position = _read_snapshot(records.folder / SNAPSHOT, data)
    documents = parse_lines(data[position:])
    if None in documents:
        number = data.count(b"\n", 0, position) + documents.index(None) + 1
        raise damage_error("The journal of this run", f"{records.journal}:{number}", records.name)
    events = list(decode_events((document for document in documents if document), records.journal))
    if position and any(isinstance(event, RolledBack) for event in events):  # it needs assessments of before
        return replay(records.each()).tasks
    return reduce(State.apply, events, State(tasks=tasks)).tasks


def _read_snapshot(path: Path, journal: bytes) -> tuple[Tasks, int]:
    """Return the tasks of the snapshot and how many bytes of the journal it covers; nothing if it does not fit."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        document = load_with_sum(path.read_bytes())
        position = int(document["position"])
        if zlib.crc32(journal[:position]) == document["checksum"] and 0 < position <= len(journal):
            return convert(document["tasks"], Tasks), position
    return Tasks(), 0
