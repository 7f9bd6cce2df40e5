"""Write the steps of each turn into the run's folder."""

from aigon.journal.steps import StepSink
from aigon.run.sinks import SinkContext


def open_sink(run: SinkContext) -> StepSink:
    """Return the sink, which numbers on from the last turn."""
    return StepSink(run.folder, run.past.turns.last)
