"""The view of a command in a clean room: the command line that gives it this view, and its environment."""

import marshal
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.git.person import LOCAL_VARIABLES
from aigon.isolation.mounts import Mount, list_bwrap_options, make_overlay
from aigon.isolation.namespaces import find_namespaces
from aigon.job.world import UNNAMED, CheckStart

Isolation = Literal["bwrap", "namespaces", "landlock", "none"]
CACHES = (".cache", ".tmp", ".vite", ".vite-temp", ".vitest")
"""Folders in dependency folders for what tools made of sources: empty and writable in a room."""
LAUNCHER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py")))
PRODUCTS, TREE = "products", "tree"
"""The folder next to a room's tree for what builds make, and the one for a changed tree among a command's changes."""
OVERFLOW_USER = 65534
"""The owner of files whose owner has no name in a user namespace, as root in a container."""


class Confine(Protocol):
    """Lists the mounts of a sandbox around the room, with changes of private folders in `changes`; None for none."""

    def __call__(self, start: CheckStart, changes: Path, *, overlays: bool) -> Sequence[Mount] | None: ...


def list_no_mounts(start: CheckStart, changes: Path, *, overlays: bool) -> None:
    """Return that a command has no sandbox around its room."""


def confine_nothing(argv: Sequence[str], _start: CheckStart, _folders: Sequence[str]) -> Sequence[str]:
    """Return the command line of a command that may write wherever the room lets it."""
    return argv


