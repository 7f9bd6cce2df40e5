"""The folders of programs that an agent may run where they lie in what is hidden, such as a home."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aigon.config.grants import Grants, is_inside

_PACKAGE = str(Path(__file__).resolve().parents[1])


def searched(path: str, closed: Sequence[str]) -> tuple[str, ...]:
    """The folders of PATH, each with what it is a part of (`X/bin` with `X`) unless that holds what is `closed`."""
    folders = [os.path.realpath(part) for part in path.split(os.pathsep) if part.startswith("/")]
    own = (_PACKAGE, os.path.realpath(f"{_PACKAGE}/../templates"), sys.prefix, sys.base_prefix)
    return tuple(dict.fromkeys((*(_whole(folder, closed) for folder in folders), *map(os.path.realpath, own))))


def program(argv: Sequence[str], grants: Grants, env: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """What the command line needs to be there: its program, and files and folders that it names."""
    closed = (*grants.hidden, *grants.own)
    first = shutil.which(argv[0], path=env.get("PATH")) if "/" not in argv[0] else str(root / argv[0])
    named = [
        first,
        *(word for word in argv[1:] if word.startswith("/") and len(word) < os.pathconf("/", "PC_PATH_MAX")),
    ]
    return tuple(dict.fromkeys(path for word in named if word for path in _needed(word, closed)))


def _needed(word: str, closed: Sequence[str]) -> Iterator[str]:
    if not os.path.exists(word):  # noqa: PTH110 - a text
        return
    real = os.path.realpath(word)
    if os.path.isdir(real):  # noqa: PTH112 - a text
        yield from () if _holds(real, closed) else (real,)
        return
    folder, _, name = word.rpartition("/")
    yield from (f"{os.path.realpath(folder or '/')}/{name}", real)
    above = _package(real)
    yield from () if _holds(above, closed) else (above,)


def _package(file: str) -> str:
    """The folder of a program with what it is installed with: up to the outermost `node_modules`, else its own."""
    before, found, _ = file.partition("/node_modules/")
    return f"{before}/node_modules" if found else file.rpartition("/")[0]


def _whole(folder: str, closed: Sequence[str]) -> str:
    above = folder.rpartition("/")[0]
    return folder if _holds(above, closed) else above


def _holds(folder: str, closed: Sequence[str]) -> bool:
    return folder in ("", "/") or any(is_inside(path, folder) for path in closed)
