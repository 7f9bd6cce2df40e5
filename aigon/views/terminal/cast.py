"""The live view of a run as an asciicast (version 2), which players of terminal recordings show."""

import io
import json
from collections.abc import Callable
from typing import TextIO

from rich.console import Console

from aigon.files.pipe import write_line
from aigon.views.terminal.live import DrawPage, Screen
from aigon.views.terminal.page import Page

LONGEST_PAUSE = 2.0
"""Seconds for which players show a frame that does not change."""
_CLEAR = "\x1b[H\x1b[2J"


class CastScreen(Screen):
    """A screen of `width` and `height` that is a file: a frame for each moment, by `now`, at which it changes.

    It is to be shown `speed` times as fast.
    """

    def __init__(
        self,
        stream: TextIO,
        draw: DrawPage,
        now: Callable[[], float],
        speed: float = 1.0,
        width: int = 100,
        height: int = 30,
    ) -> None:
        self._stream, self._draw, self._now, self._speed = stream, draw, now, speed
        self._page, self._began, self._before = Page(width, height), 0.0, ""

    def take(self) -> None:
        """Write a frame, before the first one the head of the file."""
        self._write_frame(last=False)

    def close(self) -> None:
        """Write the last frame."""
        self._write_frame(last=True)

    def _write_frame(self, *, last: bool) -> None:
        width, height = self._page.width, self._page.height
        if not self._before:
            self._began = self._now()
            head = {"version": 2, "width": width, "height": height, "timestamp": int(self._began)}
            write_line(self._stream, json.dumps({**head, "idle_time_limit": LONGEST_PAUSE}))
        console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=width, height=height)
        with console.capture() as captured:
            console.print(self._draw(self._page, last))
        frame = captured.get().replace("\n", "\r\n")
        if frame != self._before:
            self._before = frame
            write_line(
                self._stream, json.dumps([round((self._now() - self._began) / self._speed, 3), "o", _CLEAR + frame])
            )
