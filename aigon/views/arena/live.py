"""An arena for people at a terminal: one calm view with a line per agent that changes in place."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Group

from aigon.arena.lane import Lane
from aigon.arena.outcome import ArenaEnded, Ended, Plan
from aigon.files.pipe import write_line
from aigon.journal.events import Event
from aigon.views.arena.frame import closing, running
from aigon.views.arena.scene import Stage, stage
from aigon.views.arena.summary import summary
from aigon.views.terminal.frame import Page
from aigon.views.terminal.screen import Screen


class ArenaLive:
    """Draws an arena on the terminal behind `stream`, from its beginning until its end, and the summary below.

    An event costs the caller no drawing: a thread of rich draws.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = Stage()
        self._feature = ""
        self._screen = Screen(stream, self._frame)

    def began(self, plan: Plan, lanes: Sequence[Lane]) -> None:
        """Take the terminal over."""
        self._feature = plan.feature
        self._stage = stage(plan, lanes, time.monotonic())
        self._screen.take()

    def started(self, label: str) -> None:
        """Show that it runs."""
        self._stage = self._stage.started(label, time.monotonic())

    def __call__(self, label: str, _document: Mapping[str, Any], event: Event | None) -> None:
        """Take `event` into the picture; it is on the terminal within a quarter of a second."""
        if event is not None:
            self._stage = self._stage.apply(label, event, time.monotonic())

    def said(self, text: str) -> None:
        """Show a line on the arena as a whole."""
        self._stage = self._stage.said(text)

    def ended(self, ended: Ended) -> None:
        """Show how a loop ended."""
        self._stage = self._stage.ended(ended)

    def finished(self, ended: ArenaEnded) -> None:
        """Give the terminal back and write the summary."""
        self.close()
        for text in ("", *summary(self._feature, ended)):
            if not write_line(self._stream, text):
                return

    def close(self) -> None:
        """Leave a last short frame and give the terminal back."""
        self._screen.close()

    def _frame(self, page: Page, last: bool) -> Group:
        return (closing if last else running)(self._stage, page, time.monotonic())
