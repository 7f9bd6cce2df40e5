"""Repair everything that aigon keeps of a repository. Damaged files are kept aside and rebuilt from intact ones."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from aigon.errors import AigonError
from aigon.files.atomic import keep_damaged
from aigon.files.checksums import read_documents
from aigon.files.home import find_home
from aigon.files.locks import hold_lock, read_start
from aigon.git.person import Checkout
from aigon.git.repository import RepositoryFolders, find_repository
from aigon.job.world import World
from aigon.journal.records import Records
from aigon.model.diagnosis import RepairedRecord, RepairReport, UnrepairedRecord
from aigon.process.running import loop_lock
from aigon.run import invocations
from aigon.run.opening import inspect_state_file, require_sound_records
from aigon.run.repair.records import (
    RepairStep,
    get_run_folder,
    read_journal_parts,
    repair_candidate,
    repair_decisions,
    repair_frozen_job,
    repair_journal,
    repair_origin,
    repair_state_file,
    repair_views,
)
from aigon.spec import files

_DAMAGED_STATE = "The state file is damaged ({})"
_TEMPORARY = re.compile(r".+\.(\d+)\.tmp")
_OWN = ("arena", "cache", "compared", "evaluations", "features", "rehearsed")
"""Folders in which only aigon writes. Rooms and kept dependencies have files of the project and of its tools."""


def repair_repository(start: Path, feature: str | None = None) -> RepairReport:
    """Repair what aigon keeps of the repository around `start`, or of one feature. Running loops are left alone.

    Raises AigonError (exit 7) outside of a repository.
    """
    repository = find_repository(start)
    home = find_home(repository.common_dir)
    wanted = _name_records(repository.root, feature) if feature else None
    done = _make_report(_repair_features(repository, home, wanted)) if home else RepairReport()
    done = done.and_(RepairReport(tuple(map(_save_aside, _list_unowned_state_files(repository, home, wanted)))))
    if feature or home is None:
        return done
    return done.and_(
        RepairReport(
            _remove_temporary_files(repository, home),
            (),
            invocations.end_processes(invocations.list_left_processes(home)),
        )
    )


def list_damage(start: Path) -> tuple[str, ...]:
    """Return what is damaged, for people. Nothing is changed."""
    repository = find_repository(start)
    home = find_home(repository.common_dir)
    known = (
        [text for records in _list_records(home, None) for text in _describe_damage(records, repository)]
        if home
        else []
    )
    unowned = [_DAMAGED_STATE.format(file) for file in _list_unowned_state_files(repository, home, None)]
    return tuple(dict.fromkeys(known + unowned))


def _repair_features(repository: RepositoryFolders, home: Path, wanted: str | None) -> list[RepairStep]:
    with Checkout.open(repository.root) as checkout:
        return [
            each
            for records in _list_records(home, wanted)
            for each in _repair_feature(records, home, repository, checkout)
        ]


def _make_report(did: list[RepairStep]) -> RepairReport:
    repaired = tuple(each for each in did if isinstance(each, RepairedRecord))
    return RepairReport(repaired, tuple(each for each in did if isinstance(each, UnrepairedRecord)))


def _name_records(root: Path, wanted: str) -> str:
    """Return the name of a feature's records; its spec may be gone."""
    try:
        return files.locate_feature(root, wanted).name_for_people
    except AigonError:
        return wanted


def _list_records(home: Path, wanted: str | None) -> Iterator[Records]:
    """Yield the records of every feature and agent, or those of one feature."""
    for folder in sorted(path for path in home.glob("features/*") if path.is_dir()):
        records = Records(folder)
        if wanted is None or wanted in (records.name, *_list_names(folder.name)):
            yield records


def _list_names(folder: str) -> tuple[str, str]:
    """Return the names by which people ask for records: their own (`42-cc`) and that of the feature."""
    return folder, folder.partition("-")[0]


def _list_unowned_state_files(repository: RepositoryFolders, home: Path | None, wanted: str | None) -> Iterator[Path]:
    """Yield damaged state files without a journal to rebuild them from."""
    for file in (
        file for root in _list_checkouts(repository) for file in sorted((root / ".aigon").glob("loop-state-*.json"))
    ):
        name = file.stem.removeprefix("loop-state-")
        journal = home and Records(home / "features" / name).journal
        owned = journal and journal.exists() and journal.stat().st_size
        if not owned and (wanted is None or wanted in _list_names(name)) and inspect_state_file(file) == "damaged":
            yield file


