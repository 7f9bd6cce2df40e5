"""The live view of runs: on a terminal that it has to itself and gives back, or as an asciicast."""

import contextlib
import io
import json
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from msgspec.structs import replace
from rich.console import Console, Group
from rich.live import Live

from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd
from aigon.files.system_errors import discard_output, write_line
from aigon.journal.events import Event, Notice
from aigon.model.turns import Step
from aigon.views.terminal.arena import write_arena_summary
from aigon.views.terminal.frame import Page, draw_arena, draw_arena_end, draw_run, draw_run_end
from aigon.views.terminal.lines import TurnSteps
from aigon.views.terminal.scene import ArenaScene, Scene, build_arena_scene

PER_SECOND = 4
"""Refreshes: often enough for a clock that counts seconds, seldom enough to be calm."""
STOPPING = "finishing this iteration, then stopping (Ctrl+C again: at once, nothing lost)"


DrawPage = Callable[[Page, bool], Group]
"""Draws a page; whether it is the last one."""
LONGEST_PAUSE = 2.0
"""Seconds for which players show a frame that does not change."""
_CLEAR = "\x1b[H\x1b[2J"


class _KeptOutput(io.StringIO):
    """Output printed on `stream` while the picture has the terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return True


class Screen:
    """The terminal behind `stream`, showing what `draw` makes of a page, and of whether it is the last one.

    The picture is on the terminal's alternate screen: a resize reflows nothing there and leaves nothing in scrollback.
    What is printed meanwhile appears once the terminal is given back. A thread of rich draws, so that a terminal that
    a person has paused with Ctrl+S does not pause the run.
    """

    def __init__(self, stream: TextIO, draw: DrawPage) -> None:
        self._stream, self._draw = stream, draw
        self._console = Console(file=stream, highlight=False)
        self._echo: list[Any] | None = None
        self._closed = self._shown = False
        self._live = Live(
            console=self._console,
            refresh_per_second=PER_SECOND,
            get_renderable=self._frame,
            vertical_overflow="crop",
            screen=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def take(self) -> None:
        """Take the terminal over, unless that is done, or over."""
        if not self._live.is_started and not self._closed:
            self._echo = _set_control_echo(self._stream, None)
            self._shown = True
            for name in ("stdout", "stderr"):
                if (stream := getattr(sys, name)).isatty():
                    setattr(sys, name, _KeptOutput(stream))
            self._live.start(refresh=True)

    def step_aside(self, ask: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return `ask` with the terminal to itself for as long as it waits for the answer."""

        def ask_alone(question: str) -> bool:
            shown = self._live.is_started
            self._stop()
            try:
                return ask(question)
            finally:
                if shown:
                    self.take()

        return ask_alone

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
            _set_control_echo(self._stream, self._echo)
            for name in ("stdout", "stderr"):
                if isinstance(kept := getattr(sys, name), _KeptOutput):
                    setattr(sys, name, kept.stream)
                    kept.stream.write(kept.getvalue())

    def _frame(self) -> Group:
        width, height = self._console.size
        return self._draw(Page(width, height, self._console.encoding), self._closed)


def _set_control_echo(stream: TextIO, restore: list[Any] | None) -> list[Any] | None:
    """Keep the terminal from writing ^C into the picture, or `restore` its settings. Return what they were."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        before = termios.tcgetattr(stream.fileno())
        quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
        termios.tcsetattr(stream.fileno(), termios.TCSANOW, restore or quiet)
        return before
    return None


class LiveSink:
    """Draws one run, from its first event on.

    `scene` is what is known before. It takes steps of agents as well, for a run that is shown again; then `clock` and
    `wall` are those of its record, and `screen` makes what it is drawn on. What agents do is read from the folders of
    `runs`. `stopping` says whether a person has asked for the end.
    """

    def __init__(
        self,
        console_stream: TextIO,
        scene: Scene,
        *,
        runs: Path | None = None,
        stopping: Callable[[], bool] = lambda: False,
        screen: Callable[[TextIO, DrawPage], "Screen"] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._clock, self._wall = clock, wall
        self._scene = replace(scene, began=clock(), phase_began=clock())
        self._steps = TurnSteps(runs)
        self._stopping = stopping
        self.screen = (screen or Screen)(console_stream, self._draw)

    def __call__(self, item: Event | Step) -> None:
        self._steps.take(item)
        if not isinstance(item, Step):
            self._scene = self._scene.apply(item, self._clock())
        self.screen.take()

    def close(self) -> None:
        self.screen.close()

    def _draw(self, page: Page, last: bool) -> Group:
        scene, now = self._scene, self._clock()
        if last:
            return draw_run_end(scene, page, now)
        scene = _add_steps(scene, self._steps, now, self._wall())
        if self._stopping():
            scene = replace(scene, notices=(*scene.notices[-2:], Notice("", STOPPING, "warning")))
        return draw_run(scene, page, now)


def _add_steps(scene: Scene, turn: TurnSteps, now: float, wall: float) -> Scene:
    """Return the scene at `now` with what the agent did up to then; at `wall`, by the clock on the wall."""
    turn.read_new()
    return replace(scene, turn=turn.progress, ahead=wall - now)


class ArenaLive:
    """Draws the runs of an arena, and writes the summary below when all have ended.

    What agents do is read from the folders of `runs`.
    """

    def __init__(self, stream: TextIO, runs: Path | None = None) -> None:
        self._stream, self._runs = stream, runs
        self._steps: dict[str, TurnSteps] = {}
        self._scene = ArenaScene()
        self._feature = ""
        self._screen = Screen(stream, self._draw)

    def began(self, plan: ArenaPlan, lanes: Sequence[Lane]) -> None:
        self._feature = plan.feature
        self._scene = build_arena_scene(plan, lanes, time.monotonic())
        self._steps = {lane.label: TurnSteps(self._runs) for lane in lanes}
        self._screen.take()

    def started(self, label: str) -> None:
        self._scene = self._scene.start(label, time.monotonic())

    def __call__(self, label: str, _document: Mapping[str, Any], event: Event | None) -> None:
        if event is not None:
            self._steps[label].take(event)
            self._scene = self._scene.apply(label, event, time.monotonic())

    def said(self, text: str) -> None:
        self._scene = self._scene.add_notice("", text)

    def ended(self, ended: LaneEnd) -> None:
        self._scene = self._scene.close(ended)

    def finished(self, ended: ArenaEnd) -> None:
        """Give the terminal back and write the summary."""
        self.close()
        write_arena_summary(self._stream, self._feature, ended)

    def close(self) -> None:
        self._screen.close()

    def _draw(self, page: Page, last: bool) -> Group:
        now = time.monotonic()
        if last:
            return draw_arena_end(self._scene, page, now)
        lanes = {
            label: _add_steps(lane, self._steps[label], now, time.time()) for label, lane in self._scene.lanes.items()
        }
        return draw_arena(replace(self._scene, lanes=lanes), page, now)


class CastScreen(Screen):
    """A screen that is a file: a frame for each moment, by `now`, at which it changes.

    It is to be shown `speed` times as fast.
    """

    def __init__(self, stream: TextIO, draw: DrawPage, now: Callable[[], float], speed: float) -> None:
        self._stream, self._draw, self._now, self._speed = stream, draw, now, speed
        self._page, self._began, self._before = Page(width=100, height=30), 0.0, ""

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
