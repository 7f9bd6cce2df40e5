"""Repair everything that aigon keeps of a repository: `aigon doctor --repair`, and damaged journals.

Damaged files are kept aside and rebuilt from intact ones.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError
from aigon.files.atomic import keep_damaged, sync_folder, write_atomic
from aigon.files.checksums import format_line, parse_lines, read_documents
from aigon.files.home import find_home
from aigon.files.locks import hold_lock, read_start
from aigon.git.person import Checkout
from aigon.git.repository import RepositoryFolders, find_repository
from aigon.job.world import World
from aigon.journal.events import (
    CommitIntended,
    Event,
    IterationFinished,
    MoneySpent,
    RecordRepaired,
    RunStarted,
    TurnEnded,
)
from aigon.journal.records import Records
from aigon.journal.replay import decode_events, dumps, find_misplaced_event
from aigon.journal.state import State, replay
from aigon.model.outcomes import RepairedRecord, RepairReport, UnrepairedRecord
from aigon.process.running import loop_lock
from aigon.run import invocations
from aigon.run.record_repair import (
    RepairStep,
    inspect_state_file,
    keep_existing,
    repair_records,
    repair_state_file,
    repair_views,
    require_sound_records,
)
from aigon.spec import files
from aigon.text.patterns import compile_re

_DAMAGED_STATE = "The state file is damaged ({})"
_TEMPORARY = compile_re(r".+\.(\d+)\.tmp")
_OWN = ("arena", "cache", "compared", "evaluations", "features", "rehearsed")
"""Folders in which only aigon writes. Rooms and kept dependencies have files of the project and of its tools."""
_OF_CHECKOUT = ("*.tmp", "approvals/*.tmp", "runs/*/*.tmp")


def repair_repository(start: Path, feature: str | None = None) -> RepairReport:
    """Repair what aigon keeps of the repository around `start`, or of one feature. Running loops are left alone.

    Raises AigonError (exit 7) outside of a repository.
    """
    repository = find_repository(start)
    home = find_home(repository.common_dir)
    wanted = feature
    if feature:
        try:
            wanted = files.locate_feature(repository.root, feature).name_for_people
        except AigonError:  # its spec may be gone
            wanted = feature
    steps: list[RepairStep] = []
    if home:
        with Checkout.open(repository.root) as checkout:
            for records in _list_records(home, wanted):
                steps += _repair_feature(records, home, repository, checkout)
    for file in _list_orphaned_state_files(repository, home, wanted):
        kept = keep_existing(file)
        file.unlink(missing_ok=True)
        steps.append(RepairedRecord("state file", str(file), kept, "put aside: there is no journal to make it of"))
    ended = 0
    if home and not feature:
        steps += _remove_temporary_files(repository, home)
        ended = invocations.end_processes(invocations.list_left_processes(home))
    return RepairReport(
        tuple(each for each in steps if isinstance(each, RepairedRecord)),
        tuple(each for each in steps if isinstance(each, UnrepairedRecord)),
        ended,
    )


def list_damage(start: Path) -> tuple[str, ...]:
    """Return what is damaged, for people. Nothing is changed."""
    repository = find_repository(start)
    home = find_home(repository.common_dir)
    sentences: list[str] = []
    for records in _list_records(home, None) if home else ():
        state = locate_state_file(records, repository)
        try:
            for path in records.journals():
                try:
                    read_documents(path)
                except AigonError as error:
                    sentences.append(str(error))
            require_sound_records(records, state)
        except AigonError as error:
            sentences.append(str(error))
        if inspect_state_file(state) == "damaged":
            sentences.append(_DAMAGED_STATE.format(state))
    sentences += [_DAMAGED_STATE.format(file) for file in _list_orphaned_state_files(repository, home, None)]
    return tuple(dict.fromkeys(sentences))


def _list_records(home: Path, wanted: str | None) -> Iterator[Records]:
    """Yield the records of every feature and agent, or those of one feature."""
    for folder in sorted(path for path in home.glob("features/*") if path.is_dir()):
        records = Records(folder)
        if wanted is None or wanted in (records.name, *_list_names(folder.name)):
            yield records


def _list_names(folder: str) -> tuple[str, str]:
    """Return the names by which people ask for records: their own (`42-cc`) and that of the feature."""
    return folder, folder.partition("-")[0]


def _list_orphaned_state_files(repository: RepositoryFolders, home: Path | None, wanted: str | None) -> Iterator[Path]:
    """Yield damaged state files without a journal to rebuild them from."""
    for root in _list_checkouts(repository):
        for file in sorted((root / ".aigon").glob("loop-state-*.json")):
            name = file.stem.removeprefix("loop-state-")
            journal = home and Records(home / "features" / name).journal
            owned = journal and journal.exists() and journal.stat().st_size
            if not owned and (wanted is None or wanted in _list_names(name)) and inspect_state_file(file) == "damaged":
                yield file


def _repair_feature(
    records: Records, home: Path, repository: RepositoryFolders, checkout: Checkout
) -> Iterator[RepairStep]:
    """Repair the records of one feature and agent, under the lock that its loop would hold."""
    name = records.folder.name
    try:
        with hold_lock(loop_lock(home, name), f"Feature {name}"):
            yield from repair_records(records, checkout, World.now())
            for path in records.journals():
                yield from _repair_run(records, path, repository, checkout)
    except AigonError as error:
        hinders = "in use" not in error.what
        yield UnrepairedRecord("feature", str(records.folder), str(error), error.hint, hinders=hinders)


def _repair_run(
    records: Records, path: Path, repository: RepositoryFolders, checkout: Checkout
) -> Iterator[RepairStep]:
    """Repair a journal, then its views. The state file belongs to the current run."""
    current = path == records.journal
    try:
        done = repair_journal(path, checkout, World.now())
        events = read_journal_parts(path).sound if path.exists() else ()
    except AigonError as error:
        yield UnrepairedRecord("journal", str(path), error.what, error.hint, hinders=current)
        return
    if done:
        yield done
    state_file = locate_state_file(records, repository)
    if current and events:
        yield from repair_state_file(state_file, events)
    if started := next((event for event in events if isinstance(event, RunStarted)), None):
        folder = state_file.parent / "runs" / started.run_id
        if current or folder.is_dir():
            yield from repair_views(folder, events)


def locate_state_file(records: Records, repository: RepositoryFolders) -> Path:
    """Return the state file. It may be in another checkout: a person may have run a loop in a worktree of their own."""
    places = [root / ".aigon" / f"loop-state-{records.folder.name}.json" for root in _list_checkouts(repository)]
    return next((place for place in places if place.exists()), places[0])


def _list_checkouts(repository: RepositoryFolders) -> tuple[Path, ...]:
    return (repository.root, *repository.worktrees)


def _remove_temporary_files(repository: RepositoryFolders, home: Path) -> Iterator[RepairedRecord]:
    """Remove temporary files of aigon's whose process is gone."""
    paths = [*home.glob("*.tmp"), *(path for name in _OWN for path in (home / name).rglob("*.tmp"))]
    paths += (repository.common_dir / "aigon").glob("*.tmp")
    for root in _list_checkouts(repository):
        paths += [path for name in _OF_CHECKOUT for path in (root / ".aigon").glob(name)]
    for path in sorted(paths):
        match = _TEMPORARY.fullmatch(path.name)
        if match and path.is_file() and not read_start(int(match[1])):
            path.unlink(missing_ok=True)
            yield RepairedRecord("temporary file", str(path), "", "removed: the process that wrote it is gone")


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
