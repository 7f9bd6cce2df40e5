"""Journals read back: the events of a run, while it runs or later, and the state that they lead to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from aigon.errors import AigonError, Exit
from aigon.files.checksums import damage_error, iterate_documents, parse_lines
from aigon.journal.codec import decode
from aigon.journal.events import Event, RunStarted
from aigon.journal.state import State
from aigon.journal.state_file import EncodedIterations
from aigon.journal.steps import TurnHistory

CHUNK = 1 << 20
"""Bytes of a journal that are read at a time."""


class NewerJournal(AigonError):
    """A journal that another version wrote: it is left as it is."""


def read_events(path: Path) -> list[Event]:
    """Return the events of a journal, oldest first; none if there is no journal.

    Raises AigonError (exit 7) for a damaged line, NewerJournal (exit 7) for one of another version.
    """
    return list(iterate_events(path))


def read_journals(journals: Iterable[Path]) -> tuple[list[Sequence[Event]], dict[Path, str]]:
    """Return the events of each journal, and which of them cannot be read and why."""
    read, unread = list[Sequence[Event]](), dict[Path, str]()
    for journal in journals:
        try:
            read.append(read_events(journal))
        except (AigonError, OSError) as error:
            unread[journal] = error.what if isinstance(error, AigonError) else str(error.strerror)
    return read, unread


def iterate_events(path: Path, skip: Sequence[str] = (), only: Sequence[str] = ()) -> Iterator[Event]:
    """Yield the events of a journal of any length one by one, without those named in `skip`, or `only` those.

    Raises as `read_events` does, for what it yields.
    """
    if path.exists():
        # The name of an event is the last thing on its line, where no text of another event can be.
        skipped, wanted = (tuple(f'"event":"{name}"}}\n'.encode() for name in names) for names in (skip, only))
        yield from decode_events(iterate_documents(path, skipped, wanted or (b"\n",)), path)


def decode_events(documents: Iterable[Mapping[str, object]], path: Path) -> Iterator[Event]:
    """Yield the events in these documents of the journal at `path`. Raises NewerJournal (exit 7)."""
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


def tail_events(path: Path, is_live: Callable[[], bool]) -> Iterator[Event | None]:
    """Yield the events of a run as its journal gets them, and None for each time that there is no more yet.

    A new run puts the journal aside: the iterator ends there too, and if the journal is deleted. Raises as
    `read_events` does.
    """
    first, offset, number, size = b"", 0, 0, CHUNK
    while True:
        live = is_live()  # before reading: what a run writes last is there when it has ended
        try:
            with path.open("rb") as file:
                begin = file.readline()
                if first and begin != first:
                    return
                first = begin if begin.endswith(b"\n") else b""
                file.seek(offset)
                data = file.read(size)
        except FileNotFoundError:
            if first:
                return
            data = b""
        has_more, whole = len(data) == size, data[: data.rfind(b"\n") + 1]
        size = 2 * size if has_more and not whole else CHUNK
        offset += len(whole)
        for document in parse_lines(whole):
            number += 1
            if document is None:
                raise damage_error("The journal of this run", f"{path}:{number}")
            yield from decode_events((document,), path)
        if has_more:
            continue
        if not live:
            return
        yield None


class EventOrder(Struct):
    """Checks the order of events: one run, begun once, resumed only by itself. `first` is how it began."""

    first: RunStarted | None = None

    def accepts(self, event: Event) -> bool:
        """Return whether `event` can come next."""
        if not isinstance(event, RunStarted):
            return self.first is not None
        if self.first is None:
            self.first = event
            return not event.resumed
        return event.resumed and event.run_id == self.first.run_id


def find_misplaced_event(events: Iterable[Event]) -> int | None:
    """Return the index of the first event that cannot come where it does."""
    order = EventOrder()
    return next((index for index, event in enumerate(events) if not order.accepts(event)), None)


class RunPast(Struct, frozen=True):
    """The state of a run that goes on, and what its sinks have to know of the events so far."""

    state: State = field(default_factory=State)
    iterations: EncodedIterations = field(default_factory=EncodedIterations)
    turns: TurnHistory = field(default_factory=TurnHistory)


def replay_past(events: Iterable[Event]) -> RunPast:
    """Fold these events, oldest first. Each is released before the next one is asked for: a journal may be long."""
    state, iterations, turns = State(), EncodedIterations(), TurnHistory()
    for event in events:
        state = state.apply(event)
        iterations.take(event)
        turns.take(event)
    return RunPast(state, iterations, turns)
