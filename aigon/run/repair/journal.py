"""Repair a damaged journal from its intact beginning, and rebuild what is made of it: state file, files for people."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from aigon.files.atomic import keep_damaged, sync_folder, write_atomic, write_view
from aigon.files.checksums import format_line, parse_lines
from aigon.git.person import Checkout
from aigon.journal.codec import dumps
from aigon.journal.events import (
    CommitIntended,
    Event,
    IterationFinished,
    MoneySpent,
    RecordRepaired,
    RunStarted,
    TurnEnded,
)
from aigon.journal.replay import decode_events, find_misplaced_event
from aigon.journal.state import State, replay
from aigon.journal.state_file import StateFileSink, find_last_write
from aigon.journal.steps import StepSink
from aigon.model.outcomes import RepairedRecord, UnrepairedRecord
from aigon.run.repair.records import RepairStep, inspect_state_file, keep_existing
from aigon.run.sinks.memory import render_run_files

MAX_ITERATION = 100_000
"""A commit that claims a higher iteration was not made by aigon."""


class JournalParts(Struct, frozen=True):
    """A journal: its lines, the events of its intact beginning (`sound`), and the `others` that are still readable."""

    lines: Sequence[bytes]
    sound: Sequence[Event]
    others: Sequence[Event]


def read_journal_parts(path: Path) -> JournalParts:
    """Return the parts of a journal. Raises AigonError (exit 7) if a line is from a newer version."""
    data = path.read_bytes()
    documents = parse_lines(data)
    decoded = iter(decode_events((each for each in documents if each is not None), path))
    events = [None if document is None else next(decoded) for document in documents]
    cut = next((at for at, event in enumerate(events) if event is None), len(events))
    beginning = [event for event in events[:cut] if event is not None]
    wrong = find_misplaced_event(beginning)
    cut = cut if wrong is None else wrong
    return JournalParts(data.split(b"\n")[:-1], beginning[:cut], [event for event in events[cut:] if event is not None])


def repair_journal(path: Path, checkout: Checkout, now: str) -> RepairedRecord | None:
    """Rebuild a damaged journal. Return None if it is whole.

    The lost lines still tell what turns cost and which numbers iterations had: neither can make a run seem better than
    it is. Raises AigonError (exit 7) for a journal of a newer version.
    """
    parts = read_journal_parts(path)
    if len(parts.sound) == len(parts.lines):
        return None
    kept = keep_damaged(path)
    if not parts.sound:
        path.unlink()
        sync_folder(path.parent)
        how = "not even its first event can be read: the next --loop starts from scratch; what was spent is unknown"
        return RepairedRecord("journal", str(path), str(kept), how)
    state = replay(list(parts.sound))
    mark = _make_mark(parts, state, checkout, kept, now)
    added = b"".join(format_line(dumps(event)) for event in (*_list_published(state, checkout), mark))
    write_atomic(path, b"".join(line + b"\n" for line in parts.lines[: len(parts.sound)]) + added, lasting=True)
    span = f" of after {mark.since}" + (f", up to {mark.until}" if mark.until else "") if mark.since else ""
    how = f"rebuilt from its intact beginning; {mark.lost} lines{span} are lost, and their cost is unknown;"
    return RepairedRecord("journal", str(path), str(kept), f"{how} --resume continues from the branch")


def _list_published(state: State, checkout: Checkout) -> tuple[Event, ...]:
    """Return the iteration whose commit the last intact lines announced, if the branch has it."""
    intended = state.intended
    tip = checkout.commit_of(f"refs/heads/{state.started.branch}") if intended and state.started else None
    if not (intended and tip and checkout.commit_of(intended.commit) and checkout.is_ancestor(intended.commit, tip)):
        return ()
    return (intended.finished,)


def _make_mark(parts: JournalParts, state: State, checkout: Checkout, kept: Path, now: str) -> RecordRepaired:
    finished = [event.number for event in parts.others if isinstance(event, (IterationFinished, CommitIntended))]
    costs = [event.turn.cost for event in parts.others if isinstance(event, TurnEnded)]
    costs += [event.cost for event in parts.others if isinstance(event, MoneySpent)]
    return RecordRepaired(
        at=now,
        number=max((*finished, *_list_committed_iterations(state.started, checkout), 0)),
        lost=len(parts.lines) - len(parts.sound),
        since=parts.sound[-1].at,
        until=parts.others[-1].at if parts.others else "",
        usd=sum(cost or 0.0 for cost in costs),
        kept_as=kept.name,
        checkpoints=tuple(event.commit for event in parts.others if isinstance(event, CommitIntended)),
    )


def _list_committed_iterations(started: RunStarted | None, checkout: Checkout) -> list[int]:
    """Return the iteration numbers in this run's commits. They identify iterations and prove nothing."""
    if started is None:
        return []
    key: Callable[[str], str] = lambda name: f"%(trailers:key=Aigon-{name},valueonly,separator=%x20)"  # noqa: E731
    span = ("--max-count=10000", f"refs/heads/{started.branch}", f"^{started.base_commit}")
    listed = checkout.ask("rev-list", f"--format={key('Run')} {key('Iteration')}", *span) or ""
    pairs = [line.split() for line in listed.splitlines() if not line.startswith("commit ")]
    own = [pair[1] for pair in pairs if len(pair) == 2 and pair[0] == started.run_id]
    return [int(number) for number in own if number.isdecimal() and len(number) <= len(str(MAX_ITERATION))]


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
            wanted = sink.render(event, state)
    if wanted is None or (how == "whole" and path.read_bytes() == wanted):
        return
    kept = keep_existing(path) if how == "damaged" else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, wanted)
    yield RepairedRecord("state file", str(path), kept, "rebuilt from the journal")


def repair_views(
    folder: Path, events: Callable[[], Iterable[Event]], *, behind: bool = True
) -> Iterator[RepairedRecord]:
    """Rebuild the files for people in a run's folder; with `behind`, also those that only lack the latest events.

    `events` is called twice, so that they need not be in memory.
    """
    for name, text in chain(StepSink(folder).render(events()), render_run_files(folder, events()).items()):
        path, wanted = folder / name, text.encode("utf-8", "replace")
        how = _compare_view(path, wanted)
        if how == "whole" or (how == "behind" and not behind):
            continue
        kept = keep_existing(path) if how == "damaged" else ""
        write_view(path, text)
        yield RepairedRecord("view of a run", str(path), kept, "rebuilt from the journal")


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
