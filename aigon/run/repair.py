"""Go over everything that aigon keeps of a repository: what is damaged is kept, and made anew from what is sound."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from aigon.core.errors import AigonError
from aigon.core.repaired import Repair, Repaired, Unmended
from aigon.ports.git import Checkout
from aigon.ports.home import known_home
from aigon.ports.main_checkout import Repository, around
from aigon.ports.running import start_of
from aigon.ports.store import lock, read_journal
from aigon.run import leftovers, specs
from aigon.run.records import Records
from aigon.run.repair_journal import mended, parts
from aigon.run.repair_records import candidate_again, decisions_again, frozen_again, origin_again
from aigon.run.repair_views import run_folder, state_again, views_again
from aigon.run.sound_records import require_sound, state_of
from aigon.run.world import World

Did = Repaired | Unmended
_TEMPORARY = re.compile(r".+\.(\d+)\.tmp")
_OWN = ("arena", "cache", "compared", "evaluations", "features", "rehearsed")
"""Folders in which aigon alone writes: rooms and kept dependencies hold files of the project and of its tools."""


def repair(start: Path, feature: str | None = None) -> Repair:
    """Mend what aigon keeps of the repository around `start`, or of one feature. A loop that runs is left alone.

    Raises AigonError (exit 7) outside of a repository.
    """
    repository = around(start)
    home = known_home(repository.common_dir)
    if home is None:
        return Repair()
    with Checkout.open(repository.root) as checkout:
        wanted = _name(checkout.root, feature) if feature else None
        did = [each for records in _records(home, wanted) for each in _of_feature(records, home, repository, checkout)]
    done = _report(did)
    return done if feature else done.and_(Repair(_tidied(repository, home), (), leftovers.end(leftovers.left(home))))


def broken(start: Path) -> tuple[str, ...]:
    """What is damaged, for people; nothing is changed."""
    repository = around(start)
    home = known_home(repository.common_dir)
    return tuple(text for records in _records(home, None) for text in _wrong(records, repository)) if home else ()


def _report(did: list[Did]) -> Repair:
    repaired = tuple(each for each in did if isinstance(each, Repaired))
    return Repair(repaired, tuple(each for each in did if isinstance(each, Unmended)))


def _name(root: Path, wanted: str) -> str:
    """What the records of a feature are called; its spec may be gone."""
    try:
        return specs.locate(root, wanted).name_for_people
    except AigonError:
        return wanted


def _records(home: Path, wanted: str | None) -> Iterator[Records]:
    """The records of every feature and agent, or of those of one feature."""
    for folder in sorted(path for path in home.glob("features/*") if path.is_dir()):
        records = Records(folder)
        if wanted is None or wanted in (records.name, folder.name, folder.name.partition("-")[0]):
            yield records


def _of_feature(records: Records, home: Path, repository: Repository, checkout: Checkout) -> Iterator[Did]:
    """Everything of one feature and agent, under the lock that its loop would hold."""
    name = records.folder.name
    try:
        with lock(home / "locks" / f"feature-{name}.lock", f"Feature {name}"):
            yield from _mended(records, repository, checkout)
    except AigonError as error:
        yield Unmended("feature", str(records.folder), str(error), error.hint, hinders="in use" not in error.what)


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
        yield Unmended("journal", str(path), error.what, error.hint, hinders=path == records.journal)
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
    roots = (repository.root, *repository.worktrees)
    return next((root for root in roots if _state_file(records, root).exists()), repository.root)


def _tidied(repository: Repository, home: Path) -> tuple[Repaired, ...]:
    """Temporary files of aigon's whose process is gone."""
    found = [*home.glob("*.tmp"), *(each for name in _OWN for each in (home / name).rglob("*.tmp"))]
    found += [*(repository.common_dir / "aigon").glob("*.tmp")]
    for root in (repository.root, *repository.worktrees):
        found += [*(root / ".aigon").glob("loop-state-*.tmp"), *(root / ".aigon" / "runs").glob("*/*.tmp")]
    return tuple(_removed(path) for path in sorted(found) if _is_left(path))


def _is_left(path: Path) -> bool:
    match = _TEMPORARY.fullmatch(path.name)
    return bool(match) and path.is_file() and not start_of(int(match[1]))  # type: ignore[index]


def _removed(path: Path) -> Repaired:
    path.unlink(missing_ok=True)
    return Repaired("temporary file", str(path), "", "removed: the process that wrote it is gone")


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
        yield f"The state file is damaged ({state})"
