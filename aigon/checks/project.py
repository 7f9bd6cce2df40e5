"""A project on disk, as profiles ask about it, and the interpreters of programs: files are read, none of it is run."""

import contextlib
import json
import os
import re
import shutil
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from aigon.git.worktrees import find_record
from aigon.process.run import Command, run
from aigon.text.patterns import compile_glob

ENTRIES = 200_000
"""Directory entries looked at by `glob`, the shallow ones first."""
LARGEST = 16 * 1024 * 1024
"""Bytes of a file that is still read."""
NOT_OURS = frozenset(
    "node_modules bower_components __pycache__ site-packages venv build dist target vendor".split()  # noqa: SIM905
)
"""Folders with tools' and dependencies' files. `build` and `dist` as pytest leaves them out (its `norecursedirs`);
`target` and `vendor` are where cargo and Maven, Go and Composer put theirs."""
_ENVIRONMENTS = (".venv", "venv")
# Without the project's folder on the path (-I) and without importing; -I also hides the person's own site-packages,
# which `python -m` will see.
_FIND = """\
import sys, site, importlib.util
if sys.prefix == sys.base_prefix: sys.path.append(site.getusersitepackages())
found = importlib.util.find_spec(sys.argv[1])
sys.exit(0 if found and found.origin else 1)
"""


class ProjectOnDisk:
    """The `Project` at `root`, for a person with the environment `env`. Answers are kept: it is looked at once.

    `above` is the repository that it is a folder of: what is installed there serves its projects, too. `without` are
    folders whose files belong to other projects: no `glob` finds them.
    """

    def __init__(
        self, root: Path, env: Mapping[str, str], above: Path | None = None, without: Sequence[str] = ()
    ) -> None:
        self._root = root.absolute()
        self._env = env
        self._without = tuple(f"{folder}/" for folder in without)
        self._roots = [self._root, *([above.absolute()] if above and above.absolute() != self._root else [])]
        self._contents: dict[str, bytes | None] = {}
        self._globs: dict[str, tuple[str, ...]] = {}
        self._modules: dict[str, bool] = {}

    def kind(self, path: str) -> Literal["file", "folder", ""]:
        """Return what is at `path`; empty for nothing and for devices, pipes and sockets."""
        try:
            mode = (self._root / path).stat().st_mode
        except (OSError, ValueError):
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file; None for no file, and for one too large to be configuration or a test."""
        if path not in self._contents:
            file = self._root / path
            wanted = self.kind(path) == "file" and file.stat().st_size <= LARGEST
            self._contents[path] = file.read_bytes() if wanted else None
        return self._contents[path]

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Return the files that match `pattern` (`*`, `**`, `?`, `{a,b}`), sorted.

        Left out: folders whose name begins with a dot, virtual environments, NOT_OURS, and links to folders.
        """
        if pattern not in self._globs:
            wanted = compile_glob(pattern)
            self._globs[pattern] = tuple(name for name in self._files if wanted.fullmatch(name))
        return self._globs[pattern]

    def tool(self, name: str) -> str | None:
        """Return the program `name`: in the project's environments, in the activated one, then on PATH."""
        own = [f"{place}/bin" for place in _ENVIRONMENTS] + ["node_modules/.bin"]
        folders = [str(root / place) for root in self._roots for place in own]
        return _program(name, folders + self._activated + self._on_path)

    def python(self) -> str:
        """Return the interpreter of the project's environment, of the activated one, or python3 on PATH; or empty."""
        own = [str(root / place / "bin") for root in self._roots for place in _ENVIRONMENTS] + self._activated
        return _program("python", own) or _program("python3", self._on_path) or _program("python", self._on_path) or ""

    def module(self, name: str) -> bool:
        """Return whether `python()` can import the top-level module `name`.

        The interpreter is asked only if files do not show it.
        """
        if name not in self._modules:
            python = self.python()
            command = Command((python, "-I", "-c", _FIND, name), self._root, self._env, deadline=20.0)
            self._modules[name] = bool(python) and (_is_installed(python, name) or run(command).exit_code == 0)
        return self._modules[name]

    @property
    def _activated(self) -> list[str]:
        folder = self._env.get("VIRTUAL_ENV", "")
        return [f"{folder}/bin"] if folder.startswith("/") else []

    @property
    def _on_path(self) -> list[str]:
        # A relative entry would be looked up in the work tree, where an agent writes.
        return [entry for entry in self._env.get("PATH", os.defpath).split(os.pathsep) if entry.startswith("/")]

    @cached_property
    def _files(self) -> tuple[str, ...]:
        return tuple(sorted(name for name in _walk(str(self._root)) if not name.startswith(self._without)))


def _program(name: str, folders: list[str]) -> str | None:
    return shutil.which(name, path=os.pathsep.join(folders)) if folders and "/" not in name else None


