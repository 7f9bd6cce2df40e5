"""Journals read back: the events of a run, their order, and the state that they lead to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aigon.errors import AigonError, Exit
from aigon.files.checksums import iterate_documents
from aigon.journal.codec import decode
from aigon.journal.events import Event, RunStarted
from aigon.journal.state import State
from aigon.journal.state_file import EncodedIterations
from aigon.journal.steps import TurnHistory


class NewerJournal(AigonError):
    """A journal that another version wrote: nothing is guessed, and it is left as it is."""


def read_events(path: Path) -> list[Event]:
    """What a journal holds, oldest first; empty when there is none.

    Raises AigonError (exit 7) for a damaged line, and for one that a newer version wrote (NewerJournal).
    """
    return list(iterate_events(path))


def iterate_events(path: Path) -> Iterator[Event]:
    """The same one by one, for a journal of any length. Raises AigonError (exit 7) where it comes to such a line."""
    if path.exists():
        yield from _decode_each(iterate_documents(path), path)


def decode_events(documents: Iterable[Mapping[str, object]], path: Path) -> list[Event]:
    """The events in these documents of the journal at `path`. Raises NewerJournal (exit 7)."""
    return list(_decode_each(documents, path))


def _decode_each(documents: Iterable[Mapping[str, object]], path: Path) -> Iterator[Event]:
    try:
        for document in documents:
            yield decode(document)
    except ValueError as error:
        raise NewerJournal(
            f"The journal of this run was written by another version of aigon: {error}",
            where=str(path),
            hint="Update aigon, or use the version that wrote it; the journal is left as it is",
            code=Exit.ENVIRONMENT,
        ) from None


@dataclass(slots=True)
class EventOrder:
    """Looks at events as they come; `first` is how their run began."""

    first: RunStarted | None = None

    def goes_on(self, event: Event) -> bool:
        """Whether `event` can come next."""
        if not isinstance(event, RunStarted):
            return self.first is not None
        if self.first is None:
            self.first = event
            return not event.resumed
        return event.resumed and event.run_id == self.first.run_id


def find_misplaced_event(events: Iterable[Event]) -> int | None:
    """The place, from 0, of the first event that cannot stand where it does; None where there is none."""
    order = EventOrder()
    return next((at for at, event in enumerate(events) if not order.goes_on(event)), None)


@dataclass(frozen=True, slots=True)
class RunPast:
    """The state that the events so far led to, and what the sinks of a run that goes on have to know of them."""

    state: State = field(default_factory=State)
    iterations: EncodedIterations = field(default_factory=EncodedIterations)
    turns: TurnHistory = field(default_factory=TurnHistory)


def replay_past(events: Iterable[Event]) -> RunPast:
    """What these events come to, oldest first; each is let go of before the next one is asked for."""
    state, iterations, turns = State(), EncodedIterations(), TurnHistory()
    for event in events:
        state = state.apply(event)
        iterations.take(event)
        turns.take(event)
    return RunPast(state, iterations, turns)