class Enclosure(Struct, frozen=True):
    """The view of a command: `root`, an export, instead of `workspace`, none of `hidden`, and dependency folders.

    `root` is where the export really is and where aigon changes its files. `lent` maps relative paths in it to the
    folders shown there, read-only unless `writable`; each cache in one is replaced by an empty folder of `scratch`.
    `shown` stays readable inside hidden folders. With `closed` there is no network but loopback; that takes mounts.
    Each command begins with what is in `bytecode`, and its changes are its own; that takes an overlay. If the room is
    `private`, so are its changes of the tree and of HOME, as its `CheckStart` says. `products` are what builds made of
    the same tree in an earlier room. What commands change for themselves, and what builds make, goes to `folder`; if
    `root` is elsewhere, other private rooms show it as well, and no command changes it.
    """

    isolation: Isolation
    workspace: Path
    root: Path
    scratch: Path
    hidden: tuple[Path, ...] = ()
    lent: Mapping[str, Path] = field(default_factory=dict)
    shown: tuple[Path, ...] = ()
    closed: bool = False
    writable: bool = False
    confine: Confine = list_no_mounts
    confine_writes: Callable[[Sequence[str], CheckStart, Sequence[str]], Sequence[str]] = confine_nothing
    bytecode: Path | None = None
    private: bool = False
    products: Path | None = None
    folder: Path | None = None

    @property
    def mounts(self) -> bool:
        """True if the export is mounted over the workspace."""
        return self.isolation in ("bwrap", "namespaces")

    @property
    def seen_as(self) -> Path:
        """The path under which commands see the export: that of the workspace, if mounts can be made."""
        return self.workspace if self.mounts else self.root

    def wrap_command(self, argv: Sequence[str], cwd: Path, start: CheckStart = UNNAMED) -> list[str]:
        """Return the command line that runs `argv` in the room, in the folder `cwd`, relative or as seen there.

        It starts in the folder `scratch`. Paths of the workspace become the same paths in the room. Safe to call from
        any thread.
        """
        folder = str(self.seen_as / self.translate_paths(str(cwd)))
        view = self._bubblewrap(folder, start) if self.isolation == "bwrap" else self._launcher(folder, start)
        if not self.mounts:
            argv = self.confine_writes(argv, start, (str(self.root), str(self.scratch)))
        return [*view, *map(self.translate_paths, argv)]

    def wrap_offline(self, argv: Sequence[str], cwd: Path, start: CheckStart = UNNAMED) -> list[str]:
        """Return the same without a network but loopback, if `choose_isolation` was asked for this."""
        return replace(self, closed=True).wrap_command(argv, cwd, start)

    def translate_paths(self, text: str) -> str:
        """Return `text` with the room's path instead of the workspace's."""
        if self.mounts:
            return text
        names = "|".join(map(re.escape, {str(self.workspace), os.path.realpath(self.workspace)}))
        named = rf"(?:(?<![\w./-])|(?<=-[A-Za-z]))(?:{names})(?![\w.-])"
        return re.sub(named, lambda _: str(self.root), text)

    def _launcher(self, cwd: str, start: CheckStart) -> list[str]:
        plan: dict[str, object] = {
            "place": "the clean room",
            "enter": "" if self.isolation == "none" else self.isolation,
            "cwd": cwd,
            # Set, it would keep bytecode from lying beside the sources; a room has its own place for bytecode.
            "unset": ("PYTHONDONTWRITEBYTECODE",),
        }
        if self.mounts:
            changes = self._make_changes(start)
            view = self.confine(start, changes, overlays=True)
            tree = self._make_tree(start, changes)
            mounts = self._mounts(tree) if view is None else self._mounts_in(view, start, tree)
            is_alone = self.private and start.tree != "shared"
            if self.bytecode or is_alone:
                compiled = self.bytecode or self.scratch / BYTECODE
                mounts.append(make_overlay(compiled, changes / BYTECODE, self.scratch / BYTECODE))
            if is_alone:
                mounts.append(make_overlay(self.scratch / HOME, changes / HOME, self.scratch / HOME))
            plan |= {"closed": self.closed, "mounts": mounts, "scoped": view is not None}
            return make_launcher_command(plan)
        # A right to a folder above cannot be reduced: what is read-only has to be hidden first.
        plan["hidden"] = [os.path.realpath(path) for path in (self.workspace, *self.hidden, *self.lent.values())]
        writable = [(os.path.realpath(path), False) for path in (self.root, self.scratch)]
        readable = [(os.path.realpath(path), True) for path in (*self.lent.values(), *self.shown)]
        return make_launcher_command({**plan, "shown": [*writable, *readable], "masked": CACHES})

    def _bubblewrap(self, cwd: str, start: CheckStart) -> list[str]:
        view = self.confine(start, self._make_changes(start), overlays=False)
        if view is not None:
            return make_bubblewrap_command(self._mounts_in(view, start, self._bind_tree()), cwd, closed=self.closed)
        everything: list[Mount] = [("dev-bind", "/", "/"), *self._mounts(self._bind_tree())]
        return make_bubblewrap_command(everything, cwd, closed=self.closed, numbers=False)

    @property
    def changes(self) -> Path:
        """The folder for what commands change in folders of their own; none of them can reach it."""
        return (self.folder or self.root.parent) / "changes"

    @property
    def made(self) -> Path:
        """The folder for what builds make, a layer for each."""
        return (self.folder or self.root.parent) / PRODUCTS

    def _make_changes(self, start: CheckStart) -> Path:
        self.changes.mkdir(exist_ok=True)
        if start.scratch is None:
            return Path(tempfile.mkdtemp(dir=self.changes))
        changes = self.changes / start.scratch.name
        changes.mkdir(exist_ok=True)
        return changes

    def _bind_tree(self) -> Mount:
        stays = self.private and self.folder not in (None, self.root.parent)
        return ("ro-bind" if stays else "bind", str(self.root), os.path.realpath(self.workspace))

    def _make_tree(self, start: CheckStart, changes: Path) -> Mount:
        """Return the mount of the tree for a command."""
        if not self.private or start.tree == "shared":
            return self._bind_tree()
        workspace = Path(os.path.realpath(self.workspace))
        if start.tree == "build":
            return make_overlay(self.root, self.made / start.name.replace("/", "-"), workspace)
        built = (self.products or self.made).glob("*/changes")
        return make_overlay(self.root, changes / TREE, workspace, sorted(built))

    def _mounts(self, tree: Mount) -> list[Mount]:
        hidden = [str(path) for path in self._list_covered()]
        binds = [("ro-bind" if read_only else "bind", source, target) for source, target, read_only in self._binds()]
        inner_last = sorted([tree, *binds], key=lambda mount: mount[-1].count("/"))
        return [*(("tmpfs", path) for path in hidden), *inner_last, *(("remount-ro", path) for path in hidden)]

    def _mounts_in(self, view: Sequence[Mount], start: CheckStart, tree: Mount) -> list[Mount]:
        """Return the mounts of the room on top of those of a sandbox."""
        reachable = [self.scratch, *([start.scratch] if start.scratch else [])]
        # What a command leaves among its temporary files is not there for the next one.
        temporary = tempfile.mkdtemp(prefix="tmp-", dir=self.scratch)
        writable = [("bind", str(path), str(path)) for path in reachable]
        writable.append(("bind", temporary, str(self.scratch / ROOM_FOLDERS["TMPDIR"])))
        readable = [("ro-bind", os.path.realpath(path), os.path.realpath(path)) for path in self.shown]
        outer = [mount for mount in view if mount[0] != "remount-ro"]
        sealed = [mount for mount in view if mount[0] == "remount-ro"]
        return [*outer, *readable, *writable, *self._mounts(tree), *sealed]

    def _list_covered(self) -> list[Path]:
        """Return the existing folders that have to be hidden: the outermost, outside of the workspace."""
        root = Path(os.path.realpath(self.workspace))
        resolved = {Path(os.path.realpath(path)) for path in self.hidden} - {root}
        return sorted(path for path in resolved if path.is_dir() and not {*resolved, root} & set(path.parents))

    def _binds(self) -> list[tuple[str, str, bool]]:
        """Return source, target and whether it is read-only of each mount but the tree's."""
        root, covered = os.path.realpath(self.workspace), {*self._list_covered()}
        reachable = [(self.scratch, False), *((path, True) for path in self.shown)]
        real = [(os.path.realpath(path), read_only) for path, read_only in reachable]
        binds = [(path, path, read_only) for path, read_only in real if covered & {*Path(path).parents}]
        for number, (name, source) in enumerate(sorted(self.lent.items())):
            binds.append((str(source), f"{root}/{name}", not self.writable))
            for cache in () if self.writable else CACHES:
                if Path(name).name == "node_modules":  # after a fresh install the first program that needs one makes it
                    with suppress(OSError):
                        (source / cache).mkdir()
                if (source / cache).is_dir() and not (source / cache).is_symlink():
                    stand_in = self.scratch / "caches" / f"{number}{cache}"
                    stand_in.mkdir(parents=True, exist_ok=True)
                    binds.append((str(stand_in), f"{root}/{name}/{cache}", False))
        return binds


