"""What the agent of a run does in the turn that goes on."""

from datetime import datetime
from pathlib import Path

from aigon.agents.activity import ActivityFile, find_newest_activity
from aigon.journal.events import Event, IterationStarted, RunStarted, TurnEnded
from aigon.model.activity import Step

MOST = 3
"""Steps that stay in sight."""


class TurnSteps:
    """Reads the last steps of a run's agent from its folder below `runs`, whatever process the run is in."""

    def __init__(self, runs: Path | None) -> None:
        self._runs = self._folder = runs
        self._turn: Path | None = None
        self._number, self._since = 0, 0.0
        self._file, self._reader = Path(), ActivityFile(Path(), 0)
        self._steps: tuple[Step, ...] = ()

    def take(self, event: Event) -> None:
        """Take in the next event of the run."""
        match event:
            case RunStarted() if self._runs:
                self._folder = self._runs / event.run_id
            case IterationStarted() if self._folder:
                self._turn, self._number = self._folder / f"{event.number:03d}", event.number
                self._since, self._steps = datetime.fromisoformat(event.at).timestamp(), ()
            case TurnEnded():
                self._turn = None

    def read_last(self) -> tuple[Step, ...] | None:
        """Return the last steps of the turn, oldest first; None if no turn goes on."""
        if self._turn is None:
            return None
        if (newest := find_newest_activity(self._turn)) != self._file:
            self._file, self._reader = newest, ActivityFile(newest, self._number)
        # A file of the turn before it, which was turned away under the same number, may still be the newest.
        new = (step for step in self._reader.read_new() if step.at >= self._since)
        self._steps = (*self._steps, *new)[-MOST:]
        return self._steps
