"""A terminal that one calm picture has to itself: taken over, drawn on by a thread of rich, given back."""

import contextlib
import io
import sys
import termios
from collections.abc import Callable
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live

from aigon.files.pipe import discard_output
from aigon.views.terminal.frame import Page

PER_SECOND = 4
"""Refreshes: often enough for a clock that counts seconds, seldom enough to be calm."""


class _Kept(io.StringIO):
    """What is printed on `stream` while the picture has the terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return True


class Screen:
    """The terminal behind `stream`, showing what `draw` makes of a page and of whether it is the last one.

    The picture is on the terminal's alternate screen: there a resize reflows nothing and leaves nothing in scrollback.
    What is printed meanwhile appears once the terminal is given back. A terminal that somebody has paused with Ctrl+S
    pauses the thread that draws and nothing else.
    """

    def __init__(self, stream: TextIO, draw: Callable[[Page, bool], Group]) -> None:
        self._stream, self._draw = stream, draw
        self._console = Console(file=stream, highlight=False)
        self._echo: list[Any] | None = None
        self._closed = False
        self._live = Live(
            console=self._console,
            refresh_per_second=PER_SECOND,
            get_renderable=self._frame,
            vertical_overflow="crop",
            screen=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._shown = False

    def take(self) -> None:
        """Take the terminal over, unless that is done, or over."""
        if not self._live.is_started and not self._closed:
            self._echo = _control_echo(self._stream, None)
            self._shown = True
            for name in ("stdout", "stderr"):
                if (stream := getattr(sys, name)).isatty():
                    setattr(sys, name, _Kept(stream))
            self._live.start(refresh=True)

    def aside(self, ask: Callable[[str], bool]) -> Callable[[str], bool]:
        """`ask` with the terminal to itself for as long as it waits for the answer."""

        def asked(question: str) -> bool:
            shown = self._live.is_started
            self._stop()
            try:
                return ask(question)
            finally:
                if shown:
                    self.take()

        return asked

    def close(self) -> None:
        """Leave a last short frame and give the terminal back, its cursor shown, whatever happened before.

        A terminal that is gone is no error.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._stop()
            if self._shown:
                self._console.print(self._frame())
        except OSError:
            discard_output(self._stream)

    def _stop(self) -> None:
        try:
            self._live.stop()
        finally:
            self._console.show_cursor(True)
            _control_echo(self._stream, self._echo)
            for name in ("stdout", "stderr"):
                if isinstance(kept := getattr(sys, name), _Kept):
                    setattr(sys, name, kept.stream)
                    kept.stream.write(kept.getvalue())

    def _frame(self) -> Group:
        width, height = self._console.size
        return self._draw(Page(width, height, self._console.encoding), self._closed)


def _control_echo(stream: TextIO, restore: list[Any] | None) -> list[Any] | None:
    """Keep the terminal from writing ^C into the picture, or give it back as it was; what it was, on a terminal."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        before = termios.tcgetattr(stream.fileno())
        quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
        termios.tcsetattr(stream.fileno(), termios.TCSANOW, restore or quiet)
        return before
    return None
