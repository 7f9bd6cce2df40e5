"""Paths of this machine that isolation grants or hides: of the person, programs, git and other checkouts."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from aigon.config.grants import Grants, SandboxPaths, is_inside, read_sandbox_paths
from aigon.files.resources import find_resource
from aigon.git.repository import find_repository
from aigon.text.documents import parse_yaml

_XDG = (("XDG_CONFIG_HOME", "~/.config"), ("XDG_CACHE_HOME", "~/.cache"), ("XDG_DATA_HOME", "~/.local/share"),
        ("XDG_STATE_HOME", "~/.local/state"))  # fmt: skip


@cache
def load_sandbox_data() -> SandboxPaths:
    """What ships with aigon."""
    file = find_resource("templates", "sandbox.yaml")
    return read_sandbox_paths(parse_yaml(file.read_bytes(), str(file)))


def find_home(env: Mapping[str, str]) -> str:
    """The person's home, resolved; "" where there is none."""
    found = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - "~" itself without one
    return found if found != "/" and os.path.isdir(found) else ""  # noqa: PTH112 - a text


def expand_existing(entries: Iterable[str], env: Mapping[str, str], root: Path | None = None) -> tuple[str, ...]:
    """What is there of `entries`, each by its name and, where it is a link, by where it leads.

    A relative one starts at `root`, and is nothing without it. A folder that ends in `/` is made where it is missing.
    """
    paths = [path for entry in entries if (path := _expand(entry, env, root))]
    return tuple(dict.fromkeys(name for path in paths for name in _resolve_existing(path)))


def strip_made(entries: Iterable[str]) -> tuple[str, ...]:
    """The `entries` as what is only read: a folder that is not there has nothing to read, and is not made."""
    return tuple(entry.rstrip("/") or entry for entry in entries)


