"""What is made of a journal, and rebuilt from it: the state file, and the files for people in a run's folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from aigon.files.atomic import write_atomic, write_view
from aigon.journal.build_log import render_run_files
from aigon.journal.events import Event
from aigon.journal.state import State
from aigon.journal.state_file import StateFileSink, find_last_write
from aigon.journal.steps import StepSink
from aigon.model.diagnosis import RepairedRecord, UnrepairedRecord
from aigon.run.repair.records import RepairStep, inspect_state_file, keep_existing


def repair_state_file(path: Path, events: Sequence[Event]) -> Iterator[RepairStep]:
    """Rebuild the state file of the run with these events."""
    how = inspect_state_file(path)
    if how == "newer":
        yield UnrepairedRecord("state file", str(path), "it is from a newer aigon", "Update aigon")
        return
    sink, state, wanted, last = StateFileSink(path), State(), None, find_last_write(events)
    for at, event in enumerate(events):
        state = state.apply(event)
        sink.remember(event)
        if at == last:
            wanted = sink.rendered(event, state)
    if wanted is None or (how == "whole" and path.read_bytes() == wanted):
        return
    kept = keep_existing(path) if how == "damaged" else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, wanted)
    yield RepairedRecord("state file", str(path), kept, "made anew from the journal")


def repair_views(
    folder: Path, events: Callable[[], Iterable[Event]], *, behind: bool = True
) -> Iterator[RepairedRecord]:
    """Rebuild the files for people in a run's folder; with `behind`, also those that only lack the latest events.

    `events` is called twice, so that they need not be in memory.
    """
    for name, text in chain(StepSink(folder).rendered(events()), render_run_files(folder, events()).items()):
        path, wanted = folder / name, text.encode("utf-8", "replace")
        how = _compare_view(path, wanted)
        if how == "whole" or (how == "behind" and not behind):
            continue
        kept = keep_existing(path) if how == "damaged" else ""
        write_view(path, text)
        yield RepairedRecord("view of a run", str(path), kept, "made anew from the journal")


def are_views_intact(folder: Path, titles: Mapping[str, str]) -> bool:
    """Return whether all of these files exist and begin with their titles."""
    return all(
        _compare_view(folder / name, title.encode("utf-8", "replace")) == "behind" for name, title in titles.items()
    )


def _compare_view(path: Path, wanted: bytes) -> str:
    """Return `whole`, `absent`, `behind` (an intact page with other content) or `damaged`."""
    if not path.is_file() or path.is_symlink():
        return "damaged" if path.is_symlink() or path.exists() else "absent"
    content = path.read_bytes()
    if content == wanted:
        return "whole"
    own = b"\0" not in content and content.endswith(b"\n")
    return "behind" if own and content.partition(b"\n")[0] == wanted.partition(b"\n")[0] else "damaged"
