"""The record of a run: every event, one checksummed line each, durable where the loop relies on it."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from aigon.errors import AigonError, Exit
from aigon.files.store import Journal, journal_documents
from aigon.journal.codec import decode, dumps
from aigon.journal.events import DURABLE, Event
from aigon.journal.state import State


class NewerJournal(AigonError):
    """A journal that another version wrote: nothing is guessed, and it is left as it is."""


class JournalSink:
    """Appends to the journal at `path`; an event marked durable is on disk when the call returns."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)

    def __call__(self, event: Event, _state: State) -> None:
        self._journal.append(dumps(event), durable=isinstance(event, DURABLE))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def events(path: Path) -> list[Event]:
    """What a journal holds, oldest first; empty when there is none.

    Raises AigonError (exit 7) for a damaged line, and for one that a newer version wrote (NewerJournal).
    """
    return list(each_event(path))


def each_event(path: Path) -> Iterator[Event]:
    """The same one by one, for a journal of any length. Raises AigonError (exit 7) where it comes to such a line."""
    if path.exists():
        yield from _each(journal_documents(path), path)


def decoded(documents: Iterable[Mapping[str, object]], path: Path) -> list[Event]:
    """The events in these documents of the journal at `path`. Raises NewerJournal (exit 7)."""
    return list(_each(documents, path))


def _each(documents: Iterable[Mapping[str, object]], path: Path) -> Iterator[Event]:
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
