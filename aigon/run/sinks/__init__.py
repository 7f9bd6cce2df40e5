"""Sinks: what receives the events of a run and writes something, for people or for later.

Those that ship for people share a file; a plug-in is a module with `open_sink(run: SinkContext)`. What that returns is
called with every event, in order, and closed at the end. It runs in parallel with the loop: it cannot delay or end a
run, and an error in it is logged.

    memory    what earlier attempts tried
    steps     the steps of each turn
    tasks     the criteria as tasks
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from aigon.files.resources import Registry
from aigon.journal.events import Event
from aigon.journal.sinks import Observer
from aigon.journal.state import State

SINKS = Registry("aigon.sinks", __name__, "sink", {"files": "memory steps tasks"})


class SinkContext(Struct, frozen=True):
    """The run that a sink watches. `folder` is the run's folder in aigon's home; `past` are the events of earlier
    invocations, and `state` what they add up to; `toon` asks for tables in TOON.
    """

    feature: str
    label: str
    run_id: str
    root: Path
    folder: Path
    past: Sequence[Event]
    state: State
    toon: bool = False


def open_sinks(run: SinkContext) -> Sequence[Observer]:
    """Return every sink. Raises AigonError (exit 2) for a plug-in that cannot be loaded, before any agent starts."""
    loaded = ((name, SINKS.load(name)) for name in SINKS.names())
    return [(getattr(module, f"open_{name}", None) or module.open_sink)(run) for name, module in loaded]
