"""aigon's own records: a folder per repository, outside every workspace.

    <state home>/repos/<id>/git/                  aigon's own git directory; git-<name>/ for a linked worktree
                           /features/<id>[-label]/journal.jsonl, journal-<run>.jsonl (archived), decisions.jsonl
                           /cache/                passes of checks
                           /locks/

The id is written into the repository's git directory (`aigon/id`) and stays: a moved repository finds its folder again,
and a second state home gets a folder of the same name. Only a copy of a repository gets a new id. `aigon/home.json`
next to it says where the repository was seen last, which tells a copy from a move, and which state homes know it.
"""

import contextlib
import errno
import json
import os
from math import inf
from pathlib import Path

from msgspec import Struct

from aigon.errors import Exit, environment
from aigon.files import atomic
from aigon.files.atomic import write_atomic
from aigon.files.locks import lock_file
from aigon.files.system_errors import explain_os_error, is_shortage, nearest_existing

NOTE = "home.json"
"""In the folder of the repository's id."""
HOMES = 8
"""State homes that a repository remembers: those of a person, of root, of a few containers."""
LONGEST = 60
"""Characters of a repository's own name that go into that of its folder: at most 240 bytes, where 255 are allowed."""
_FIX = "Remove the file: aigon then begins with new records; the old ones stay in its state folder"


def state_home() -> Path:
    """Return `AIGON_STATE_HOME`, or the person's state directory."""
    if given := os.environ.get("AIGON_STATE_HOME"):
        return Path(given).expanduser().resolve()
    from platformdirs import user_state_path

    return user_state_path("aigon")


def ensure_home(common_dir: Path) -> Path:
    """Return the folder for the repository with the git directory `common_dir`; made on first use.

    Raises AigonError (exit 7) if it cannot be written.
    """
    repos = state_home() / "repos"
    try:
        home = _find_known(repos, common_dir) or _make_folder(repos, common_dir)
        _note(common_dir)
        if not os.access(home, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(home))
    except OSError as error:
        if is_shortage(error.errno):
            raise explain_os_error("aigon's records cannot be written", error) from error
        place = nearest_existing(Path(os.fsdecode(error.filename or repos)))
        if place.is_relative_to(common_dir):
            refused = OSError(error.errno, error.strerror, str(place))
            raise explain_os_error("The repository's git directory cannot be written", refused) from error
        raise environment(
            f"The state folder cannot be written: {error.strerror}",
            where=str(place),
            hint="Make it writable, or point AIGON_STATE_HOME at a folder that is",
        ) from error
    return home


def find_home(common_dir: Path) -> Path | None:
    """Return the folder for a repository that has one already."""
    return _find_known(state_home() / "repos", common_dir)


def list_homes() -> tuple[Path, ...]:
    """Return the folders of all repositories."""
    try:
        return tuple((state_home() / "repos").iterdir())
    except OSError:
        return ()


def own_git_directory(home: Path, git_dir: Path, common_dir: Path) -> Path:
    """Return aigon's own git directory for one checkout.

    A linked worktree has one to itself: loops in two of them must not share an index.
    """
    return home / ("git" if git_dir == common_dir else f"git-{git_dir.name}")


def find_other_homes(common_dir: Path, feature: str) -> tuple[Path, ...]:
    """Return the other state homes that have records of the feature, and those that cannot be looked into."""
    marker = common_dir / "aigon" / "id"
    if not marker.exists():
        return ()
    homes = [Path(each) for each in _read_own_note(common_dir).state_homes if Path(each) != state_home()]
    return tuple(home for home in homes if _may_know(home / "repos" / _name(marker) / "features", feature))


def _may_know(features: Path, feature: str) -> bool:
    """Return whether a feature has records there, or may have: another user's folder cannot be read."""
    try:
        names = [path.name for path in features.iterdir()]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(name == feature or name.startswith(f"{feature}-") for name in names)


def _find_known(repos: Path, common_dir: Path) -> Path | None:
    """Return the folder of this repository; a copy of a repository does not inherit its original's."""
    marker = common_dir / "aigon" / "id"
    if not marker.exists():
        return None
    home = repos / _name(marker)
    # Its description alone may be gone, which must not make everything else that is in it forgotten.
    if not ((home / "repository.json").exists() or (home / "features").exists()):
        return None
    if _is_copy(common_dir, home):
        return None
    if _read_git_dir(home) != common_dir:
        _describe(home, common_dir)
    return home


def _is_copy(common_dir: Path, home: Path) -> bool:
    """Return whether the repository with this id is another one, which is still where it was seen last."""
    return any(
        seen and seen != common_dir and _is_id(seen, common_dir) and not seen.samefile(common_dir)
        for seen in (_read_own_note(common_dir).git_dir, _read_git_dir(home))
    )


