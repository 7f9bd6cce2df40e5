"""Go over everything that aigon keeps of a repository: what is damaged is kept, and made anew from what is sound."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from aigon.errors import AigonError
from aigon.files.home import known_home
from aigon.files.store import keep_damaged, lock, read_journal
from aigon.git.main_checkout import Repository, around
from aigon.git.person import Checkout
from aigon.job.world import World
from aigon.journal.records import Records
from aigon.model.diagnosis import RepairedRecord, RepairReport, UnrepairedRecord
from aigon.process.loops import loop_lock
from aigon.process.running import start_of
from aigon.run import leftovers
from aigon.run.repair.journal import mended, parts
from aigon.run.repair.records import candidate_again, decisions_again, frozen_again, origin_again
from aigon.run.repair.views import run_folder, state_again, views_again
from aigon.run.sound_records import require_sound, state_of
from aigon.spec import files

Did = RepairedRecord | UnrepairedRecord
_DAMAGED_STATE = "The state file is damaged ({})"
_TEMPORARY = re.compile(r".+\.(\d+)\.tmp")
_OWN = ("arena", "cache", "compared", "evaluations", "features", "rehearsed")
"""Folders in which aigon alone writes: rooms and kept dependencies hold files of the project and of its tools."""


def repair(start: Path, feature: str | None = None) -> RepairReport:
    """Mend what aigon keeps of the repository around `start`, or of one feature. A loop that runs is left alone.

    Raises AigonError (exit 7) outside of a repository.
    """
    repository = around(start)
    home = known_home(repository.common_dir)
    wanted = _name(repository.root, feature) if feature else None
    done = _report(_of_records(repository, home, wanted)) if home else RepairReport()
    done = done.and_(RepairReport(tuple(map(_put_aside, _unowned(repository, home, wanted)))))
    if feature or home is None:
        return done
    return done.and_(RepairReport(_tidied(repository, home), (), leftovers.end(leftovers.left(home))))


def broken(start: Path) -> tuple[str, ...]:
    """What is damaged, for people; nothing is changed."""
    repository = around(start)
    home = known_home(repository.common_dir)
    known = [text for records in _records(home, None) for text in _wrong(records, repository)] if home else []
    unowned = [_DAMAGED_STATE.format(file) for file in _unowned(repository, home, None)]
    return tuple(dict.fromkeys(known + unowned))


def _of_records(repository: Repository, home: Path, wanted: str | None) -> list[Did]:
    with Checkout.open(repository.root) as checkout:
        return [each for records in _records(home, wanted) for each in _of_feature(records, home, repository, checkout)]


def _report(did: list[Did]) -> RepairReport:
    repaired = tuple(each for each in did if isinstance(each, RepairedRecord))
    return RepairReport(repaired, tuple(each for each in did if isinstance(each, UnrepairedRecord)))


def _name(root: Path, wanted: str) -> str:
    """What the records of a feature are called; its spec may be gone."""
    try:
        return files.locate(root, wanted).name_for_people
    except AigonError:
        return wanted


def _records(home: Path, wanted: str | None) -> Iterator[Records]:
    """The records of every feature and agent, or of those of one feature."""
    for folder in sorted(path for path in home.glob("features/*") if path.is_dir()):
        records = Records(folder)
        if wanted is None or wanted in (records.name, *_names(folder.name)):
            yield records


def _names(folder: str) -> tuple[str, str]:
    """What records of a feature may be asked for by: their own name (`42-cc`), and that of the feature."""
    return folder, folder.partition("-")[0]


def _unowned(repository: Repository, home: Path | None, wanted: str | None) -> Iterator[Path]:
    """Damaged state files without a journal that they could be made of: of records that are gone, or of a copy."""
    for file in (file for root in _roots(repository) for file in sorted((root / ".aigon").glob("loop-state-*.json"))):
        name = file.stem.removeprefix("loop-state-")
        journal = home and Records(home / "features" / name).journal
        owned = journal and journal.exists() and journal.stat().st_size
        if not owned and (wanted is None or wanted in _names(name)) and state_of(file) == "damaged":
            yield file


def _put_aside(file: Path) -> RepairedRecord:
    kept = keep_damaged(file)
    file.unlink(missing_ok=True)
    return RepairedRecord("state file", str(file), str(kept), "put aside: there is no journal to make it of")


def _of_feature(records: Records, home: Path, repository: Repository, checkout: Checkout) -> Iterator[Did]:
    """Everything of one feature and agent, under the lock that its loop would hold."""
    name = records.folder.name
    try:
        with lock(loop_lock(home, name), f"Feature {name}"):
            yield from _mended(records, repository, checkout)
    except AigonError as error:
        yield UnrepairedRecord(
            "feature", str(records.folder), str(error), error.hint, hinders="in use" not in error.what
        )


def _mended(records: Records, repository: Repository, checkout: Checkout) -> Iterator[Did]:
    yield from frozen_again(records)
    yield from decisions_again(records, checkout, World.now())
    yield from candidate_again(records)
    yield from origin_again(records)
    for path in records.journals():
        yield from _journal(records, path, repository, checkout)


def _journal(records: Records, path: Path, repository: Repository, checkout: Checkout) -> Iterator[Did]:
    """A journal, then the views of it: the state file is of the current run."""
    try:
        done = mended(path, checkout, World.now())
        events = parts(path).sound if path.exists() else ()
    except AigonError as error:
        yield UnrepairedRecord("journal", str(path), error.what, error.hint, hinders=path == records.journal)
        return
    if done:
        yield done
    root = _root(records, repository)
    folder = run_folder(root, events)
    current = path == records.journal
    if current and events:
        yield from state_again(_state_file(records, root), events)
    if folder and (current or folder.is_dir()):
        yield from views_again(folder, lambda: events)


def _state_file(records: Records, root: Path) -> Path:
    return root / ".aigon" / f"loop-state-{records.folder.name}.json"


def _root(records: Records, repository: Repository) -> Path:
    """The checkout that has the state file: a person may have made a worktree, and run a loop in that."""
    return next((root for root in _roots(repository) if _state_file(records, root).exists()), repository.root)


def _roots(repository: Repository) -> tuple[Path, ...]:
    return (repository.root, *repository.worktrees)


def _tidied(repository: Repository, home: Path) -> tuple[RepairedRecord, ...]:
    """Temporary files of aigon's whose process is gone."""
    found = [*home.glob("*.tmp"), *(each for name in _OWN for each in (home / name).rglob("*.tmp"))]
    found += [*(repository.common_dir / "aigon").glob("*.tmp")]
    for root in _roots(repository):
        found += [*(root / ".aigon").glob("loop-state-*.tmp"), *(root / ".aigon" / "runs").glob("*/*.tmp")]
    return tuple(_removed(path) for path in sorted(found) if _is_left(path))


def _is_left(path: Path) -> bool:
    match = _TEMPORARY.fullmatch(path.name)
    return bool(match) and path.is_file() and not start_of(int(match[1]))  # type: ignore[index]


def _removed(path: Path) -> RepairedRecord:
    path.unlink(missing_ok=True)
    return RepairedRecord("temporary file", str(path), "", "removed: the process that wrote it is gone")


def _wrong(records: Records, repository: Repository) -> Iterator[str]:
    """What is wrong with the records of one feature, a sentence each."""
    state = _state_file(records, _root(records, repository))
    asked: list[Callable[[], object]] = [partial(read_journal, path) for path in records.journals()]
    asked.append(partial(require_sound, records, state))
    for ask in asked:
        try:
            ask()
        except AigonError as error:
            yield str(error)
    if state_of(state) == "damaged":
        yield _DAMAGED_STATE.format(state)