def make_mount_plan(mounts: Sequence[Mount], cwd: Path, **more: object) -> dict[str, object]:
    """Return the plan of a command in aigon's own namespaces."""
    return {"enter": "namespaces", "cwd": str(cwd), "mounts": [*mounts], "closed": False, "scoped": True, **more}


def make_launcher_command(plan: Mapping[str, object]) -> list[str]:
    """Return the beginning of a command line that carries out the plan before the command."""
    return [*LAUNCHER, str(find_namespaces(plan)), marshal.dumps(dict(plan)).hex()]


def make_bubblewrap_command(
    mounts: Sequence[Mount], cwd: str, *, closed: bool = False, numbers: bool = True
) -> list[str]:
    """Return the beginning of a command line with these mounts, and process numbers of its own, which /proc needs."""
    # Without --cap-drop root's processes keep this capability, and unmount what is mounted here.
    options = ["--unshare-user", "--cap-drop", "CAP_SYS_ADMIN", "--die-with-parent"]
    options += [*(["--unshare-pid", "--unshare-ipc"] if numbers else []), *(["--unshare-net"] if closed else [])]
    return [find_bubblewrap() or "/usr/bin/bwrap", *options, *list_bwrap_options(mounts), "--chdir", cwd, "--"]


SYSTEM_FOLDERS = (
    "/usr/", "/bin/", "/sbin/", "/opt/", "/nix/store/", "/gnu/store/", "/run/current-system/", "/run/wrappers/",
)  # fmt: skip
"""Where systems install programs. Ownership alone says nothing to root, who also owns the files of its agents."""


