"""Events for people at a terminal: one calm view that changes in place."""

import contextlib
import sys
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live

from aigon.core.events import Event, Notice
from aigon.core.model import Check, Criterion
from aigon.core.state import Spend
from aigon.sinks.frame import Page, closing, running
from aigon.sinks.pipe import lead_nowhere
from aigon.sinks.place import Place
from aigon.sinks.scene import Scene, waiting

STOPPING = "finishing this iteration, then stopping (Ctrl+C again: at once, nothing lost)"
PER_SECOND = 4
"""Refreshes: often enough for a clock that counts seconds, seldom enough to be calm."""


class LiveSink:
    """Draws a run on the terminal behind `console_stream`. It takes the terminal over from the first event on.

    `title` is the first line; `checks` are shown as waiting before the first one runs; `spend` and `finished` are
    what earlier invocations of the same run spent, and the last iteration of theirs; `stopping` says whether a person
    has asked for the end. An event costs the caller no
    drawing: a thread of rich draws, so that a terminal that somebody has paused with Ctrl+S does not pause the run.
    """

    def __init__(
        self,
        console_stream: TextIO,
        *,
        title: str,
        criteria: Sequence[Criterion],
        checks: Sequence[Check] = (),
        spend: Spend | None = None,
        finished: int | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stream = console_stream
        self._console = Console(file=console_stream, highlight=False)
        now = time.monotonic()
        self._scene = Scene(
            title,
            tuple(criteria),
            checks=waiting(checks),
            place=Place(finished=finished),
            spend=spend or Spend(),
            began=now,
            phase_began=now,
        )
        self._closing = False
        self._stopping = stopping
        self._echo: list[Any] | None = None
        self._live = Live(
            console=self._console,
            refresh_per_second=PER_SECOND,
            get_renderable=self._frame,
            vertical_overflow="crop",
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )

    def __call__(self, event: Event) -> None:
        """Take `event` into the picture; it is on the terminal within a quarter of a second."""
        self._scene = self._scene.apply(event, time.monotonic())
        if not self._live.is_started and not self._closing:
            self._echo = control_echo(self._stream, None)
            self._live.start(refresh=True)

    def asking(self, ask: Callable[[str], bool]) -> Callable[[str], bool]:
        """`ask` with the terminal to itself for as long as it waits for the answer."""

        def asked(question: str) -> bool:
            shown = self._live.is_started
            self._stop()
            try:
                return ask(question)
            finally:
                if shown:
                    self._echo = control_echo(self._stream, None)
                    self._live.start(refresh=True)

        return asked

    def close(self) -> None:
        """Leave a last short frame and give the terminal back, its cursor shown, whatever happened before.

        A terminal that is gone is no error.
        """
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
        scene = self._scene
        if self._stopping() and not self._closing:
            scene = replace(scene, notices=(*scene.notices[-2:], Notice("", STOPPING, "warning")))
        width, height = self._console.size
        page = Page(width, height, self._console.encoding)
        return (closing if self._closing else running)(scene, page, time.monotonic())


def control_echo(stream: TextIO, restore: list[Any] | None) -> list[Any] | None:
    """Keep the terminal from writing ^C into the picture, or give it back as it was; what it was, on a terminal."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        before = termios.tcgetattr(stream.fileno())
        quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
        termios.tcsetattr(stream.fileno(), termios.TCSANOW, restore or quiet)
        return before
    return None