def find_absent(entries: Iterable[str], env: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """The `entries` that name nothing that is there, but for folders that are made; nothing is made here."""
    named = ((entry, _expand(entry, env, root)) for entry in entries if not entry.endswith("/"))
    return tuple(entry for entry, path in named if not os.path.exists(path))  # noqa: PTH110 - a text


def _expand(entry: str, env: Mapping[str, str], root: Path | None) -> str:
    if entry.startswith("$"):
        name, slash, rest = entry[1:].partition("/")
        entry = f"{env[name]}{slash}{rest}" if env.get(name) else ""
    for variable, prefix in _XDG:
        if env.get(variable) and entry.startswith(f"{prefix}/"):
            entry = env[variable] + entry.removeprefix(prefix)
    if entry == "~" or entry.startswith("~/"):
        entry = f"{find_home(env)}/{entry[2:]}" if find_home(env) else ""
    return f"{root}/{entry}" if entry and root and not entry.startswith("/") else entry


def _resolve_existing(path: str) -> Iterator[str]:
    """A path by its name in a folder that is none of links, and where it leads itself; nothing where nothing is."""
    if not path.startswith("/"):
        return
    if path.endswith("/"):
        _make_folder(Path(path))
    folder, _, name = path.rstrip("/").rpartition("/")
    named = os.path.join(os.path.realpath(folder or "/"), name)  # noqa: PTH118 - a text
    if name in ("", ".", ".."):
        named = os.path.realpath(path)
    if os.path.exists(named):  # noqa: PTH110 - a text
        yield named
        yield os.path.realpath(named)


def _make_folder(folder: Path) -> None:
    """Nothing where it cannot be made: the agent will say what it lacks."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return


_PACKAGE = str(Path(__file__).resolve().parents[1])


def list_program_folders(path: str, closed: Sequence[str]) -> tuple[str, ...]:
    """The folders of PATH, each with what it is a part of (`X/bin` with `X`) unless that holds what is `closed`."""
    folders = [os.path.realpath(part) for part in path.split(os.pathsep) if part.startswith("/")]
    own = (_PACKAGE, os.path.realpath(f"{_PACKAGE}/../templates"), sys.prefix, sys.base_prefix)
    return tuple(
        dict.fromkeys((*(_find_installation(folder, closed) for folder in folders), *map(os.path.realpath, own)))
    )


def find_needed_files(argv: Sequence[str], grants: Grants, env: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """What the command line needs to be there: its program, and files and folders that it names."""
    closed = (*grants.hidden, *grants.own)
    first = shutil.which(argv[0], path=env.get("PATH")) if "/" not in argv[0] else str(root / argv[0])
    named = [
        first,
        *(word for word in argv[1:] if word.startswith("/") and len(word) < os.pathconf("/", "PC_PATH_MAX")),
    ]
    return tuple(dict.fromkeys(path for word in named if word for path in _list_needed(word, closed)))


def _list_needed(word: str, closed: Sequence[str]) -> Iterator[str]:
    if not os.path.exists(word):  # noqa: PTH110 - a text
        return
    real = os.path.realpath(word)
    if os.path.isdir(real):  # noqa: PTH112 - a text
        yield from () if _holds_closed(real, closed) else (real,)
        return
    folder, _, name = word.rpartition("/")
    yield from (f"{os.path.realpath(folder or '/')}/{name}", real)
    above = _find_package_folder(real)
    yield from () if _holds_closed(above, closed) else (above,)


def _find_package_folder(file: str) -> str:
    """The folder of a program with what it is installed with: up to the outermost `node_modules`, else its own."""
    before, found, _ = file.partition("/node_modules/")
    return f"{before}/node_modules" if found else file.rpartition("/")[0]


def _find_installation(folder: str, closed: Sequence[str]) -> str:
    above = folder.rpartition("/")[0]
    return folder if _holds_closed(above, closed) else above


def _holds_closed(folder: str, closed: Sequence[str]) -> bool:
    return folder in ("", "/") or any(is_inside(path, folder) for path in closed)


SHARED = ("objects", "refs", "logs", "packed-refs", "lfs")
"""In the git directory that all worktrees share."""
SETTINGS = ("hooks", "config", "config.worktree")
"""What other programs of the person would run or believe."""


def add_git_grants(grants: Grants, git_dir: Path, common: Path) -> Grants:
    """The grants, and these. Other object stores that the repository borrows from may be read."""
    read = [*grants.read, *_list_alternates(common), str(common)]
    if git_dir == common:
        fixed = [str(common / name) for name in SETTINGS]
        return replace(grants, write=(*grants.write, str(common)), read=tuple(read), fixed=(*grants.fixed, *fixed))
    shared = [str(common / name) for name in SHARED if (common / name).exists()]
    own = [str(git_dir / name) for name in SETTINGS]
    return replace(
        grants,
        write=(*grants.write, *shared, str(git_dir)),
        flat=(*grants.flat, str(common)),
        read=tuple(read),
        fixed=(*grants.fixed, *own),
    )


def _list_alternates(common: Path) -> list[str]:
    """The folders named in objects/info/alternates."""
    try:
        lines = (common / "objects" / "info" / "alternates").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    named = (os.path.realpath(common / "objects" / line) for line in lines if line and not line.startswith("#"))
    return [path for path in named if Path(path).is_dir()]


_SEARCHED = re.compile(r"(PATH|LIB)$")
"""Variables with folders in which programs and libraries are looked for: PYTHONPATH, NODE_PATH, RUBYLIB."""


def list_other_checkouts(root: Path) -> tuple[Path, ...]:
    """The main checkout and the worktrees of the repository around `root`, but the one that is there."""
    repository = find_repository(root)
    return tuple(path for path in (repository.root, *repository.worktrees) if path != root.resolve())


def rebase_search_paths(env: Mapping[str, str], main: Path, root: Path) -> dict[str, str]:
    """`env` for the worktree at `root`: where folders to search name the `main` checkout's, those of the worktree."""
    if main == root:
        return dict(env)
    return {
        name: _rebase_path_list(value, main, root) if _SEARCHED.search(name) else value for name, value in env.items()
    }


def _rebase_path_list(value: str, main: Path, root: Path) -> str:
    return os.pathsep.join(_rebase_path(part, main, root) for part in value.split(os.pathsep))


def _rebase_path(part: str, main: Path, root: Path) -> str:
    place = Path(part)
    if not place.is_relative_to(main) or place.is_relative_to(root):
        return part
    own = root / place.relative_to(main)
    return str(own) if own.exists() else part


def find_shared_tools(root: Path, path: str, lent: Iterable[str]) -> tuple[Path, ...]:
    """What lies in other checkouts and is needed all the same: programs on `path`, where links to dependencies lead.

    What is in the checkout at `root` itself is not among them.
    """
    wanted = [_find_environment_root(Path(part)) for part in path.split(os.pathsep) if part.startswith("/")]
    wanted += [Path(sys.prefix), *(root / name for name in lent if (root / name).is_symlink())]
    real = dict.fromkeys(each.resolve() for each in wanted)
    outside = (each for each in real if each.is_dir() and not each.is_relative_to(root.resolve()))
    return tuple(each for each in outside if any(place in each.parents for place in list_other_checkouts(root)))


def _find_environment_root(folder: Path) -> Path:
    """The environment that a folder of programs belongs to, where it belongs to one."""
    if (folder.parent / "pyvenv.cfg").is_file() or folder.parent.name == "node_modules":
        return folder.parent
    return folder
