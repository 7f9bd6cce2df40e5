"""A project on disk, as profiles ask about it: files are read, programs looked up; none of its code is run."""

import os
import shutil
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

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
