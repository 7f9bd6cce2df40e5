"""Paths as the data of sandboxes writes them, made into paths of this machine and this person."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from aigon.config.grants import SandboxPaths, read_sandbox_paths
from aigon.files.resources import resource
from aigon.text.yaml import parsed

_XDG = (("XDG_CONFIG_HOME", "~/.config"), ("XDG_CACHE_HOME", "~/.cache"), ("XDG_DATA_HOME", "~/.local/share"),
        ("XDG_STATE_HOME", "~/.local/state"))  # fmt: skip


@cache
def known() -> SandboxPaths:
    """What ships with aigon."""
    file = resource("templates", "sandbox.yaml")
    return read_sandbox_paths(parsed(file.read_bytes(), str(file)))


def home_of(env: Mapping[str, str]) -> str:
    """The person's home, resolved; "" where there is none."""
    found = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - "~" itself without one
    return found if found != "/" and os.path.isdir(found) else ""  # noqa: PTH112 - a text


def found(entries: Iterable[str], env: Mapping[str, str], root: Path | None = None) -> tuple[str, ...]:
    """What is there of `entries`, each by its name and, where it is a link, by where it leads.

    A relative one starts at `root`, and is nothing without it. A folder that ends in `/` is made where it is missing.
    """
    paths = [path for entry in entries if (path := _expanded(entry, env, root))]
    return tuple(dict.fromkeys(name for path in paths for name in _there(path)))


def unmade(entries: Iterable[str]) -> tuple[str, ...]:
    """The `entries` as what is only read: a folder that is not there has nothing to read, and is not made."""
    return tuple(entry.rstrip("/") or entry for entry in entries)


def absent(entries: Iterable[str], env: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """The `entries` that name nothing that is there, but for folders that are made; nothing is made here."""
    named = ((entry, _expanded(entry, env, root)) for entry in entries if not entry.endswith("/"))
    return tuple(entry for entry, path in named if not os.path.exists(path))  # noqa: PTH110 - a text


def _expanded(entry: str, env: Mapping[str, str], root: Path | None) -> str:
    if entry.startswith("$"):
        name, slash, rest = entry[1:].partition("/")
        entry = f"{env[name]}{slash}{rest}" if env.get(name) else ""
    for variable, prefix in _XDG:
        if env.get(variable) and entry.startswith(f"{prefix}/"):
            entry = env[variable] + entry.removeprefix(prefix)
    if entry == "~" or entry.startswith("~/"):
        entry = f"{home_of(env)}/{entry[2:]}" if home_of(env) else ""
    return f"{root}/{entry}" if entry and root and not entry.startswith("/") else entry


def _there(path: str) -> Iterator[str]:
    """A path by its name in a folder that is none of links, and where it leads itself; nothing where nothing is."""
    if not path.startswith("/"):
        return
    if path.endswith("/"):
        _make(Path(path))
    folder, _, name = path.rstrip("/").rpartition("/")
    named = os.path.join(os.path.realpath(folder or "/"), name)  # noqa: PTH118 - a text
    if name in ("", ".", ".."):
        named = os.path.realpath(path)
    if os.path.exists(named):  # noqa: PTH110 - a text
        yield named
        yield os.path.realpath(named)


def _make(folder: Path) -> None:
    """Nothing where it cannot be made: the agent will say what it lacks."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
