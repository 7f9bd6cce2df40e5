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
    """Where commands run, as a `CheckEnvironment` has it (`aigon.job.world`): `seen_as`, `env`, `enclosed`, `outside`.

    `root` is where the export really is and where aigon changes its files; commands see it at `seen_as`, which their
    output names. The command line of `enclosed` starts in the folder `outside`. `lent` are the relative paths of the
    dependency folders shown.
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
        """Return the command line that runs `argv` in the room; safe to call from any thread."""
        return self.enclosure.enclosed(argv, cwd)

    def offline(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """Return the same without a network but loopback, if `choose_isolation` was asked for this."""
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
    """Make a room with the files of `tree` in `folder`, and remove it afterwards. Raises AigonError (exit 7).

    With `keep` the files stay for the next room in this folder, which only writes those that differ; what commands made
    beside them is there again. Lent folders can be written then, as in the workspace.

    `folder` is deterministic, outside the workspace and used by one aigon at a time, so that what a killed aigon left
    there is removed. `env` is the environment of the checks, `isolation` comes from `choose_isolation`. Commands cannot
    reach the folders in `hidden`, git directories and aigon's records, except what is `shown`. Folders of the workspace
    that are `lent`, by relative path, are shown read-only at the same path; so are those `given` from elsewhere, which
    win over `lent`. A path that the tree itself holds belongs to the tree.
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
    """Export the tree over an earlier export if that works, else afresh."""
    if (folder / "tree").exists():
        with contextlib.suppress(AigonError):
            return export_tree(git, tree, folder / "tree", repository=repository)
        remove_room(folder)
    return export_tree(git, tree, folder / "tree", repository=repository)


def _take_kept(folder: Path) -> bool:
    """Whether an earlier room was kept here. It is no longer: a killed aigon leaves it in an unknown state."""
    try:
        (folder / KEPT).unlink()
    except OSError:
        return False
    return True


def _keep(folder: Path, enclosure: Enclosure) -> None:
    """Keep the files of the room, without the scratch folder and the mount points of lent folders."""
    for name in enclosure.lent:
        place = enclosure.export / name
        place.unlink() if place.is_symlink() else place.rmdir()
    _remove_tree(enclosure.scratch)
    (folder / KEPT).touch()


def _select_lent(workspace: Path, root: Path, lent: Sequence[str], given: Mapping[str, Path]) -> dict[str, Path]:
    """Return the dependency folders that exist, by paths at which the tree has nothing of its own."""
    wanted = {name: workspace / name for name in lent} | dict(given)
    return {name: path for name, path in wanted.items() if path.is_dir() and _is_free(root, name)}


def _is_free(root: Path, name: str) -> bool:
    """Whether the path stays in the room, without a link on the way, and nothing exists there."""
    parts = PurePosixPath(name).parts
    inside = bool(parts) and ".." not in parts and not name.startswith("/") and parts[0] != ".git"
    above = [root.joinpath(*parts[:depth]) for depth in range(1, len(parts))]
    usable = all(not path.is_symlink() and (path.is_dir() or not path.exists()) for path in above)
    return inside and usable and not os.path.lexists(root / name)


def _make_places(enclosure: Enclosure) -> None:
    """Make an empty folder as mount point, or a link, for each lent folder."""
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
    """Return the room's environment. If nothing is mounted, PYTHONPATH finds editable packages."""
    translated, room = enclosure.translated, enclosure.seen_as
    made = make_room_env(env, enclosure.scratch, room, home=home, places=places, translated=translated)
    if enclosure.mounts:
        return made
    found = [path for folder in enclosure.lent.values() for path in find_editable_paths(folder, enclosure.workspace)]
    paths = [*(translated(str(path)) for path in found), *filter(None, [made.get("PYTHONPATH")])]
    return made | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


def _make_scratch(folder: Path, workspace: Path, env: Mapping[str, str]) -> Path:
    """Make a folder for temporary files, and note it in that of the room so that a later aigon can remove it."""
    wanted = Path(env.get("TMPDIR") or tempfile.gettempdir())
    usable = wanted.is_dir() and not Path(os.path.realpath(wanted)).is_relative_to(os.path.realpath(workspace))
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=wanted if usable else "/tmp"))
    (folder / "scratch").write_text(str(scratch))
    make_room_folders(scratch)
    return scratch


def remove_room(folder: Path) -> None:
    """Remove a room's folder, even read-only files, and its scratch folder. Raises AigonError (exit 7)."""
    with contextlib.suppress(OSError):
        scratch = Path((folder / "scratch").read_text())
        # Anybody could have written the note: only a folder of this name is aigon's to remove.
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
    """Make folders writable: the modes of the files in them do not matter."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
