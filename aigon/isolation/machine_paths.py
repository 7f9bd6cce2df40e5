"""Paths of this machine that isolation grants or hides: of the person, programs, git and other checkouts."""

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from aigon.config.grants import Grants, Mechanism, SandboxPaths, is_inside
from aigon.files.resources import read_shipped
from aigon.git.repository import LENT, LINK, RUN_FOLDER, find_repository
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re

_XDG = (("XDG_CONFIG_HOME", "~/.config"), ("XDG_CACHE_HOME", "~/.cache"), ("XDG_DATA_HOME", "~/.local/share"),
        ("XDG_STATE_HOME", "~/.local/state"))  # fmt: skip


@cache
def load_sandbox_data() -> SandboxPaths:
    """Return the paths that ship with aigon."""
    return parse_yaml(read_shipped("templates", "sandbox.yaml"), "templates/sandbox.yaml").build(SandboxPaths)


def find_home(env: Mapping[str, str]) -> str:
    """Return the person's home, resolved; "" without one."""
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - "~" itself without one
    return home if home != "/" and os.path.isdir(home) else ""  # noqa: PTH112 - a text


def expand_existing(entries: Iterable[str], env: Mapping[str, str], root: Path | None = None) -> tuple[str, ...]:
    """Return the existing paths among `entries`, each by its name and, if it is a link, by its target.

    A relative entry starts at `root` and is dropped without one. A folder that ends in `/` is made if it is missing.
    """
    wanted = [*entries]
    home = find_home(env) if wanted else ""
    paths = (_expand(entry, env, home, root) for entry in wanted)
    return tuple(dict.fromkeys(name for path in paths for name in _resolve_existing(path)))


