"""Sinks: what receives the events of a run and writes something, for people or for later.

Those that ship for people share a file; a plug-in is a module with `open_sink(run: SinkContext)`. What that returns is
called with every event, in order, and closed at the end. It runs in parallel with the loop: it cannot delay or end a
run, and an error in it is logged.

    memory    what earlier attempts tried
    steps     the steps of each turn
    tasks     the criteria as tasks
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from aigon.files.resources import Registry
from aigon.journal.events import Event
from aigon.journal.sinks import Observer
from aigon.journal.state import State
from aigon.journal.state_file import EncodedIterations
from aigon.journal.steps import TurnHistory

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
