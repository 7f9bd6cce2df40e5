"""`step_01.md`, `step_02.md`, ... in the run folder: each turn of an agent in short, for people.

Views of the journal: nothing reads them back, and a run goes on without them.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.views import write_view
from aigon.journal.events import Event, IterationStarted, TurnEnded
from aigon.journal.steps import begun, ended, headings
from aigon.model.turns import Turn

APART = 1.0
"""Seconds after one writing in which the beginning of a turn is not written: its end will be, soon enough."""
LARGEST = 4_000_000
"""Bytes of a prompt that are read for its headings."""


class StepSink:
    """Writes the file of a turn when it ends, and when it begins, unless the last one was written just before.

    A turn that is repeated under its number goes below.

    The file is written whole each time from what was seen here, so that nothing an agent does to it stays.
    """

    def __init__(self, folder: Path, past: Iterable[Event] = ()) -> None:
        self._folder = folder
        self._number, self._text, self._tries, self._open = 0, "", 0, False
        self._due, self._written = False, -APART
        for event in turns_of(past).last:
            self._take(event)

    def __call__(self, event: Event) -> None:
        """Write what `event` adds. Raises OSError where it cannot be written."""
        if isinstance(event, (IterationStarted, TurnEnded)):
            self._take(event)
            self._due = True
            if isinstance(event, TurnEnded) or time.monotonic() - self._written >= APART:
                self._write()

    def close(self) -> None:
        """Write what is not written yet."""
        if self._due:
            self._write()

    def _write(self) -> None:
        self._due, self._written = False, time.monotonic()
        write_view(self._folder / self._name, self._text)

    @property
    def _name(self) -> str:
        return _file(self._number)

    def rendered(self, events: Iterable[Event]) -> Iterator[tuple[str, str]]:
        """The files of all turns that these events tell of, each with its name, one by one."""
        for event in events:
            if isinstance(event, (IterationStarted, TurnEnded)):
                if self._text and _number(event) != self._number:
                    yield self._name, self._text
                self._take(event)
        if self._text:
            yield self._name, self._text

    def _take(self, event: IterationStarted | TurnEnded) -> None:
        if _number(event) != self._number:
            self._number, self._text, self._tries, self._open = _number(event), "", 0, False
        if isinstance(event, IterationStarted):
            self._begin(event)
            return
        if not self._open:
            self._begin(_beginning(event.turn, event.at))
        self._text += ended(event.turn, event.at, self._output(), again=self._tries > 1)
        self._open = False

    def _begin(self, event: IterationStarted) -> None:
        self._tries, self._open = self._tries + 1, True
        file = f"{event.number:03d}/prompt.md"
        shown = begun(event, headings(_prompt(self._folder / file)), file, again=self._tries > 1)
        self._text += f"\n{shown}" if self._text else shown

    def _output(self) -> str:
        """The log of this try: each has one of its own, unless its program never started."""
        names = [f"{self._number:03d}/agent{f'-{at}' if at > 1 else ''}.log" for at in range(1, self._tries + 1)]
        return next((name for name in reversed(names) if (self._folder / name).exists()), "")


@dataclass(slots=True)
class Turns:
    """What a run's events say of its turns: the events of the last one, and the first line of each one's file."""

    last: list[IterationStarted | TurnEnded] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Hear of `event`."""
        if not isinstance(event, (IterationStarted, TurnEnded)):
            return
        if self.last and _number(self.last[0]) == _number(event):
            self.last.append(event)
            return
        self.last = [event]
        first = event if isinstance(event, IterationStarted) else _beginning(event.turn, event.at)
        self.titles[_file(first.number)] = begun(first, (), "", again=False).partition("\n")[0]


def turns_of(events: Iterable[Event]) -> Turns:
    """What these events say of turns."""
    turns = Turns()
    for event in events:
        turns.take(event)
    return turns


def _file(number: int) -> str:
    return f"step_{number:02d}.md"


def _number(event: IterationStarted | TurnEnded) -> int:
    return event.number if isinstance(event, IterationStarted) else event.turn.number


def _beginning(turn: Turn, at: str) -> IterationStarted:
    """Of a turn of which only the end is known."""
    return IterationStarted(at, turn.number, turn.agent, turn.model, 0, 1, 0)


def _prompt(file: Path) -> str:
    """The text of the prompt, which aigon wrote just now; empty where it is not there."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(LARGEST).decode("utf-8", "replace")
    return ""
