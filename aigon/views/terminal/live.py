"""Events for people at a terminal: one calm view that changes in place."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TextIO

from rich.console import Group

from aigon.journal.events import Event, Notice
from aigon.journal.spending import Spend
from aigon.model.checks import Check
from aigon.model.criteria import Criterion
from aigon.views.terminal.frame import Page, closing, running
from aigon.views.terminal.place import Place
from aigon.views.terminal.scene import Scene, waiting
from aigon.views.terminal.screen import Screen

STOPPING = "finishing this iteration, then stopping (Ctrl+C again: at once, nothing lost)"


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
        self._stopping = stopping
        self._screen = Screen(console_stream, self._frame)

    def __call__(self, event: Event) -> None:
        """Take `event` into the picture; it is on the terminal within a quarter of a second."""
        self._scene = self._scene.apply(event, time.monotonic())
        self._screen.take()

    def asking(self, ask: Callable[[str], bool]) -> Callable[[str], bool]:
        """`ask` with the terminal to itself for as long as it waits for the answer."""
        return self._screen.aside(ask)

    def close(self) -> None:
        """Leave a last short frame and give the terminal back."""
        self._screen.close()

    def _frame(self, page: Page, last: bool) -> Group:
        scene = self._scene
        if self._stopping() and not last:
            scene = replace(scene, notices=(*scene.notices[-2:], Notice("", STOPPING, "warning")))
        return (closing if last else running)(scene, page, time.monotonic())
