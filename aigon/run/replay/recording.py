"""Make a recording of a run that the agent `replay` plays: the same files, at no cost."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from aigon.errors import environment, usage
from aigon.files.temporary import TemporaryFolder
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.journal.events import IterationFinished, RolledBack, RunStarted, TurnEnded
from aigon.journal.replay import iterate_events
from aigon.spec.features import ROOT

_LINK, _MODULE = "120000", "160000"


def record_run(checkout: Checkout, journal: Path, folder: Path) -> tuple[int, list[str]]:
    """Write an attempt into `folder` for each iteration that the branch kept.

    An attempt is numbered by its place, as a run that plays it counts, and is without aigon's own files. Returns how
    many attempts there are, and what cannot be recorded. Raises AigonError: exit 2 if the folder is not empty or there
    is no attempt, exit 7 if a commit is gone or nothing can be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise usage("A recording needs a new or empty folder", where=str(folder), hint="Name another: --record DIR")
    commits, said = _list_iterations(journal)
    if len(commits) < 2:
        raise usage("There is nothing to record: no iteration of this run has a commit", where=str(journal))
    left_out: list[str] = []
    with TemporaryFolder("record") as own:
        git = TrustedGit(checkout, own / "git", own / "objects")
        git.prepare(checkout)
        for place, ((_, before), (number, commit)) in enumerate(pairwise(commits), 1):
            try:
                left_out += _record_attempt(git, folder / str(place), before, commit)
                (folder / str(place) / "says.txt").write_text(said.get(number, ""), encoding="utf-8", errors="replace")
            except OSError as error:
                raise environment(f"The recording cannot be written: {error.strerror}", where=str(folder)) from error
    return len(commits) - 1, left_out


def _list_iterations(journal: Path) -> tuple[list[tuple[int, str]], dict[int, str]]:
    """Return where the run began and the commit of each iteration that was kept, and what agents said in each."""
    commits: list[tuple[int, str]] = []
    said: dict[int, str] = {}
    for event in iterate_events(journal):
        match event:
            case RunStarted() if not commits:
                commits.append((event.earlier_iterations, event.head))
            case TurnEnded(turn=turn):
                said[turn.number] = turn.said
            case IterationFinished(checkpoint=commit, number=number) if commit:
                commits = [*(each for each in commits if each[0] < number), (number, commit)]
            case RolledBack(number=number):
                commits = [commits[0], *(each for each in commits[1:] if each[0] <= number)]
    return commits, said


def _record_attempt(git: TrustedGit, folder: Path, before: str, commit: str) -> Iterator[str]:
    old, new = objects.list_entries(git, before), objects.list_entries(git, commit)
    changed = {path: entry for path, entry in new.items() if not _is_own(path) and old.get(path) != entry}
    files = {path: entry for path, entry in changed.items() if entry.mode not in (_LINK, _MODULE)}
    yield from (f"{path} (a link or a submodule)" for path in changed.keys() - files.keys())
    blobs = dict(objects.read_objects(git, {entry.sha for entry in files.values()}))
    folder.mkdir(parents=True)
    for path, entry in files.items():
        target = folder / "files" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blobs[entry.sha])
        target.chmod(0o755 if entry.mode == "100755" else 0o644)
    if gone := [path for path in old if path not in new and not _is_own(path)]:
        (folder / "delete").write_text("".join(f"{path}\n" for path in gone), encoding="utf-8")


def _is_own(path: str) -> bool:
    return path.startswith((f"{ROOT}/", ".aigon/"))
