"""What a command in a clean room sees: the command line that gives it this view, and its environment."""

import marshal
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from aigon.git.person import LOCAL_VARIABLES

Isolation = Literal["bwrap", "namespaces", "landlock", "none"]
CACHES = (".cache", ".tmp", ".vite", ".vite-temp", ".vitest")
"""Folders in dependency folders in which tools keep what they made of sources: empty and writable in a room."""
OVERFLOW_USER = 65534
"""Whom files belong to whose owner has no name in a user namespace, as root's in a container."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What a command sees: `export` instead of `workspace`, none of `hidden`, `lent` folders where it looks for them.

    `lent` are read-only: relative path in the export -> the folder that is shown there; `kept` stays reachable and
    writable whatever is hidden, `shown` readable; an empty folder of `scratch` is in the place of each cache in a lent
    folder. With `closed` there is no network but loopback; that takes mounts. With `writable` the lent folders can be
    written, caches included.
    """

    isolation: Isolation
    workspace: Path
    export: Path
    scratch: Path
    hidden: tuple[Path, ...] = ()
    lent: Mapping[str, Path] = field(default_factory=dict)
    kept: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    closed: bool = False
    writable: bool = False

    @property
    def seen_as(self) -> Path:
        """The path under which commands see the export: the workspace's own, where mounts can be made."""
        return self.workspace if self.mounts else self.export

    @property
    def mounts(self) -> bool:
        """Whether the export is mounted over the workspace."""
        return self.isolation in ("bwrap", "namespaces")

    def enclosed(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """The command line that aigon starts for `argv`; `cwd` is relative to the room, or absolute as seen there.

        Paths of the workspace in either are taken for the same paths in the room.
        """
        folder = self.seen_as / self.translated(str(cwd))
        command = [self.translated(part) for part in argv]
        return [*(self._bubblewrap(folder) if self.isolation == "bwrap" else self._launcher(folder)), *command]

    def translated(self, text: str) -> str:
        """`text` with the room's path wherever it names the workspace's."""
        if self.mounts:
            return text
        names = "|".join(map(re.escape, {str(self.workspace), os.path.realpath(self.workspace)}))
        named = rf"(?:(?<![\w./-])|(?<=-[A-Za-z]))(?:{names})(?![\w.-])"
        return re.sub(named, lambda _: str(self.export), text)

    def _launcher(self, cwd: Path) -> list[str]:
        view = self._mounts() if self.mounts else self._rights()
        plan = marshal.dumps({"isolation": self.isolation, "cwd": str(cwd), "closed": self.closed, **view}).hex()
        return [sys.executable, "-I", "-S", str(Path(__file__).with_name("entrance.py")), plan]

    def _mounts(self) -> dict[str, object]:
        return {"hidden": [str(path) for path in self._covered()], "binds": self._binds()}

    def _rights(self) -> dict[str, object]:
        # A right that a folder has from above cannot be made less: what is read-only has to be hidden first.
        hidden = [os.path.realpath(path) for path in (self.workspace, *self.hidden, *self.lent.values())]
        writable = [(os.path.realpath(path), False) for path in (self.export, self.scratch, *self.kept)]
        readable = [(os.path.realpath(path), True) for path in (*self.lent.values(), *self.shown)]
        return {"hidden": hidden, "shown": writable + readable, "masked": CACHES}

    def _bubblewrap(self, cwd: Path) -> list[str]:
        hidden = [os.path.realpath(path) for path in self._covered()]
        binds = [
            ["--ro-bind" if read_only else "--bind", source, target] for source, target, read_only in self._binds()
        ]
        # Root's processes keep their capabilities otherwise, this one to unmount what is mounted here.
        options = ["--unshare-user", "--cap-drop", "CAP_SYS_ADMIN", "--die-with-parent", "--dev-bind", "/", "/"]
        options += ["--unshare-net"] if self.closed else []
        options += [word for path in hidden for word in ("--tmpfs", path)]
        options += [word for bind in binds for word in bind]
        options += [word for path in hidden for word in ("--remount-ro", path)]
        return [find_bubblewrap() or "/usr/bin/bwrap", *options, "--chdir", str(cwd), "--"]

    def _covered(self) -> list[Path]:
        """What has to be hidden by itself: there, no file, and not in the workspace or in another such folder."""
        root = Path(os.path.realpath(self.workspace))
        resolved = {Path(os.path.realpath(path)) for path in self.hidden} - {root}
        return sorted(path for path in resolved if path.is_dir() and not {*resolved, root} & set(path.parents))

    def _binds(self) -> list[tuple[str, str, bool]]:
        """What is mounted where, and whether read-only; outer folders first, as an inner one would be covered."""
        root = os.path.realpath(self.workspace)
        kept = [os.path.realpath(path) for path in (self.scratch, *self.kept)]
        binds = [(path, path, False) for path in kept if self._is_covered(Path(path))]
        shown = [os.path.realpath(path) for path in self.shown]
        binds += [(path, path, True) for path in shown if self._is_covered(Path(path))]
        binds += [(str(self.export), root, False)]
        for number, (name, source) in enumerate(sorted(self.lent.items())):
            binds += [(str(source), f"{root}/{name}", not self.writable)]
            caches = [] if self.writable else [cache for cache in CACHES if _is_folder(source / cache)]
            binds += [(str(self._cache(number, cache)), f"{root}/{name}/{cache}", False) for cache in caches]
        return sorted(binds, key=lambda bind: bind[1].count("/"))

    def _is_covered(self, path: Path) -> bool:
        return any(covered in path.parents for covered in self._covered())

    def _cache(self, number: int, name: str) -> Path:
        """The folder that stands in for a cache in the lent folder of this number."""
        folder = self.scratch / "caches" / f"{number}{name}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


SYSTEM_FOLDERS = (
    "/usr/",
    "/bin/",
    "/sbin/",
    "/opt/",
    "/nix/store/",
    "/gnu/store/",
    "/run/current-system/",
    "/run/wrappers/",
)
"""Where systems install programs. Who owns a file says nothing to root, whose agents' files are root's too."""


def find_bubblewrap() -> str | None:
    """The program, where only the system's administrator can have put it there: an agent's could let anything by.

    Folders of PATH that are part of a project (`.venv/bin`) are passed over.
    """
    return next((program for program in _find_on_path("bwrap") if _is_systems(Path(program).resolve())), None)


def explain_no_bubblewrap() -> str:
    """Say why `bubblewrap` finds none."""
    if planted := next(_find_on_path("bwrap"), ""):
        return f"{planted} is not used: users other than root can replace it"
    return "bubblewrap is not installed (apt install bubblewrap)"


def find_system_shell(name: str) -> str:
    """The shell of this name on PATH that a system installed; the name itself where there is none."""
    return next(
        (program for program in _find_on_path(name) if os.path.realpath(program).startswith(SYSTEM_FOLDERS)), name
    )


def _find_on_path(name: str) -> Iterator[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    yield from (found for folder in folders if folder.startswith("/") and (found := shutil.which(name, path=folder)))


def _is_systems(program: Path) -> bool:
    owned = all(
        place.stat().st_uid in (0, OVERFLOW_USER) and not place.stat().st_mode & 0o022
        for place in (program, program.parent)
    )
    return owned and str(program).startswith(SYSTEM_FOLDERS)


RoomHome = Literal["throwaway", "real"]
OF_THE_SYSTEM = ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS")
"""The only variables of their family that name no place of the person's."""
ROOM_FOLDERS = {"TMPDIR": "tmp", "TMP": "tmp", "TEMP": "tmp", "PYTHONPYCACHEPREFIX": "bytecode"}
"""Variables that name a folder of the room's own. Bytecode beside the sources could be older or other than these."""
HOME = "home"
OF_THE_RUN = ("AIGON_RUN", "AIGON_INVOCATION", "AIGON_SLOT", "AIGON_PORT_BASE")
"""Of aigon's own variables those that stay: which run it is, and which ports are its own."""


def make_room_env(
    env: Mapping[str, str],
    scratch: Path,
    room: Path,
    *,
    home: RoomHome = "throwaway",
    places: Mapping[str, str] | None = None,
    translated: Callable[[str], str] = str,
) -> dict[str, str]:
    """`env` (that of the checks) for a room that commands see as `room` and whose own folders are in `scratch`.

    Drops AIGON_* but AIGON_RUN and AIGON_INVOCATION, and what redirects git, which also stops looking above the room.
    TMPDIR and PYTHONPYCACHEPREFIX point into `scratch`; so does HOME if it is "throwaway", XDG_* is unset then, and
    each variable
    of `places` (RUSTUP_HOME: .rustup) is set to that path below the real HOME, where it is unset and the folder
    exists. `translated` makes of a value that names the workspace one that names the room.
    """
    kept = {name: translated(value) for name, value in env.items() if _stays(name)}
    kept |= {
        name: str(scratch / folder)
        for name, folder in ROOM_FOLDERS.items()
        if name in env or name not in ("TMP", "TEMP")
    }
    kept["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(
        [str(room.parent), *filter(None, [env.get("GIT_CEILING_DIRECTORIES")])]
    )
    if home == "real":
        return kept
    own = {name: value for name, value in kept.items() if not name.startswith("XDG_") or name in OF_THE_SYSTEM}
    return _find_tool_chains(env, places or {}) | own | {"HOME": str(scratch / HOME)}


def make_room_folders(scratch: Path) -> None:
    """The folders that the environment names, empty."""
    for name in {*ROOM_FOLDERS.values(), HOME}:
        (scratch / name).mkdir(mode=0o700)


def _stays(name: str) -> bool:
    return name in OF_THE_RUN or not (name.startswith("AIGON_") or name in LOCAL_VARIABLES)


def _find_tool_chains(env: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    """Where tools are that would look in HOME."""
    real = Path(env.get("HOME") or Path.home())
    return {name: str(real / path) for name, path in places.items() if (real / path).is_dir()}
