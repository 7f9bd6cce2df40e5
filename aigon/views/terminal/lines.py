"""Lines of events, each with the time of day: of one run, of an arena, and of a log; and what agents do meanwhile."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any, Literal, TextIO

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.agents.activity import ActivityFile, find_newest_activity
from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd
from aigon.files.system_errors import write_line
from aigon.journal import events
from aigon.journal.events import Event, Notice
from aigon.model.turns import Spent, Step
from aigon.text.quoting import fold
from aigon.views.terminal.arena import write_arena_summary
from aigon.views.terminal.events import IterationCount, describe_event, is_shown, is_warning, stamp_line

MOST = 8
"""Steps that are kept."""
MOST_FILES = 1000
"""Files that are counted."""


class TurnProgress(Struct, frozen=True):
    """A turn so far: its last steps, oldest first, the files that it edited, and what it used.

    `heard` is when it gave its last sign of life, in seconds since the epoch.
    """

    steps: tuple[Step, ...] = ()
    files: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    heard: float | None = None

    def add(self, step: Step) -> "TurnProgress":
        if step.spent:
            return replace(self, spent=step.spent, heard=step.at)
        touched = step.text.split(", ") if step.kind == "edits" else ()  # a patch names several
        files = tuple(dict.fromkeys((*self.files, *touched)))[:MOST_FILES]
        return replace(self, steps=(*self.steps, step)[-MOST:], files=files, heard=step.at)


class TurnSteps:
    """Reads the steps of a run's agent from its folder below `runs`, whatever process the run is in.

    Without `runs` they are taken in like events.
    """

    def __init__(self, runs: Path | None) -> None:
        self._runs = self._folder = runs
        self._turn: Path | None = None
        self._number, self._since = 0, 0.0
        self._file, self._reader = Path(), ActivityFile(Path(), 0)
        self.progress: TurnProgress | None = None

    def take(self, item: Event | Step) -> None:
        """Take in the next event of the run, or step of its agent."""
        match item:
            case Step():
                self.progress = (self.progress or TurnProgress()).add(item)
            case events.RunStarted() if self._runs:
                self._folder = self._runs / item.run_id
            case events.IterationStarted():
                self._turn = self._folder / f"{item.number:03d}" if self._folder else None
                self._number, self.progress = item.number, TurnProgress()
                self._since = datetime.fromisoformat(item.at).timestamp()
            case events.TurnEnded():
                self._turn = self.progress = None

    def read_new(self) -> list[Step]:
        """Return the steps that have come since the last call; `progress` has them from now on, None without a turn."""
        if self._turn is None or self.progress is None:
            return []
        if (newest := find_newest_activity(self._turn)) != self._file:
            self._file, self._reader = newest, ActivityFile(newest, self._number)
        # A file of the turn before it, which was turned away under the same number, may still be the newest.
        steps = [step for step in self._reader.read_new() if step.at >= self._since]
        for step in steps:
            self.progress = self.progress.add(step)
        return steps


_NOTABLE = (
    events.RunStarted, events.IterationStarted, events.TurnEnded, events.IterationFinished, events.Waiting,
    events.SavedAside, events.RunFinished,
)  # fmt: skip


Loudness = Literal["", "quiet", "verbose"]
"""How much is written: warnings alone, or every action of an agent."""
PACE: dict[Loudness, float] = {"": 10.0, "verbose": 1.0}
"""Seconds between two looks at what agents do; of what they did meanwhile the last is written, or all of it."""


class ActionLines:
    """Writes what agents do while nothing else happens, in a thread, with `write`, which gets a label and a text."""

    def __init__(self, runs: Path | None, loudness: Loudness, write: Callable[[str, str], None]) -> None:
        self._runs, self._loudness, self._write = runs, loudness, write
        self._turns: dict[str, TurnSteps] = {}
        self._lock, self._over = Lock(), Flag()
        self._thread: Thread | None = None

    def take(self, label: str, event: Event) -> None:
        """Take in the next event of the run with this label, before it is written."""
        if self._runs is None or self._loudness not in PACE:
            return
        with self._lock:
            turn = self._turns.get(label) or self._turns.setdefault(label, TurnSteps(self._runs))
            if isinstance(event, events.TurnEnded) and self._loudness == "verbose":
                self._write_new(label, turn)
            turn.take(event)
            if isinstance(event, events.IterationStarted) and self._thread is None:
                self._thread = Thread(target=self._watch, name="actions", daemon=True)
                self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(PACE[self._loudness]):
            with suppress(OSError):  # a full disk: the next event is refused as well, and ends the run
                self.look()

    def look(self) -> None:
        """Write what agents did since the last look."""
        with self._lock:
            for label, turn in self._turns.items():
                self._write_new(label, turn)

    def _write_new(self, label: str, turn: TurnSteps) -> None:
        steps = [step for step in turn.read_new() if not step.spent]
        for step in steps if self._loudness == "verbose" else steps[-1:]:
            self._write(label, f"{step.kind} {step.text}")


class _EventLines:
    """Writes lines to `stream`, always as plain text, until the reader has gone.

    What agents do is read from the folders of `runs`.
    """

    def __init__(self, stream: TextIO, *, runs: Path | None = None, loudness: Loudness = "") -> None:
        self._stream, self._loudness = stream, loudness
        self._actions = ActionLines(runs, loudness, self._write)
        self._places: dict[str, IterationCount] = {}
        self._width, self._open = 0, True
        self._feature = ""

    def _hear(self, label: str, event: Event, shows: Callable[[Event], bool]) -> None:
        """Write the line of `event`, if this reader `shows` it, behind the label of its run."""
        place = self._places[label] = self._places.get(label, IterationCount()).apply(event)
        self._actions.take(label, event)
        if is_warning(event) if self._loudness == "quiet" else shows(event):
            self._write(label, describe_event(event, place))

    def close(self) -> None:
        """Write nothing from here on. The stream stays open: it is the caller's."""
        self._actions.close()
        self._open = False

    def _write(self, label: str, text: str) -> None:
        column = f"{fold(label):<{self._width}}  " if label else ""
        self._open = self._open and write_line(self._stream, stamp_line(text, column))


