"""The mounts that make a view of the file system, as one table that bubblewrap and aigon's own namespaces carry out.

Each line is how to mount, what, and where: "bind" and "ro-bind" a path (with "-try" if it exists), "dev-bind" one with
devices, "overlay" one, or several with the first on top, whose changes go to the folder named next, "tmpfs" an empty
folder; "remount-ro" makes one read-only after the mounts inside of it; "dev" and "proc" are a new /dev and /proc.
Sources are paths as they are before the first mount.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from aigon.config.grants import Grants, find_covering_grant, is_inside, list_grant_layers

Mount = tuple[str, ...]
SHARED_MEMORY = "/dev/shm"
MACHINE_SETTINGS = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")
"""Settings in /proc that hold for the whole machine. The kernel asks only for the user: root needs no capability to
name a program that runs outside of every sandbox in sys/kernel/core_pattern, which bwrap 0.8 leaves writable."""


def list_bwrap_options(mounts: Iterable[Mount]) -> list[str]:
    return [word for how, *paths in mounts for word in (f"--{how}", *paths)]


def list_mounts(grants: Grants, folder: Path, changes: Path | None = None) -> list[Mount]:
    """Return the mounts for these grants; the agent's own home and /tmp are folders in `folder`.

    What is written in private folders goes to folders in `changes`. Without, programs find private folders empty where
    these are caches, and can only read those that lie in what they may write.
    """
    layers = _select_seen(list_grant_layers(replace(grants, own=(*grants.own, SHARED_MEMORY))))
    layers = [layer for layer in layers if layer != (SHARED_MEMORY, "own")]  # "dev" makes it
    layers = sorted({*layers, *_list_pinned(layers, grants)}, key=lambda layer: (layer[0].count("/"), layer[0]))
    settings = [("ro-bind-try", f"/proc/{name}", f"/proc/{name}") for name in MACHINE_SETTINGS]
    root: list[Mount] = [("ro-bind", "/", "/"), ("dev", "/dev"), ("proc", "/proc"), *settings]
    sealed = [("remount-ro", path) for path, name in layers if name == "hidden" and os.path.isdir(path)]  # noqa: PTH112
    empty = {
        path for path, name in layers if name == "private" and not any(is_inside(path, top) for top in grants.write)
    }
    made = (
        _make_private_mount(path, folder, changes, empty=path in empty)
        if name == "private"
        else _make_mount(path, name, folder)
        for path, name in layers
    )
    return [*root, *made, *grants.placed, *sealed]


def _list_pinned(layers: list[tuple[str, str]], grants: Grants) -> Iterator[tuple[str, str]]:
    """Yield the folders around fixed paths. They are mounted, or an agent could exchange them for others."""
    known = dict(layers)
    for path in (path for path, name in layers if name == "fixed"):
        folder = os.path.dirname(path)  # noqa: PTH120 - a text
        while folder not in known and any(folder != top and is_inside(folder, top) for top in grants.write):
            yield folder, "write"
            folder = os.path.dirname(folder)  # noqa: PTH120 - as above


def _select_seen(layers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return the layers that exist; links only inside of empty folders, as elsewhere they lead on by themselves."""
    known = dict(layers)
    return [(path, name) for path, name in layers if _is_seen(path, known)]


def _is_seen(path: str, known: Mapping[str, str]) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) or (
        os.path.exists(path) and find_covering_grant(path, known) in ("hidden", "own")  # noqa: PTH110 - a text
    )


def _make_private_mount(path: str, folder: Path, changes: Path | None, *, empty: bool) -> Mount:
    real = _find_real(path)
    if not os.path.isdir(real):  # noqa: PTH112 - a text
        return ("ro-bind", real, path)
    place = (changes or folder) / path.strip("/").replace("/", "-")
    if changes:
        return make_overlay(Path(real), place, Path(path))
    if not empty:
        return ("ro-bind", real, path)
    (place / "view").mkdir(parents=True, exist_ok=True)
    return ("bind", str(place / "view"), path)


def make_overlay(source: Path, place: Path, target: Path, above: Sequence[Path] = ()) -> Mount:
    """Return the mount that shows a folder, with those `above` on top, and keeps what is written there in `place`."""
    for name in ("changes", "work", "view"):
        if not os.path.isdir(f"{place}/{name}"):  # noqa: PTH112 - as above
            (place / name).mkdir(parents=True, exist_ok=True)
    return ("overlay", *map(str, above), str(source), str(place), str(target))


def _make_mount(path: str, name: str, folder: Path) -> Mount:
    if name == "hidden":
        return ("tmpfs", path) if os.path.isdir(path) else ("ro-bind", "/dev/null", path)  # noqa: PTH112 - as above
    if name == "own":
        own = f"{folder}/{path.strip('/').replace('/', '-')}"
        with suppress(FileExistsError):
            os.mkdir(own)  # noqa: PTH102 - several for each program
        return ("bind", own, path)
    how = "ro-bind" if name in ("read", "fixed") else "dev-bind" if path.startswith("/dev/") else "bind"
    return (how, _find_real(path), path)


def _find_real(path: str) -> str:
    """Return where a path leads: those of grants are resolved but for their last link."""
    return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114 - a text
