"""The log of a run as text: a line for each event, and for each thing that an agent does."""

from datetime import datetime

from aigon.journal.events import Event, IterationFinished, RunStarted
from aigon.model.activity import Step
from aigon.views.terminal.lines import IterationCount, describe_event, is_shown, stamp_line


class LogText:
    """Makes lines of what happened, each with the time at which it happened."""

    def __init__(self) -> None:
        self._place = IterationCount()
        self._finished = 0

    def render(self, item: Event | Step | bytes) -> str | None:
        """Return the line of an event or of a step; None for what has none."""
        if isinstance(item, bytes) or (isinstance(item, Step) and item.spent):
            return None
        if isinstance(item, Step):
            return stamp_line(f"{item.kind} {item.text}".rstrip(), "  ", datetime.fromtimestamp(item.at))
        if isinstance(item, RunStarted) and item.resumed:  # as the resumed run counted
            self._place = IterationCount(finished=self._finished)
        elif isinstance(item, IterationFinished):
            self._finished = item.number
        self._place = self._place.apply(item)
        if not is_shown(item):
            return None
        return stamp_line(describe_event(item, self._place), at=datetime.fromisoformat(item.at).astimezone())
