"""Write what the attempts of this feature tried into the run's folder."""

from aigon.journal.build_log import MemorySink
from aigon.run.sinks import SinkContext


def open_sink(run: SinkContext) -> MemorySink:
    """Return the sink, with the attempts of a run that is resumed."""
    return MemorySink(run.folder, run.past.state.tried, run.past.state.started)