def _save_aside(file: Path) -> RepairedRecord:
    kept = keep_damaged(file)
    file.unlink(missing_ok=True)
    return RepairedRecord("state file", str(file), str(kept), "put aside: there is no journal to make it of")


def _repair_feature(
    records: Records, home: Path, repository: RepositoryFolders, checkout: Checkout
) -> Iterator[RepairStep]:
    """Repair the records of one feature and agent, under the lock that its loop would hold."""
    name = records.folder.name
    try:
        with hold_lock(loop_lock(home, name), f"Feature {name}"):
            yield from _repair_records(records, repository, checkout)
    except AigonError as error:
        yield UnrepairedRecord(
            "feature", str(records.folder), str(error), error.hint, hinders="in use" not in error.what
        )


def _repair_records(records: Records, repository: RepositoryFolders, checkout: Checkout) -> Iterator[RepairStep]:
    yield from repair_frozen_job(records)
    yield from repair_decisions(records, checkout, World.now())
    yield from repair_candidate(records)
    yield from repair_origin(records)
    for path in records.journals():
        yield from _repair_journal(records, path, repository, checkout)


def _repair_journal(
    records: Records, path: Path, repository: RepositoryFolders, checkout: Checkout
) -> Iterator[RepairStep]:
    """Repair a journal, then its views. The state file belongs to the current run."""
    try:
        done = repair_journal(path, checkout, World.now())
        events = read_journal_parts(path).sound if path.exists() else ()
    except AigonError as error:
        yield UnrepairedRecord("journal", str(path), error.what, error.hint, hinders=path == records.journal)
        return
    if done:
        yield done
    root = _find_checkout(records, repository)
    folder = get_run_folder(root, events)
    current = path == records.journal
    if current and events:
        yield from repair_state_file(_get_state_file(records, root), events)
    if folder and (current or folder.is_dir()):
        yield from repair_views(folder, lambda: events)


def _get_state_file(records: Records, root: Path) -> Path:
    return root / ".aigon" / f"loop-state-{records.folder.name}.json"


def _find_checkout(records: Records, repository: RepositoryFolders) -> Path:
    """Return the checkout with the state file: a person may have run a loop in a worktree of their own."""
    return next(
        (root for root in _list_checkouts(repository) if _get_state_file(records, root).exists()), repository.root
    )


def _list_checkouts(repository: RepositoryFolders) -> tuple[Path, ...]:
    return (repository.root, *repository.worktrees)


def _remove_temporary_files(repository: RepositoryFolders, home: Path) -> tuple[RepairedRecord, ...]:
    """Remove temporary files of aigon's whose process is gone."""
    found = [*home.glob("*.tmp"), *(each for name in _OWN for each in (home / name).rglob("*.tmp"))]
    found += [*(repository.common_dir / "aigon").glob("*.tmp")]
    for root in _list_checkouts(repository):
        found += [*(root / ".aigon").glob("loop-state-*.tmp"), *(root / ".aigon" / "runs").glob("*/*.tmp")]
    return tuple(_remove_temporary_file(path) for path in sorted(found) if _is_abandoned(path))


def _is_abandoned(path: Path) -> bool:
    match = _TEMPORARY.fullmatch(path.name)
    return bool(match) and path.is_file() and not read_start(int(match[1]))  # type: ignore[index]


def _remove_temporary_file(path: Path) -> RepairedRecord:
    path.unlink(missing_ok=True)
    return RepairedRecord("temporary file", str(path), "", "removed: the process that wrote it is gone")


def _describe_damage(records: Records, repository: RepositoryFolders) -> Iterator[str]:
    """Yield what is wrong with the records of one feature, a sentence each."""
    state = _get_state_file(records, _find_checkout(records, repository))
    asked: list[Callable[[], object]] = [partial(read_documents, path) for path in records.journals()]
    asked.append(partial(require_sound_records, records, state))
    for ask in asked:
        try:
            ask()
        except AigonError as error:
            yield str(error)
    if inspect_state_file(state) == "damaged":
        yield _DAMAGED_STATE.format(state)
