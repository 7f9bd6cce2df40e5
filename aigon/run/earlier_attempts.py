"""What earlier runs of a feature tried, so that a new run does not try it again."""

from collections.abc import Iterator
from pathlib import Path

from aigon.errors import AigonError
from aigon.journal.attempt import Attempt
from aigon.journal.attempts import Attempts
from aigon.journal.events import RunStarted
from aigon.journal.memory import WHOLE
from aigon.journal.records import Records
from aigon.journal.sink import each_event
from aigon.journal.state import State


def earlier_attempts(records: Records, base: str, last: State | None = None) -> tuple[Attempt, ...]:
    """Return the latest attempts of the archived runs that began at the commit `base`, oldest first.

    `last` is what the newest of them came to, if the caller has read it. A damaged journal ends the search: nothing but
    the prompt depends on it.
    """
    found: tuple[Attempt, ...] = ()
    for run in _runs(records, base, last):
        if len(found) >= WHOLE or run is None:
            break
        found = (*run.all, *found)
    return found[-WHOLE:]


def _runs(records: Records, base: str, last: State | None) -> Iterator[Attempts | None]:
    """Yield what each run tried, the newest first; None for one that cannot be read."""
    archived = [path for path in reversed(records.journals()) if path != records.journal]
    if last and last.started and archived:
        yield last.tried if last.started.base_commit == base else None
        archived = archived[1:]
    yield from (_tried(path, base) for path in archived)


def _tried(journal: Path, base: str) -> Attempts | None:
    tried = Attempts()
    try:
        for event in each_event(journal):
            if isinstance(event, RunStarted) and event.base_commit != base:
                return None
            tried = tried.apply(event)
    except (AigonError, OSError, ValueError):
        return None
    return tried
