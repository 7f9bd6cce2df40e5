"""State file, SCRATCHPAD.md, BUILD_LOG.md and step files, made anew from a journal where they are not as it says."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from aigon.files.store import keep_damaged, write_atomic
from aigon.files.views import write_view
from aigon.journal.events import Event, RunStarted
from aigon.journal.memory_sink import memory
from aigon.journal.state import State
from aigon.journal.state_file import StateFileSink, last_written
from aigon.journal.step_sink import StepSink
from aigon.model.diagnosis import RepairedRecord, UnrepairedRecord
from aigon.run.sound_records import state_of

Did = RepairedRecord | UnrepairedRecord


def state_again(path: Path, events: Sequence[Event]) -> Iterator[Did]:
    """The state file as the run with these events leaves it."""
    how = state_of(path)
    if how == "newer":
        yield UnrepairedRecord("state file", str(path), "it is from a newer aigon", "Update aigon")
        return
    wanted = _state(path, events)
    if wanted is None or (how == "whole" and path.read_bytes() == wanted):
        return
    kept = str(keep_damaged(path)) if how == "damaged" else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, wanted)
    yield RepairedRecord("state file", str(path), kept, "made anew from the journal")


def _state(path: Path, events: Sequence[Event]) -> bytes | None:
    sink, state, wanted = StateFileSink(path), State(), None
    last = last_written(events)
    for at, event in enumerate(events):
        state = state.apply(event)
        sink.remember(event)
        if at == last:
            wanted = sink.rendered(event, state)
    return wanted


def views_again(
    folder: Path, events: Callable[[], Iterable[Event]], *, behind: bool = True
) -> Iterator[RepairedRecord]:
    """The files for people in the folder of a run. With `behind`, those too that only lack what came last.

    `events` is asked twice, so that they need not be in memory.
    """
    for name, text in chain(StepSink(folder).rendered(events()), memory(folder, events()).items()):
        path, wanted = folder / name, text.encode("utf-8", "replace")
        how = _how(path, wanted)
        if how == "whole" or (how == "behind" and not behind):
            continue
        kept = str(keep_damaged(path)) if how == "damaged" else ""
        write_view(path, text)
        yield RepairedRecord("view of a run", str(path), kept, "made anew from the journal")


def views_whole(folder: Path, titles: Mapping[str, str]) -> bool:
    """Whether all of these files, by name, are there, and pages of aigon's by their first lines, the title of each."""
    return all(_how(folder / name, title.encode("utf-8", "replace")) == "behind" for name, title in titles.items())


def _how(path: Path, wanted: bytes) -> str:
    """`whole`, `absent`, `behind` (a page of aigon's that says something else) or `damaged`."""
    if not path.is_file() or path.is_symlink():
        return "damaged" if path.is_symlink() or path.exists() else "absent"
    there = path.read_bytes()
    if there == wanted:
        return "whole"
    own = b"\0" not in there and there.endswith(b"\n") and there.partition(b"\n")[0] == wanted.partition(b"\n")[0]
    return "behind" if own else "damaged"


def run_folder(main: Path, events: Sequence[Event]) -> Path | None:
    """The folder of the run with these events."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    return main / ".aigon" / "runs" / started.run_id if started else None
