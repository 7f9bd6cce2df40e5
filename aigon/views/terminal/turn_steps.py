"""Read what the agent of a run does in its present turn."""

from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.agents.activity import ActivityFile, find_newest_activity
from aigon.journal.events import Event, IterationStarted, RunStarted, TurnEnded
from aigon.model.turns import Spent, Step

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
            case RunStarted() if self._runs:
                self._folder = self._runs / item.run_id
            case IterationStarted():
                self._turn = self._folder / f"{item.number:03d}" if self._folder else None
                self._number, self.progress = item.number, TurnProgress()
                self._since = datetime.fromisoformat(item.at).timestamp()
            case TurnEnded():
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
