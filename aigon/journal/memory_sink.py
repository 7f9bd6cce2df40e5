"""SCRATCHPAD.md and BUILD_LOG.md in the run folder: what was tried and what came of it, for whoever looks.

Views of the journal: nothing reads them back, and a run goes on without them.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from aigon.files.views import write_view
from aigon.journal.attempt import Attempt
from aigon.journal.attempts import Attempts
from aigon.journal.build_log import build_log_lines, details_of, row_of
from aigon.journal.events import Event, IterationFinished, RunFinished, RunStarted
from aigon.journal.memory import mentioned, noted, scratchpad_lines

SCRATCHPAD = "SCRATCHPAD.md"
BUILD_LOG = "BUILD_LOG.md"
APART = 1.0
"""Seconds between two writings: files that are new burden the flush of the journal, which a run waits for."""


class MemorySink:
    """Writes both files anew after each iteration, but not more often than a person reads, and at the end of the run.

    An attempt is put into words once, so that the 200th iteration costs little more than the 10th.
    """

    def __init__(self, folder: Path, past: Iterable[Event] = (), *, apart: float = APART) -> None:
        self._folder = folder
        self._attempts = Attempts()
        self._started: RunStarted | None = None
        self._due, self._written, self._apart = False, -apart, apart
        self._scratchpad = [_remembering(told) for told in (noted, mentioned)]
        self._row, self._details = _remembering(row_of), _remembering(details_of)
        for event in past:
            self.take(event)

    @classmethod
    def after(cls, folder: Path, attempts: Attempts, started: RunStarted | None) -> "MemorySink":
        """A sink for a run that goes on, which knows what its events so far came to."""
        sink = cls(folder)
        sink._attempts, sink._started = attempts, started
        return sink

    def __call__(self, event: Event) -> None:
        """Take `event` in. Raises OSError where the files cannot be written."""
        self.take(event)
        if isinstance(event, RunFinished):
            self._write(event)
        elif isinstance(event, IterationFinished):
            self._due = True
            if time.monotonic() - self._written >= self._apart:
                self._write(None)

    def close(self) -> None:
        """Write what is not written yet."""
        if self._due:
            self._write(None)

    def take(self, event: Event) -> None:
        """Take `event` in, and write nothing."""
        self._attempts = self._attempts.apply(event)
        if isinstance(event, RunStarted):
            self._started = event

    def _write(self, ended: RunFinished | None) -> None:
        self._due, self._written = False, time.monotonic()
        for name, lines in self._lines(ended).items():
            write_view(self._folder / name, _parts(lines))

    def rendered(self, ended: RunFinished | None) -> dict[str, str]:
        """Both files, by name; `ended` is how the run ended, where it did."""
        return {name: "\n".join(lines) for name, lines in self._lines(ended).items()}

    def _lines(self, ended: RunFinished | None) -> dict[str, Iterator[str]]:
        known = self._attempts
        log = build_log_lines(
            known.all, base=known.base, started=self._started, ended=ended, row=self._row, details=self._details
        )
        return {SCRATCHPAD: scratchpad_lines(known.all, *self._scratchpad), BUILD_LOG: log}


def _parts(lines: Iterator[str]) -> Iterator[str]:
    """What comes to the lines with a line break between any two of them."""
    yield next(lines, "")
    for line in lines:
        yield "\n"
        yield line


def memory(folder: Path, events: Iterable[Event]) -> dict[str, str]:
    """Both files as a run with these events leaves them, by name; none before its first look."""
    sink, due, end = MemorySink(folder), False, None
    for event in events:
        sink.take(event)
        if isinstance(event, (RunStarted, IterationFinished, RunFinished)):
            end = event if isinstance(event, RunFinished) else None
            due = due or not isinstance(event, RunStarted)
    return sink.rendered(end) if due else {}


def titles() -> dict[str, str]:
    """The first line of both files, by name: the same for every run."""
    return {name: text.partition("\n")[0] for name, text in MemorySink(Path()).rendered(None).items()}


def _remembering(told: Callable[[Attempt], str]) -> Callable[[Attempt], str]:
    """`told` that says the same of the same attempt without putting it into words again."""
    known: dict[int, tuple[Attempt, str]] = {}

    def remembered(attempt: Attempt) -> str:
        if attempt.number not in known or known[attempt.number][0] is not attempt:
            known[attempt.number] = (attempt, told(attempt))
        return known[attempt.number][1]

    return remembered
