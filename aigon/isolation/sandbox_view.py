"""What an agent sees with bubblewrap: the options that make of grants a file system and process numbers of its own."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from aigon.config.grants import Grants, find_covering_grant, is_inside, list_grant_layers

# Root's processes keep their capabilities otherwise, this one to unmount what is mounted here.
_ALONE = ("--unshare-user", "--cap-drop", "CAP_SYS_ADMIN", "--unshare-pid", "--unshare-ipc", "--die-with-parent")
OF_THE_MACHINE = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")
"""What /proc has of settings that hold for the whole machine. The kernel asks only who one is: root needs no capability
to name, in sys/kernel/core_pattern, a program that runs outside of every sandbox, and bwrap 0.8 leaves it writable."""


def options(grants: Grants, folder: Path) -> list[str]:
    """The options of bwrap; what takes the place of the person's home and of /tmp lies in `folder`."""
    every = _that_are_seen(list_grant_layers(replace(grants, fixed=(*grants.fixed, *_there_already(grants)))))
    every = sorted({*every, *_pinned(every, grants)}, key=lambda each: (each[0].count("/"), each[0]))
    closed = ["--unshare-net"] if grants.network == "closed" else []
    made = [word for path, name in every for word in _layer(path, name, folder)]
    hidden = [path for path, name in every if name == "hidden" and os.path.isdir(path)]  # noqa: PTH112 - many of them
    sealed = [word for path in hidden for word in ("--remount-ro", path)]
    settings = [word for name in OF_THE_MACHINE for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")]
    return [*_ALONE, *closed, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *settings, *made, *sealed]


def _pinned(every: list[tuple[str, str]], grants: Grants) -> Iterator[tuple[str, str]]:
    """Folders that hold what is fixed: mounted themselves, or they could be exchanged for others of the same name."""
    known = dict(every)
    for path in (path for path, name in every if name == "fixed"):
        folder = os.path.dirname(path)  # noqa: PTH120 - a text
        while folder not in known and any(folder != top and is_inside(folder, top) for top in grants.write):
            yield folder, "write"
            folder = os.path.dirname(folder)  # noqa: PTH120 - as above


def _there_already(grants: Grants) -> Iterator[str]:
    """What lies in a folder in which files may be made, but for what may be written itself."""
    for folder in grants.flat:
        # Never a lock: whoever holds it removes it, which the agent's view must not hinder.
        names = [name for name in os.listdir(folder) if not name.endswith(".lock")]  # noqa: PTH208 - names alone
        paths = (f"{folder}/{name}" for name in names)
        yield from (path for path in paths if not any(is_inside(path, granted) for granted in grants.write))


def _that_are_seen(every: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Those that exist; a link only where what it stands in is empty otherwise, since it leads on by itself."""
    known = dict(every)
    there = ((path, name) for path, name in every if os.path.exists(path))  # noqa: PTH110 - many of them
    return [
        (path, name)
        for path, name in there
        if not os.path.islink(path) or find_covering_grant(path, known) in ("hidden", "own")  # noqa: PTH114 - many of them
    ]


def _layer(path: str, name: str, folder: Path) -> tuple[str, ...]:
    """The options for one path."""
    if name == "hidden":
        return ("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)  # noqa: PTH112 - as above
    if name == "own":
        own = folder / path.strip("/").replace("/", "-")
        own.mkdir(exist_ok=True)
        return ("--bind", str(own), path)
    how = "--ro-bind" if name in ("read", "fixed") else "--dev-bind" if path.startswith("/dev/") else "--bind"
    return (how, os.path.realpath(path), path)
