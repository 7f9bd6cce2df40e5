"""Write the name of every event into the run's folder."""

from aigon.journal.events import Event
from aigon.journal.replay import to_ndjson
from aigon.run.sinks import SinkContext


class EventNames:
    """Append one line per event."""

    def __init__(self, run: SinkContext) -> None:
        self._file = (run.folder / "example-sink.txt").open("a", encoding="utf-8")

    def __call__(self, event: Event) -> None:
        self._file.write(f"{to_ndjson(event)['event']}\n")

    def close(self) -> None:
        self._file.close()


def open_sink(run: SinkContext) -> EventNames:
    """Return the sink of one run."""
    return EventNames(run)
