"""An arena for people at a terminal: one calm view with a line per agent that changes in place."""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live

from aigon.core.arena import ArenaEnded, Ended, Plan
from aigon.core.arena_lane import Lane
from aigon.core.events import Event
from aigon.sinks.arena_frame import closing, running
from aigon.sinks.arena_scene import Stage, stage
from aigon.sinks.arena_summary import summary
from aigon.sinks.frame import Page
from aigon.sinks.live import PER_SECOND, control_echo
from aigon.sinks.pipe import lead_nowhere, write_line


class ArenaLive:
    """Draws an arena on the terminal behind `stream`, from its beginning until its end, and the summary below.

    An event costs the caller no drawing: a thread of rich draws.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._console = Console(file=stream, highlight=False)
        self._stage = Stage()
        self._feature = ""
        self._closing = False
        self._echo: list[Any] | None = None
        self._live = Live(
            console=self._console,
            refresh_per_second=PER_SECOND,
            get_renderable=self._frame,
            vertical_overflow="crop",
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )

    def began(self, plan: Plan, lanes: Sequence[Lane]) -> None:
        """Take the terminal over."""
        self._feature = plan.feature
        self._stage = stage(plan, lanes, time.monotonic())
        if not self._live.is_started and not self._closing:
            self._echo = control_echo(self._stream, None)
            self._live.start(refresh=True)

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
        """Leave a last short frame and give the terminal back, its cursor shown, whatever happened before.

        A terminal that is gone is no error.
        """
        if self._closing:
            return
        self._closing = True
        try:
            self._stop()
        except OSError:
            lead_nowhere(self._stream)

    def _stop(self) -> None:
        try:
            self._live.stop()
        finally:
            self._console.show_cursor(True)
            control_echo(self._stream, self._echo)

    def _frame(self) -> Group:
        width, height = self._console.size
        page = Page(width, height, self._console.encoding)
        return (closing if self._closing else running)(self._stage, page, time.monotonic())
