"""An arena for people without a terminal: one line per notable event, after the label of the candidate."""

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from aigon.arena.lane import Lane
from aigon.arena.outcome import ArenaEnded, Ended, Plan
from aigon.files.pipe import write_line
from aigon.journal.events import (
    Event,
    HookRan,
    IterationFinished,
    IterationStarted,
    Notice,
    RunFinished,
    RunStarted,
    SavedAside,
    TurnEnded,
    Waiting,
)
from aigon.text.quoting import fold
from aigon.views.arena.summary import summary
from aigon.views.terminal.lines import describe_event, stamp_line
from aigon.views.terminal.place import Place

_NOTABLE = (RunStarted, IterationStarted, TurnEnded, IterationFinished, Waiting, SavedAside, RunFinished)


class ArenaLines:
    """Writes lines to `stream`, and the summary at the end, until nobody reads any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._places: dict[str, Place] = {}
        self._width = 0
        self._open = True
        self._feature = ""

    def began(self, plan: Plan, lanes: Sequence[Lane]) -> None:
        """Say how many there are, and how many at a time."""
        self._feature = plan.feature
        self._width = max((len(lane.label) for lane in lanes), default=0)
        self._places = {lane.label: Place(finished=lane.finished or 0) for lane in lanes}
        self.said(f"feature {plan.feature} {plan.slug}: {plan.said}{plan.limits and f'; {plan.limits}'}")

    def started(self, label: str) -> None:
        """Its first event says so."""

    def __call__(self, label: str, _document: Mapping[str, Any], event: Event | None) -> None:
        """Write `event`, where it is notable."""
        if event is None:
            return
        place = self._places[label] = self._places.get(label, Place()).apply(event)
        if notable(event):
            self._write(label, describe_event(event, place))

    def said(self, text: str) -> None:
        """Write a line on the arena as a whole."""
        self._write("", text)

    def ended(self, ended: Ended) -> None:
        """Write how a loop ended, where that is not what it said itself."""
        if not ended.own_word:
            self._write(ended.label, ended.summary)

    def finished(self, ended: ArenaEnded) -> None:
        """Write the summary."""
        for text in ("", *summary(self._feature, ended)):
            self._open = self._open and write_line(self._stream, text)

    def close(self) -> None:
        """Write nothing from here on. The stream stays open: it is the caller's."""
        self._open = False

    def _write(self, label: str, text: str) -> None:
        who = f"{fold(label):<{self._width}}  " if label else ""
        self._open = self._open and write_line(self._stream, stamp_line(text, who))


def notable(event: Event) -> bool:
    """Whether somebody who follows several agents at once wants to read of it."""
    match event:
        case Notice(level=level):
            return level == "warning"
        case HookRan(status=status):
            return status != "ok"
        case _:
            return isinstance(event, _NOTABLE)