def find_bubblewrap() -> str | None:
    """Return bubblewrap if only the administrator can have put it there: an agent's version could let anything through.

    Folders of PATH that belong to a project (`.venv/bin`) are skipped.
    """
    return next((program for program in _find_on_path("bwrap") if _is_systems(Path(program).resolve())), None)


def explain_no_bubblewrap() -> str:
    if planted := next(_find_on_path("bwrap"), ""):
        return f"{planted} is not used: users other than root can replace it"
    return "bubblewrap is not installed (apt install bubblewrap)"


def find_system_shell(name: str) -> str:
    """Return the shell of this name on PATH that the system installed, else the name itself."""
    return _find_shell(name, os.environ.get("PATH", os.defpath))


@lru_cache(maxsize=16)
def _find_shell(name: str, path: str) -> str:
    shells = (program for program in _find_on_path(name, path) if os.path.realpath(program).startswith(SYSTEM_FOLDERS))
    return next(shells, name)


def _find_on_path(name: str, path: str | None = None) -> Iterator[str]:
    for folder in (path or os.environ.get("PATH", os.defpath)).split(os.pathsep):
        if folder.startswith("/") and (program := shutil.which(name, path=folder)):
            yield program


def _is_systems(program: Path) -> bool:
    states = [path.stat() for path in (program, program.parent)]
    owned = all(state.st_uid in (0, OVERFLOW_USER) and not state.st_mode & 0o022 for state in states)
    return owned and str(program).startswith(SYSTEM_FOLDERS)


RoomHome = Literal["throwaway", "real"]
OF_THE_SYSTEM = ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS")
"""The only XDG variables that name no folder of the person's."""
BYTECODE = "bytecode"
ROOM_FOLDERS = {"TMPDIR": "tmp", "TMP": "tmp", "TEMP": "tmp", "PYTHONPYCACHEPREFIX": BYTECODE}
"""Variables that name a folder of the room's own. Bytecode next to the sources could belong to other sources."""
HOME = "home"
OF_THE_RUN = ("AIGON_RUN", "AIGON_INVOCATION", "AIGON_SLOT", "AIGON_PORT_BASE")
"""The variables of aigon's that stay: which run it is, and which ports belong to it."""


def make_room_env(
    env: Mapping[str, str],
    scratch: Path,
    room: Path,
    *,
    home: RoomHome = "throwaway",
    places: Mapping[str, str] | None = None,
    translate_paths: Callable[[str], str] = str,
) -> dict[str, str]:
    """Return the environment of checks, `env`, for a room that commands see as `room`.

    Other variables of aigon's and those that redirect git are dropped, and git does not look above the room. TMPDIR and
    PYTHONPYCACHEPREFIX are folders in `scratch`. If `home` is "throwaway", so is HOME, XDG_* is unset, and each
    variable of `places` (RUSTUP_HOME: .rustup) that is unset gets that path below the real HOME, if it exists.
    `translate_paths` replaces paths of the workspace by paths of the room.
    """
    kept = {
        name: translate_paths(value)
        for name, value in env.items()
        if name in OF_THE_RUN or not (name.startswith("AIGON_") or name in LOCAL_VARIABLES)
    }
    for name, folder in ROOM_FOLDERS.items():
        if name in env or name not in ("TMP", "TEMP"):
            kept[name] = str(scratch / folder)
    ceilings = [str(room.parent), *filter(None, [env.get("GIT_CEILING_DIRECTORIES")])]
    kept["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(ceilings)
    if home == "real":
        return kept
    own = {name: value for name, value in kept.items() if not name.startswith("XDG_") or name in OF_THE_SYSTEM}
    real = Path(env.get("HOME") or Path.home())
    tool_chains = {name: str(real / path) for name, path in (places or {}).items() if (real / path).is_dir()}
    return tool_chains | own | {"HOME": str(scratch / HOME)}