def _is_id(one: Path, other: Path) -> bool:
    """Return whether two git directories exist and have the same id."""
    ids = (one / "aigon" / "id", other / "aigon" / "id")
    return ids[0].exists() and ids[0].read_bytes() == ids[1].read_bytes()


class _HomeNote(Struct, frozen=True):
    """A note of where a repository was seen last, and of the state homes that know it."""

    git_dir: Path | None = None
    state_homes: tuple[str, ...] = ()


def _read_own_note(common_dir: Path) -> _HomeNote:
    """Return the repository's own note; empty if it is damaged."""
    try:
        return _read((common_dir / "aigon" / NOTE).read_bytes())
    except OSError:
        return _HomeNote()


def _read(note: bytes) -> _HomeNote:
    try:
        known = json.loads(note)
        return _HomeNote(Path(known["git_dir"]), tuple(map(str, known["state_homes"]))[:HOMES])
    except (ValueError, KeyError, TypeError, RecursionError):
        return _HomeNote()


def is_note_current(note: bytes | None, common_dir: Path) -> bool:
    """Return whether a repository's note says that the repository is where it is."""
    return note is not None and _read(note).git_dir == common_dir


def _note(common_dir: Path) -> None:
    """Update the note. It only helps to hint and to detect copies, so a failure to write it is ignored."""
    known, here = _read_own_note(common_dir), str(state_home())
    homes = known.state_homes if here in known.state_homes else (here, *known.state_homes)[:HOMES]
    if known != (true := _HomeNote(common_dir, homes)):
        content = json.dumps({"git_dir": str(true.git_dir), "state_homes": true.state_homes})
        with contextlib.suppress(OSError):
            write_atomic(common_dir / "aigon" / NOTE, content.encode() + b"\n")


def _name(marker: Path) -> str:
    """Return the name of the folder that a repository's id file gives: a single name. Raises AigonError (exit 7).

    An agent can write to that file, and it must not lead to forged records.
    """
    name = os.fsdecode(
        atomic.read_bounded(marker, 4096, "The repository's id", hint=_FIX, code=Exit.ENVIRONMENT)
    ).strip()
    if not name or "/" in name or "\0" in name or name in (".", "..") or len(os.fsencode(name)) > 255:
        raise environment("The repository's id is damaged", where=str(marker), hint=_FIX)
    return name


def _make_folder(repos: Path, common_dir: Path) -> Path:
    """Make the folder, or find the one that another aigon made at the same moment."""
    repos.mkdir(parents=True, exist_ok=True)
    marker = common_dir / "aigon" / "id"
    marker.parent.mkdir(exist_ok=True)
    with lock_file(marker.with_suffix(".lock"), inf):
        return _find_known(repos, common_dir) or _new(repos, common_dir)


def _new(repos: Path, common_dir: Path) -> Path:
    """Describe the folder before the repository names it: a folder that is named is complete. An existing id stays."""
    marker = common_dir / "aigon" / "id"
    home = repos / _name(marker) if marker.exists() else None
    if home and not _is_copy(common_dir, home):
        home.mkdir(exist_ok=True)
        _describe(home, common_dir)
        return home
    name = f"{common_dir.parent.name[:LONGEST] or 'repository'}-{os.urandom(6).hex()}"
    home = repos / name
    home.mkdir()
    _describe(home, common_dir)
    (marker.parent / NOTE).unlink(missing_ok=True)  # of the repository that this one is a copy of
    write_atomic(marker, os.fsencode(f"{name}\n"), lasting=True)
    return home


def _read_git_dir(home: Path) -> Path | None:
    """Return the git directory that the folder was last seen with; None if its description is damaged."""
    try:
        return Path(json.loads((home / "repository.json").read_text())["git_dir"])
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _describe(home: Path, common_dir: Path) -> None:
    write_atomic(home / "repository.json", json.dumps({"git_dir": str(common_dir)}).encode() + b"\n", lasting=True)


STOP_FILES = (".aigon/STOP", "EMERGENCY_STOP_RALPH")
"""In the main checkout they stop every loop of the repository."""

# Without an end: a temporary file that a kill left beside a state file has the same beginning.
IGNORED_FOLDERS = (".aigon/runs/", ".aigon/reports/", ".aigon/approvals/")
IGNORED_LINES = (".aigon/loop-state-*", ".aigon/tasks-*", *IGNORED_FOLDERS, *STOP_FILES)
"""The lines of a .gitignore that keep them out: `aigon init` writes them, and every snapshot is taken with them."""


def is_runtime(path: str) -> bool:
    """Return whether a path of the work tree is a runtime file: what a run leaves there and must not be committed."""
    files = (".aigon/loop-state-", ".aigon/tasks-")
    return path.startswith((*IGNORED_FOLDERS, *files)) or path in STOP_FILES
