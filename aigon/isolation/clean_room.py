"""A clean room: an export of a tree, and an environment, in which commands run without reaching the workspace."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from aigon.errors import AigonError, environment
from aigon.files.home import state_home
from aigon.git.trusted import TrustedGit
from aigon.isolation.dependencies import find_editable_paths
from aigon.isolation.enclosure import Enclosure, Isolation, RoomHome, make_room_env, make_room_folders
from aigon.isolation.export import Export, export_tree

SCRATCH = "aigon-room-"
"""How the name of a scratch folder begins. It lies where temporary files do: a socket's path has 107 bytes at most."""
KEPT = "kept"
"""The file that marks a room whose files were left for the next one."""
REMOVAL_SECONDS = 5.0
"""How long a removal is tried while something may still be writing there."""


@dataclass(frozen=True, slots=True)
class CleanRoom:
    """Where commands run. It gives the four parts of `aigon.job.world.Place`: `seen_as`, `env`, `enclosed`, `outside`.

    `root` is where the export really lies (its files are read and changed there: base versions of tests are laid over
    it, say); `seen_as` the path under which commands see it, and what their output names; `outside` the folder that
    the command line of `enclosed` is started in. `lent` are the relative paths of the dependency folders shown.
    """

    root: Path
    seen_as: Path
    isolation: Isolation
    outside: Path
    env: Mapping[str, str]
    enclosure: Enclosure
    exported: Export
    lent: tuple[str, ...] = ()

    def enclosed(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """The command line that aigon starts for `argv`; `cwd` is relative to the room, or absolute as seen there.

        Paths of the workspace in either are taken for the same paths in the room. Safe to call from several threads.
        """
        return self.enclosure.enclosed(argv, cwd)

    def offline(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """The same without a network but loopback; only where `isolation.best` was asked for this."""
        return replace(self.enclosure, closed=True).enclosed(argv, cwd)


@contextmanager
def open_room(
    git: TrustedGit,
    tree: str,
    folder: Path,
    env: Mapping[str, str],
    *,
    isolation: Isolation,
    hidden: Sequence[Path] = (),
    shown: Sequence[Path] = (),
    lent: Sequence[str] = (),
    given: Mapping[str, Path] | None = None,
    home: RoomHome = "throwaway",
    places: Mapping[str, str] | None = None,
    repository: bool = True,
    keep: bool = False,
) -> Iterator[CleanRoom]:
    """A room with the files of `tree`, made in `folder` and removed afterwards; so is what a killed aigon left there.

    With `keep` the files stay for the next room in this folder, which only writes those that differ: what commands made
    beside them is there again. Lent folders can be written then, as in the workspace.

    `folder` is deterministic, outside the workspace and used by one aigon at a time. `env` is the environment of the
    checks. `isolation` is what `best` said. `hidden`: more folders that commands may not reach (the repository's git
    directories and aigon's records of all repositories are hidden anyway); `shown`: what can be read in them even so.
    `lent`: folders of the workspace, by relative path, shown read-only at the same place; `given`: folders kept
    elsewhere, likewise, which win over `lent`. A path that the tree itself holds is the tree's.
    Raises AigonError (exit 7).
    """
    if not (keep and _take_kept(folder)):
        remove_room(folder)
    try:
        exported = _export_over(git, tree, folder, repository)
        folders = _select_lent(git.root, exported.folder, lent, given or {})
        records = (git.common_dir, git.git_dir, git.directory, state_home() / "repos", *hidden)
        scratch = _make_scratch(folder, git.root, env)
        enclosure = Enclosure(
            isolation, git.root, exported.folder, scratch, records, folders, shown=tuple(shown), writable=keep
        )
        _make_places(enclosure)
        its_env = _make_env(enclosure, env, home, places or {})
        yield CleanRoom(
            exported.folder, enclosure.seen_as, isolation, scratch, its_env, enclosure, exported, tuple(folders)
        )
        if keep:
            _keep(folder, enclosure)
    finally:
        if not (folder / KEPT).exists():
            remove_room(folder)


def _export_over(git: TrustedGit, tree: str, folder: Path, repository: bool) -> Export:
    """Export the tree; over an earlier export if that works, else afresh."""
    if (folder / "tree").exists():
        with contextlib.suppress(AigonError):
            return export_tree(git, tree, folder / "tree", repository=repository)
        remove_room(folder)
    return export_tree(git, tree, folder / "tree", repository=repository)


def _take_kept(folder: Path) -> bool:
    """Whether an earlier room was kept here. From here on it is not: a killed aigon leaves it in an unknown state."""
    try:
        (folder / KEPT).unlink()
    except OSError:
        return False
    return True


def _keep(folder: Path, enclosure: Enclosure) -> None:
    """Leave only the files of the room: without the scratch folder and the places of the folders that were lent."""
    for name in enclosure.lent:
        place = enclosure.export / name
        place.rmdir() if _is_folder(place) else place.unlink()
    _remove_tree(enclosure.scratch)
    (folder / KEPT).touch()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _select_lent(workspace: Path, root: Path, lent: Sequence[str], given: Mapping[str, Path]) -> dict[str, Path]:
    """The dependency folders that exist, by the path at which the tree has nothing of its own."""
    wanted = {name: workspace / name for name in lent} | dict(given)
    return {name: path for name, path in wanted.items() if path.is_dir() and _is_free(root, name)}


def _is_free(root: Path, name: str) -> bool:
    """Whether the path stays in the room, with no link on the way, and nothing is there."""
    parts = PurePosixPath(name).parts
    inside = bool(parts) and ".." not in parts and not name.startswith("/") and parts[0] != ".git"
    above = [root.joinpath(*parts[:depth]) for depth in range(1, len(parts))]
    usable = all(not path.is_symlink() and (path.is_dir() or not path.exists()) for path in above)
    return inside and usable and not os.path.lexists(root / name)


def _make_places(enclosure: Enclosure) -> None:
    """An empty folder that is mounted over, or a link to what is shown."""
    for name, source in enclosure.lent.items():
        place = enclosure.export / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if enclosure.mounts:
            place.mkdir()
        else:
            place.symlink_to(os.path.realpath(source))


def _make_env(
    enclosure: Enclosure, env: Mapping[str, str], home: RoomHome, places: Mapping[str, str]
) -> dict[str, str]:
    """The room's environment. Where nothing is mounted, what is installed as editable is found by PYTHONPATH."""
    translated, room = enclosure.translated, enclosure.seen_as
    made = make_room_env(env, enclosure.scratch, room, home=home, places=places, translated=translated)
    if enclosure.mounts:
        return made
    found = [path for folder in enclosure.lent.values() for path in find_editable_paths(folder, enclosure.workspace)]
    paths = [*(translated(str(path)) for path in found), *filter(None, [made.get("PYTHONPATH")])]
    return made | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


def _make_scratch(folder: Path, workspace: Path, env: Mapping[str, str]) -> Path:
    """A fresh folder for temporary files, noted in the room's so that a later aigon can remove it."""
    wanted = Path(env.get("TMPDIR") or tempfile.gettempdir())
    usable = wanted.is_dir() and not Path(os.path.realpath(wanted)).is_relative_to(os.path.realpath(workspace))
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=wanted if usable else "/tmp"))
    (folder / "scratch").write_text(str(scratch))
    make_room_folders(scratch)
    return scratch


def remove_room(folder: Path) -> None:
    """Remove a room's folder with everything in it: read-only files and folders, and its scratch folder elsewhere.

    Raises AigonError (exit 7) when something in it cannot be removed.
    """
    with contextlib.suppress(OSError):
        scratch = Path((folder / "scratch").read_text())
        # What is noted could have been written by anybody: only a folder of this name is aigon's to remove.
        if scratch.name.startswith(SCRATCH) and scratch.is_absolute():
            _remove_tree(scratch)
    _remove_tree(folder)


def _remove_tree(folder: Path) -> None:
    limit = time.monotonic() + REMOVAL_SECONDS
    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if time.monotonic() > limit:
                raise environment(
                    f"The clean room cannot be removed: {error.strerror or error}",
                    where=str(error.filename or folder),
                    hint="Remove that folder by hand; nothing in it is needed",
                ) from error
            _make_removable(folder)


def _make_removable(folder: Path) -> None:
    """A file can be removed when its folder can be written: modes of files do not matter."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
