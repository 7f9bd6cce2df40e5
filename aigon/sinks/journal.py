"""The record of a run: every event, one checksummed line each, durable where the loop relies on it."""

from pathlib import Path

from aigon.core.codec import decode, dumps
from aigon.core.events import DURABLE, Event
from aigon.core.state import State
from aigon.ports.store import Journal, read_journal


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

    Raises AigonError (exit 7) for a damaged line and for one that a newer version wrote.
    """
    if not path.exists():
        return []
    try:
        return [decode(document) for document in read_journal(path)]
    except ValueError as error:
        from aigon.core.errors import environment

        raise environment(
            f"The journal of this run was written by another version of aigon: {error}",
            where=str(path),
            hint="Use that version, or start a new run with --loop; the journal is left as it is",
        ) from None
