"""The loops of a queue: a process per feature, started, heard and ended as those of an arena, and handed over."""

import os
import signal
import sys
from collections.abc import Callable, KeysView, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from aigon.arena.entrant import Entrant, build_command_line, list_entrants, listen
from aigon.arena.lane import RANKS, LaneEnd
from aigon.errors import AigonError, Exit
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.job.bookkeeping import Committing
from aigon.job.options import Options
from aigon.journal.events import Event
from aigon.model.agents import Candidate
from aigon.process.start import capture_output
from aigon.process.stop import POLL_SECONDS, Stop
from aigon.spec import files
from aigon.spec.files import moved_to_stage
from aigon.text.quoting import fold

Hear = Callable[[str, Mapping[str, Any], Event | None], None]
"""Hears each event of a loop, by the feature."""


class LoopGroup:
    """The loops that run, by feature. Each ends when this process is gone, and its state is saved."""

    def __init__(self, main: Path, home: Path, stop: Stop, hear: Hear) -> None:
        self._main, self._home, self._stop, self._hear = main, home, stop, hear
        self._running: dict[str, Entrant] = {}
        self._spent_before: dict[str, float] = {}
        self._spent_by_ended = 0.0

    def __len__(self) -> int:
        return len(self._running)

    @property
    def features(self) -> KeysView[str]:
        """The features whose loops run now."""
        return self._running.keys()

    @property
    def spent(self) -> float:
        """Return what all loops of this group have spent, in US dollars, without what their runs had spent before."""
        return self._spent_by_ended + sum(map(self._get_own_spend, self._running))

    def _get_own_spend(self, feature: str) -> float:
        return max(0.0, self._running[feature].lane.spend.usd - self._spent_before[feature])

    def start(self, candidate: Candidate, options: Options, *, resume: bool, money: float | None = None) -> None:
        """Start the loop of a candidate, which may spend `money` more than its run did so far. Raises OSError."""
        (entrant,) = list_entrants(self._home, [candidate], [candidate.label] if resume else [])
        before = entrant.lane.spend.usd
        if money is not None:
            options = replace(options, max_cost=before + money)
        argv = build_command_line(candidate, options, resume=resume)
        log = self._main / ".aigon" / "runs" / "queue" / f"{candidate.feature}-{candidate.label}.err"
        entrant.start(argv, cwd=self._main, env={**os.environ, "AIGON_ARENA_STDIN": "1"}, log=log)
        self._running[candidate.feature], self._spent_before[candidate.feature] = entrant, before

    def finish_all(self) -> None:
        """Ask every loop to end with its iteration."""
        for each in self._running.values():
            each.ask(signal.SIGINT)

    def end_all(self) -> None:
        """Pass on what asks this process to end. Stop files the loops see themselves."""
        if not self._stop.now:
            self.finish_all()
            return
        for each in self._running.values():
            each.insist(self._stop.received_signal)

    def listen(self, seconds: float = POLL_SECONDS) -> dict[str, LaneEnd]:
        """Wait for what the loops send, and return those that ended."""
        ended = dict(listen(self._running, self._stop, self._hear, seconds))
        for feature in ended:
            self._spent_by_ended += self._get_own_spend(feature)
            del self._running[feature]
        return ended


def combine_task_codes(codes: Sequence[int]) -> int:
    """Return the exit code of a queue: 0 if every task is proven, else the first in the documented order."""
    return next((int(code) for code in RANKS if code != Exit.MET and code in codes), int(Exit.MET))


def hand_over(main: Checkout, candidate: Candidate, *, pr: bool, note: Callable[[str], None]) -> None:
    """Move what is proven to evaluation, or open a pull request; a person merges it. Doing it twice changes nothing."""
    try:
        with Checkout.open(Path(candidate.path)) as checkout:
            feature = files.locate_feature(checkout.root, candidate.feature)
            if feature.stage == "in-progress":  # where a person looks at it
                with moved_to_stage(checkout.root, feature, "in-evaluation") as (moved, paths):
                    message = f"docs(feature-{moved.id}): evaluate"
                    bookkeeping.commit_as_asked(checkout, paths, message, Committing(note, verify=False))
    except (AigonError, OSError) as error:
        note(f"feature {candidate.feature} is proven, and stays in progress: {error}")
    if pr:
        words = ["feature-done", candidate.feature, candidate.label, "--pr"]
        argv = [sys.executable, "-P", "-m", "aigon", *words]
        code, out, errors = capture_output(argv, cwd=main.root, env=os.environ)
        note(f"aigon {' '.join(words)}: {fold((out or errors).decode(errors='replace')) or f'exit code {code}'}")


def link_steps(root: Path, logs: str, task: str, run: str) -> None:
    """Link the steps of a run in the folder `logs`, by the name of its task file."""
    folder = root / logs / PurePosixPath(task).stem
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for step in sorted((root / ".aigon" / "runs" / run).glob("step_*.md")):
            link = folder / step.name
            if link.is_symlink():
                link.unlink()
            if not link.exists():
                link.symlink_to(step)
