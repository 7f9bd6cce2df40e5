"""A clean room: an export of a tree, and an environment, in which commands run without reaching the workspace."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import AigonError
from aigon.files.folders import TemporaryFolder, remove_tree
from aigon.files.home import state_home
from aigon.files.system_errors import ResourceShortage
from aigon.git.trusted import TrustedGit
from aigon.isolation.dependencies import find_editable_paths
from aigon.isolation.enclosure import (
    HOME,
    ROOM_FOLDERS,
    Enclosure,
    Isolation,
    RoomHome,
    confine_nothing,
    list_no_mounts,
    make_room_env,
)
from aigon.isolation.export import Export, RoomTree, export_tree

if TYPE_CHECKING:
    from aigon.isolation.check_sandbox import CheckSandbox

KEPT = "kept"
"""The file that marks a room whose files were left for the next one."""


class CleanRoom(Enclosure, frozen=True, kw_only=True):
    """A room for commands: an enclosure, the environment of its commands, and what was exported to its `root`.

    aigon changes files there by `tree`.
    """

    env: Mapping[str, str]
    exported: Export
    tree: RoomTree


class RoomPlan(Struct, frozen=True):
    """The plan of a room. `isolation` comes from `choose_isolation`.

    `folder` is deterministic, outside the workspace and used by one aigon at a time, so that what a killed aigon left
    there is removed.

    Commands cannot reach the folders in `hidden`, git directories and aigon's records, except what is `shown`. The
    folders in `lent` are shown read-only at the relative paths that they have there, unless the tree itself holds
    something at such a path. With namespaces, `box` keeps the commands from everything else that is the person's.

    With `keep` the files stay for the next room in the folder, which only writes those that differ; what commands made
    next to them is there again. Lent folders can be written then, as in the workspace. In a `private` room commands
    find only what builds wrote, as their `CheckStart` says; that takes overlays. `products` are from builds of another
    room. With `tree` the files are exported there; those of a private room stay, as no command changes them.
    """

    isolation: Isolation
    folder: Path
    hidden: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    lent: Mapping[str, Path] = field(default_factory=dict)
    home: RoomHome = "throwaway"
    places: Mapping[str, str] | None = None
    keep: bool = False
    box: "CheckSandbox | None" = None
    private: bool = False
    products: Path | None = None
    tree: RoomTree | None = None


@contextmanager
def open_room(git: TrustedGit, tree: str, env: Mapping[str, str], plan: RoomPlan) -> Iterator[CleanRoom]:
    """Make a room with the files of `tree`, and remove it afterwards. Raises AigonError (exit 7).

    `env` is the environment of the checks.
    """
    folder, was_kept = plan.folder, False
    with contextlib.suppress(OSError):
        (folder / KEPT).unlink()  # a killed aigon leaves the room in an unknown state
        was_kept = plan.keep
    if not was_kept:
        remove_tree(folder)
    kept, shown = plan.tree, plan.tree or RoomTree(folder / "tree")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        exported = _export_over(git, tree, shown)
        with TemporaryFolder("room", _choose_temporary(git.root, env)) as scratch:
            for name in {*ROOM_FOLDERS.values(), HOME}:
                (scratch / name).mkdir(mode=0o700)
            room = _make_room(git, exported, scratch, env, replace(plan, tree=shown))
            _lend(room)
            yield replace(room, env=_make_env(room, plan.home, plan.places))
            if plan.keep:
                remove_tree(room.changes)
                _take_back(room)
                (folder / KEPT).touch()
            if kept and plan.private:
                _require_tree(kept)
                with contextlib.suppress(OSError):  # else it is removed
                    _take_back(room)
                    kept.put_back()
                    kept.holds, kept = tree, None
    finally:
        if kept:  # changed by commands, or in an unknown state
            remove_tree(kept.folder)
            kept.holds = ""
            kept.undo.clear()
        if not (folder / KEPT).exists():
            remove_tree(folder)


def _make_room(
    git: TrustedGit,
    exported: Export,
    scratch: Path,
    env: Mapping[str, str],
    plan: RoomPlan,
) -> CleanRoom:
    assert plan.tree is not None, "it was exported there"
    box, hidden = plan.box, (git.common_dir, git.git_dir, git.directory, state_home() / "repos", *plan.hidden)
    place = plan.tree.folder.parent
    return CleanRoom(
        plan.isolation,
        git.root,
        exported.folder,
        scratch,
        hidden if place == plan.folder else (*hidden, place),
        {name: path for name, path in plan.lent.items() if path.is_dir() and _is_free(exported.folder, name)},
        plan.shown,
        writable=plan.keep,
        private=plan.private,
        products=plan.products,
        folder=plan.folder,
        confine=box.list_room_mounts if box else list_no_mounts,
        confine_writes=box.confine_writes if box else confine_nothing,
        env=env,
        exported=exported,
        tree=plan.tree,
    )


def _lend(room: CleanRoom) -> None:
    """Make a mount point for each folder that is lent, or a link to it where nothing is mounted."""
    for name, source in room.lent.items():
        place = room.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if room.mounts:
            place.mkdir()
        else:
            place.symlink_to(os.path.realpath(source))


def _take_back(room: CleanRoom) -> None:
    """Remove what `_lend` made."""
    for name in room.lent:
        place = room.root / name
        place.unlink() if place.is_symlink() else place.rmdir()


def _export_over(git: TrustedGit, tree: str, shown: RoomTree) -> Export:
    if shown.holds == tree:
        return Export(shown.folder, fresh=False)
    if shown.folder.exists():
        with contextlib.suppress(AigonError):
            return export_tree(git, tree, shown.folder, forget=bool(shown.holds))
        remove_tree(shown.folder)
    if shown.spare:
        with contextlib.suppress(AigonError, OSError):
            return export_tree(git, tree, shown.folder)
        remove_tree(shown.folder)
        shown.folder, shown.spare = shown.spare, None
    return export_tree(git, tree, shown.folder)


def _require_tree(tree: RoomTree) -> None:
    """Raise AigonError (exit 7) if somebody removed the files that the commands of a room were to read."""
    if not (tree.folder / ".git" / "HEAD").exists():
        raise ResourceShortage(
            "The files of a clean room were removed while commands ran there, so nothing was decided",
            where=str(tree.folder),
            hint="Run again with --resume: the work is assessed again, without a paid turn. If it happens again, "
            "systemd may empty /dev/shm when you log out (RemoveIPC in logind.conf)",
        )


def _is_free(root: Path, name: str) -> bool:
    """Return whether the path stays in the room, without a link on the way, and nothing exists there."""
    parts = PurePosixPath(name).parts
    inside = bool(parts) and ".." not in parts and not name.startswith("/") and parts[0] != ".git"
    above = [root.joinpath(*parts[:depth]) for depth in range(1, len(parts))]
    usable = all(not path.is_symlink() and (path.is_dir() or not path.exists()) for path in above)
    return inside and usable and not os.path.lexists(root / name)


def _make_env(room: CleanRoom, home: RoomHome, places: Mapping[str, str] | None) -> dict[str, str]:
    """Return the room's environment. If nothing is mounted, PYTHONPATH finds editable packages."""
    env = make_room_env(
        room.env, room.scratch, room.seen_as, home=home, places=places, translate_paths=room.translate_paths
    )
    if room.mounts:
        return env
    editable = [path for folder in room.lent.values() for path in find_editable_paths(folder, room.workspace)]
    paths = [*(room.translate_paths(str(path)) for path in editable), *filter(None, [env.get("PYTHONPATH")])]
    return env | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


def _choose_temporary(workspace: Path, env: Mapping[str, str]) -> Path:
    """Return the folder for the room's temporary files, which is outside the workspace."""
    wanted = Path(env.get("TMPDIR") or tempfile.gettempdir())
    usable = wanted.is_dir() and not Path(os.path.realpath(wanted)).is_relative_to(os.path.realpath(workspace))
    return wanted if usable else Path("/tmp")