class LineSink(_EventLines):
    """A line per event of one run. `finished` is the last iteration of earlier invocations, if the caller knows it."""

    def __init__(
        self, stream: TextIO, *, finished: int | None = None, runs: Path | None = None, loudness: Loudness = ""
    ) -> None:
        super().__init__(stream, runs=runs, loudness=loudness)
        self._places[""] = IterationCount(finished=finished)

    def __call__(self, event: Event) -> None:
        """Write `event`. A reader that went away is no error; any other failure to write is an OSError."""
        self._hear("", event, is_shown)


class ArenaLines(_EventLines):
    """A line per notable event, behind the label of the candidate, and the summary at the end."""

    def began(self, plan: ArenaPlan, lanes: Sequence[Lane]) -> None:
        self._feature = plan.feature
        self._width = max((len(lane.label) for lane in lanes), default=0)
        self._places = {lane.label: IterationCount(finished=lane.finished or 0) for lane in lanes}
        self.said(f"feature {plan.feature} {plan.slug}: {plan.said}{plan.limits and f'; {plan.limits}'}")

    def started(self, label: str) -> None:
        """Write nothing: the first event of the loop says so."""

    def __call__(self, label: str, _document: Mapping[str, Any], event: Event | None) -> None:
        if event is not None:
            self._hear(label, event, _is_notable)

    def said(self, text: str) -> None:
        self._write("", text)

    def ended(self, ended: LaneEnd) -> None:
        """Write how a loop ended, unless it said so itself."""
        if not ended.own_word:
            self._write(ended.label, ended.summary)

    def finished(self, ended: ArenaEnd) -> None:
        self._actions.close()
        if self._open:
            write_arena_summary(self._stream, self._feature, ended)


def _is_notable(event: Event) -> bool:
    """Return whether a view of several agents at once shows it."""
    return is_warning(event) if isinstance(event, Notice | events.HookRan) else isinstance(event, _NOTABLE)


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
        if isinstance(item, events.RunStarted) and item.resumed:  # as the resumed run counted
            self._place = IterationCount(finished=self._finished)
        elif isinstance(item, events.IterationFinished):
            self._finished = item.number
        self._place = self._place.apply(item)
        if not is_shown(item):
            return None
        return stamp_line(describe_event(item, self._place), at=datetime.fromisoformat(item.at).astimezone())
