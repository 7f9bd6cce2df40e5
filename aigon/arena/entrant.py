"""One candidate of an arena and the process of its loop."""

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aigon.arena.event import document_of, event_of
from aigon.arena.lane import Lane
from aigon.arena.outcome import Ended
from aigon.journal.events import Event
from aigon.process.children import Child

Told = Callable[[Mapping[str, Any], Event | None], None]
END_SECONDS = 10.0
"""From the word that all has to end at once until a process that is still there is killed: a person waits no longer."""


@dataclass(slots=True)
class Entrant:
    """A candidate. `why` says who ended it, if not itself, and `kill_at` (monotonic) is when it is killed."""

    lane: Lane
    resume: bool
    child: Child | None = None
    began: float = 0.0
    why: str = ""
    sent: list[signal.Signals] = field(default_factory=list)
    kill_at: float | None = None

    @property
    def label(self) -> str:
        """What the candidate is called."""
        return self.lane.label

    def start(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        """Start its loop. Raises OSError where that fails."""
        self.began = time.monotonic()
        self.child = Child(argv, cwd=cwd, env=env, log=log)

    def take(self, ready: Iterable[int], told: Told) -> bool:
        """Take in what its loop sent; whether that has exited."""
        assert self.child is not None, "it was started"
        self._hear(self.child.read(ready), told)
        return self.child.over(ready)

    def finish(self, told: Told) -> Ended:
        """How it ended, once its loop has exited."""
        assert self.child is not None, "it was started"
        lines, code, errors = self.child.end()
        self._hear(lines, told)
        return self.lane.finish(
            code,
            killed_by=signal.Signals(-code).name if code < 0 else "",
            last_words=_last_words(errors),
            why=self.why,
            seconds=time.monotonic() - self.began,
        )

    def ask(self, number: signal.Signals) -> None:
        """Ask for the end of its iteration, once. One that has said its last word is left to go."""
        if number not in self.sent:
            self._send(number)

    def insist(self, number: signal.Signals | None, *, why: str = "") -> None:
        """Ask for its end at once, and kill it where that takes too long; None is for one that sees a stop file itself.

        SIGINT is sent again each time: a process that gets two at once sees one.
        """
        now = time.monotonic()
        if self.kill_at is None:
            self.kill_at, self.why = now + END_SECONDS, why
        if now >= self.kill_at:
            self._kill()
        elif number is None and now >= self.kill_at - END_SECONDS / 2:  # the stop file is gone by now, perhaps
            self.ask(signal.SIGTERM)
        elif number == signal.SIGINT:
            self._send(number)
        elif number:
            self.ask(number)

    def _send(self, number: signal.Signals) -> None:
        self.sent.append(number)
        if self.child and self.lane.end is None:
            self.child.signal(number)

    def _kill(self) -> None:
        if self.child:
            self.child.signal(signal.SIGKILL)

    def _hear(self, lines: Iterable[bytes], told: Told) -> None:
        for line in lines:
            document = document_of(line)
            if document is not None:
                event = event_of(document)
                self.lane = self.lane.apply(event) if event else self.lane
                self.lane = replace(self.lane, hint=_hint(document) or self.lane.hint)
                told(document, event)


def _hint(document: Mapping[str, Any]) -> str:
    """What the error of a refused run says is to be done."""
    error = document.get("error")
    return str(error.get("hint") or "") if isinstance(error, dict) else ""


def _last_words(errors: str) -> str:
    """What a process said last: an error of aigon's own goes on for some lines, of which the first says what it is."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("aigon: ")]
    return (own or lines or [""])[-1]