def _is_installed(python: str, name: str) -> bool:
    """Return whether `name` lies in the site-packages of the virtual environment that `python` belongs to."""
    environment = Path(python).parent.parent
    if not (environment / "pyvenv.cfg").is_file():
        return False
    return any(
        (packages / name / "__init__.py").is_file() or (packages / f"{name}.py").is_file()
        for packages in environment.glob("lib/python3*/site-packages")
    )


def _walk(root: str) -> Iterator[str]:
    """Yield the files under `root`, relative to it, shallow ones first, until ENTRIES were looked at."""
    waiting, left = deque([root]), ENTRIES
    while waiting and left > 0:
        try:
            with os.scandir(waiting.popleft()) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                name = entry.name
                is_foreign = name.startswith(".") or name in NOT_OURS or name.endswith(".egg-info")
                if not is_foreign and not os.path.lexists(f"{entry.path}/pyvenv.cfg"):
                    waiting.append(entry.path)
            elif entry.is_file():
                yield entry.path[len(root) + 1 :]


_HEAD = 512


def find_node(path: str) -> str | None:
    """Return the `node` that starts the program at `path`: a name to look up on PATH, or an absolute path.

    None for a native program, which brings its own. A script of any other kind is taken for one that starts `node`.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a plain read
            head = file.read(_HEAD)
    except OSError:
        return "node"  # executable but unreadable: nothing is known of it
    if not head.startswith(b"#!"):
        return None if b"\0" in head else "node"
    words = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace").split()
    nodes = (word for word in words if word.rpartition("/")[2] in ("node", "nodejs"))
    interpreter = next(nodes, "node")
    return interpreter if interpreter.startswith("/") else interpreter.rpartition("/")[2]


PROGRAMS = ("python", "python3", "pytest")


def find_editable_installs(main_root: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the distributions that `python`, `python3` and `pytest` on the PATH of `env` import from `main_root`.

    Files alone are read, nothing is started. What lies in a linked worktree inside of `main_root` is not its own.
    """
    programs = filter(None, (shutil.which(name, path=env.get("PATH", os.defpath)) for name in PROGRAMS))
    sites = dict.fromkeys(
        site for found in programs for site in _list_site_folders(_read_interpreter(Path(found)), env)
    )
    installs = (each for site in sites for each in _list_editable(site))
    return tuple(dict.fromkeys(name for name, path in installs if _belongs_to(path, main_root)))


def _read_interpreter(program: Path) -> Path:
    """Return the interpreter that the first line of a script names; any other program is one itself."""
    try:
        with program.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return program
    named = re.match(rb"#!\s*(/\S*python[\d.]*)\s*$", line)
    return Path(os.fsdecode(named[1])) if named else program


def _list_site_folders(python: Path, env: Mapping[str, str]) -> Iterator[Path]:
    prefix = python.parent.parent
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        yield from prefix.glob("lib/python3*/site-packages")
        if not re.search(r"(?im)^\s*include-system-site-packages\s*=\s*true", settings.read_text(errors="replace")):
            return
    real = Path(os.path.realpath(python))
    version = re.search(r"python(3\.\d+)", real.name)
    number = version[1] if version else "3*"
    for each in dict.fromkeys((real.parent.parent, *([] if settings.is_file() else [prefix]))):
        for lib in (f"lib/python{number}", f"local/lib/python{number}", "lib/python3"):
            yield from (*each.glob(f"{lib}/site-packages"), *each.glob(f"{lib}/dist-packages"))
    home = env.get("PYTHONUSERBASE") or f"{env.get('HOME', '')}/.local"
    yield from Path(home).glob(f"lib/python{number}/site-packages")


def _list_editable(site: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and place of what is installed editable. A line of a `.pth` file goes by the name of the file."""
    places: list[Path] = []
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        if place := _read_direct_url(file):
            places.append(place)
            yield file.parent.name.split("-")[0].replace("_", "-"), place
    for file in (*sorted(site.glob("*.egg-link")), *sorted(site.glob("*.pth"))):
        with contextlib.suppress(OSError):
            lines = file.read_text(errors="replace").splitlines()
            for path in (Path(line.strip()) for line in lines if line.startswith("/")):
                if not any(path.is_relative_to(place) for place in places):
                    places.append(path)
                    yield re.sub(r"^__editable__\.|-\d[^-]*$", "", file.stem).replace("_", "-"), path


def _read_direct_url(file: Path) -> Path | None:
    """Return the folder that an editable package was installed from, by what its installer wrote down."""
    try:
        said = json.loads(file.read_bytes())
        url = urlsplit(said["url"])
        editable = said.get("dir_info", {}).get("editable") is True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Path(unquote(url.path)) if editable and url.scheme == "file" else None


def _belongs_to(path: Path, root: Path) -> bool:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(root.resolve()):
        return False
    between = [real, *real.parents][: len(real.relative_to(root.resolve()).parts)]
    return not any(find_record(folder) for folder in between)
