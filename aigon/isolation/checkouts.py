"""Other checkouts of the repository: nothing that decides may rest on their files, be it by accident or on purpose."""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from aigon.git.main_checkout import around

_SEARCHED = re.compile(r"(PATH|LIB)$")
"""Variables with folders in which programs and libraries are looked for: PYTHONPATH, NODE_PATH, RUBYLIB."""


def others(root: Path) -> tuple[Path, ...]:
    """The main checkout and the worktrees of the repository around `root`, but the one that is there."""
    repository = around(root)
    return tuple(path for path in (repository.root, *repository.worktrees) if path != root.resolve())


def brought(env: Mapping[str, str], main: Path, root: Path) -> dict[str, str]:
    """`env` for the worktree at `root`: where folders to search name the `main` checkout's, those of the worktree."""
    if main == root:
        return dict(env)
    return {name: _brought(value, main, root) if _SEARCHED.search(name) else value for name, value in env.items()}


def _brought(value: str, main: Path, root: Path) -> str:
    return os.pathsep.join(_own(part, main, root) for part in value.split(os.pathsep))


def _own(part: str, main: Path, root: Path) -> str:
    place = Path(part)
    if not place.is_relative_to(main) or place.is_relative_to(root):
        return part
    own = root / place.relative_to(main)
    return str(own) if own.exists() else part


def tools(root: Path, path: str, lent: Iterable[str]) -> tuple[Path, ...]:
    """What lies in other checkouts and is needed all the same: programs on `path`, where links to dependencies lead.

    What is in the checkout at `root` itself is not among them.
    """
    wanted = [_whole(Path(part)) for part in path.split(os.pathsep) if part.startswith("/")]
    wanted += [Path(sys.prefix), *(root / name for name in lent if (root / name).is_symlink())]
    real = dict.fromkeys(each.resolve() for each in wanted)
    outside = (each for each in real if each.is_dir() and not each.is_relative_to(root.resolve()))
    return tuple(each for each in outside if any(place in each.parents for place in others(root)))


def _whole(folder: Path) -> Path:
    """The environment that a folder of programs belongs to, where it belongs to one."""
    if (folder.parent / "pyvenv.cfg").is_file() or folder.parent.name == "node_modules":
        return folder.parent
    return folder