def strip_made(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the `entries` without the slash that has missing folders made: a folder to read is not made."""
    return tuple(entry.rstrip("/") or entry for entry in entries)


def find_absent(entries: Iterable[str], env: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """Return the `entries` that name nothing that exists, except folders that would be made."""
    home = find_home(env)
    named = ((entry, _expand(entry, env, home, root)) for entry in entries if not entry.endswith("/"))
    return tuple(entry for entry, path in named if not os.path.exists(path))  # noqa: PTH110 - a text


def _expand(entry: str, env: Mapping[str, str], home: str, root: Path | None) -> str:
    if entry.startswith("$"):
        name, slash, rest = entry[1:].partition("/")
        entry = f"{env[name]}{slash}{rest}" if env.get(name) else ""
    for variable, prefix in _XDG:
        if env.get(variable) and entry.startswith(f"{prefix}/"):
            entry = env[variable] + entry.removeprefix(prefix)
    if entry == "~" or entry.startswith("~/"):
        entry = f"{home}/{entry[2:]}" if home else ""
    return f"{root}/{entry}" if entry and root and not entry.startswith("/") else entry


def _resolve_existing(path: str) -> Iterator[str]:
    """Yield an existing path by its name in a folder without links, and by its own target."""
    if not path.startswith("/"):
        return
    if path.endswith("/"):
        with contextlib.suppress(OSError):  # the agent will say what it lacks
            Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.path.exists(path):  # noqa: PTH110 - a text
        return
    folder, _, name = path.rstrip("/").rpartition("/")
    named = os.path.join(os.path.realpath(folder or "/"), name)  # noqa: PTH118 - a text
    if name in ("", ".", ".."):
        named = os.path.realpath(path)
    yield named
    yield os.path.realpath(named)


_VENV_HOME = compile_re(r"^home *= *(/.+)$", re.MULTILINE)
_PACKAGE = str(Path(__file__).resolve().parents[1])


def list_program_folders(path: str, closed: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of PATH, each with its installation (`X` for `X/bin`) unless that holds a `closed` path.

    With a virtual environment goes the installation that its interpreter belongs to.
    """
    named = [os.path.realpath(part) for part in path.split(os.pathsep) if part.startswith("/")]
    folders = []
    for folder in (*named, *filter(None, map(_find_base_folder, named))):
        above = folder.rpartition("/")[0]
        folders.append(folder if _holds_closed(above, closed) else above)
    own = (_PACKAGE, os.path.realpath(f"{_PACKAGE}/../templates"), sys.prefix, sys.base_prefix)
    return tuple(dict.fromkeys((*folders, *map(os.path.realpath, own))))


def _find_base_folder(folder: str) -> str:
    """Return where the interpreter of the virtual environment around `folder` is installed; "" without one.

    An agent can write the file that says so: only what is a Python installation counts.
    """
    try:
        settings = Path(folder).with_name("pyvenv.cfg").read_text(errors="replace")
    except OSError:
        return ""
    home = _VENV_HOME.search(settings)
    base = Path(os.path.realpath(home[1].strip())) if home else None
    return str(base) if base and next(base.parent.glob("lib/python3*/os.py"), None) else ""


def find_needed_files(argv: Sequence[str], grants: Grants, env: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """Return what a command line needs: its program, and files and folders that it names."""
    closed = (*grants.hidden, *grants.own)
    program = shutil.which(argv[0], path=env.get("PATH")) if "/" not in argv[0] else str(root / argv[0])
    longest = os.pathconf("/", "PC_PATH_MAX")
    words = [program, *(word for word in argv[1:] if word.startswith("/") and len(word) < longest)]
    return tuple(dict.fromkeys(path for word in words if word for path in _list_needed(word, closed)))


def _list_needed(word: str, closed: Sequence[str]) -> Iterator[str]:
    if not os.path.exists(word):  # noqa: PTH110 - a text
        return
    real = os.path.realpath(word)
    above = real
    if not os.path.isdir(real):  # noqa: PTH112 - a text
        folder, _, name = word.rpartition("/")
        yield from (f"{os.path.realpath(folder or '/')}/{name}", real)
        # A program with what it is installed with: up to the outermost `node_modules`, else its own folder.
        before, modules, _ = real.partition("/node_modules/")
        above = f"{before}/node_modules" if modules else real.rpartition("/")[0]
    if not _holds_closed(above, closed):
        yield above


def _holds_closed(folder: str, closed: Sequence[str]) -> bool:
    return folder in ("", "/") or any(is_inside(path, folder) for path in closed)


def add_git_grants(grants: Grants, root: Path, git_dir: Path, common: Path, mechanism: Mechanism) -> Grants:
    """Add what an agent needs to commit, and reading of object stores that the repository borrows from.

    Where that can be, it commits to a repository of the run's own, and can only read the person's; submodules alone
    have their own.
    """
    read = (*grants.read, *list_alternates(common), str(common))
    own, modules = git_dir.joinpath(*RUN_FOLDER), git_dir / "modules"
    if (root / ".git").is_file():
        link = () if mechanism == "landlock" else (("ro-bind", str(own.with_name(LINK)), str(root / ".git")),)
        return replace(grants, write=(*grants.write, str(own), str(modules)), read=read, placed=link)
    if is_repository_lent(root, mechanism):
        lent = root / ".git" / LENT
        placed = (
            ("bind", str(own), str(root / ".git")),
            ("ro-bind", str(common / "objects"), str(lent / "objects")),
            ("ro-bind-try", str(common / "lfs"), str(lent / "lfs")),
            ("bind-try", str(modules), str(root / ".git" / "modules")),
        )
        return replace(grants, read=read, placed=placed)
    return replace(grants, write=(*grants.write, str(common)), read=read)


def is_repository_lent(root: Path, mechanism: Mechanism) -> bool:
    """Return whether agents can commit to a repository of the run's own in the checkout at `root`.

    Landlock cannot except `.git` from a folder that may be written: there it takes a worktree, whose `.git` is a file.
    """
    return (root / ".git").is_file() if mechanism == "landlock" else mechanism != "none"


def list_alternates(common: Path) -> list[str]:
    """Return the object stores that a repository borrows from."""
    try:
        lines = (common / "objects" / "info" / "alternates").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    paths = (os.path.realpath(common / "objects" / line) for line in lines if line and not line.startswith("#"))
    return [path for path in paths if Path(path).is_dir()]


_SEARCHED = compile_re(r"(PATH|LIB)$")
"""Variables with folders that are searched for programs and libraries: PYTHONPATH, NODE_PATH, RUBYLIB."""


def list_other_checkouts(root: Path) -> tuple[Path, ...]:
    """Return every checkout of the repository except the one at `root`."""
    repository = find_repository(root)
    return tuple(path for path in (repository.root, *repository.worktrees) if path != root.resolve())


def rebase_search_paths(env: Mapping[str, str], main: Path, root: Path) -> dict[str, str]:
    """Return `env` with search paths that name folders of the `main` checkout rebased to the worktree at `root`."""

    def rebase(part: str) -> str:
        folder = Path(part)
        if not folder.is_relative_to(main) or folder.is_relative_to(root):
            return part
        own = root / folder.relative_to(main)
        return str(own) if own.exists() else part

    if main == root:
        return dict(env)
    return {
        name: os.pathsep.join(map(rebase, value.split(os.pathsep))) if _SEARCHED.search(name) else value
        for name, value in env.items()
    }


def find_shared_tools(root: Path, path: str, lent: Iterable[str]) -> tuple[Path, ...]:
    """Return the tool folders in other checkouts that this one needs: programs on PATH, targets of dependency links."""
    wanted = [_find_environment_root(Path(part)) for part in path.split(os.pathsep) if part.startswith("/")]
    wanted += [Path(sys.prefix), *(root / name for name in lent if (root / name).is_symlink())]
    real = dict.fromkeys(folder.resolve() for folder in wanted)
    outside = [folder for folder in real if folder.is_dir() and not folder.is_relative_to(root.resolve())]
    others = {*list_other_checkouts(root)} if outside else set()
    return tuple(folder for folder in outside if others & {*folder.parents})


def _find_environment_root(folder: Path) -> Path:
    """Return the environment that a folder of programs belongs to, else the folder."""
    belongs = (folder.parent / "pyvenv.cfg").is_file() or folder.parent.name == "node_modules"
    return folder.parent if belongs else folder
