"""Repair everything that aigon keeps of a repository. Damaged files are kept aside and rebuilt from intact ones."""

from collections.abc import Iterator
from pathlib import Path

from aigon.errors import AigonError
from aigon.files.checksums import read_documents
from aigon.files.home import find_home
from aigon.files.locks import hold_lock, read_start
from aigon.git.person import Checkout
from aigon.git.repository import RepositoryFolders, find_repository
from aigon.job.world import World
from aigon.journal.events import RunStarted
from aigon.journal.records import Records
from aigon.model.outcomes import RepairedRecord, RepairReport, UnrepairedRecord
from aigon.process.running import loop_lock
from aigon.run import invocations
from aigon.run.repair.journal import read_journal_parts, repair_journal, repair_state_file, repair_views
from aigon.run.repair.records import (
    RepairStep,
    inspect_state_file,
    keep_existing,
    repair_records,
    require_sound_records,
)
from aigon.spec import files
from aigon.text.patterns import compile_re

_DAMAGED_STATE = "The state file is damaged ({})"
_TEMPORARY = compile_re(r".+\.(\d+)\.tmp")
_OWN = ("arena", "cache", "compared", "evaluations", "features", "rehearsed")
"""Folders in which only aigon writes. Rooms and kept dependencies have files of the project and of its tools."""


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
            yield from repair_views(folder, lambda: events)


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
        paths += [*(root / ".aigon").glob("loop-state-*.tmp"), *(root / ".aigon" / "runs").glob("*/*.tmp")]
    for path in sorted(paths):
        match = _TEMPORARY.fullmatch(path.name)
        if match and path.is_file() and not read_start(int(match[1])):
            path.unlink(missing_ok=True)
            yield RepairedRecord("temporary file", str(path), "", "removed: the process that wrote it is gone")
