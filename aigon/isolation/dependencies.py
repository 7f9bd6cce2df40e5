"""Folders that git ignores and checks need (`.venv`, `node_modules`): what they hold, told without reading them."""

import ast
import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Set
from pathlib import Path

from aigon.isolation.enclosure import CACHES

LEFT_OUT = {"__pycache__", *CACHES}
"""What tools write by the way. Commands in a room use none of it."""
READ_UP_TO = 256 * 1024
"""Bytes up to which a file with several names is told by its content: a package manager that links the same file into
another project's folder changes the time of its inode."""


def fingerprint(folder: Path, left_out: Set[str] = frozenset(LEFT_OUT)) -> str | None:
    """A name for everything in a folder that changes when anything in it does; None when there is no such folder.

    Made of path, mode, size, times of content and of inode, inode number and link target of each entry that is not
    called as one that is `left_out`. The time of the inode (ctime) is nobody's to set. A file with several names (hard
    links) is told by its content instead.
    """
    if not folder.is_dir():
        return None
    name = hashlib.sha256()
    for line in _lines(os.path.realpath(folder), "", left_out):
        name.update(os.fsencode(line))
    return name.hexdigest()


def _lines(folder: str, prefix: str, left_out: Set[str]) -> Iterator[str]:
    """A line for each entry, in an order of its own that no file system changes."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield f"{prefix}\0unreadable {error.errno}\n"
        return
    for entry in entries:
        if entry.name not in left_out:
            yield f"{prefix}{entry.name}\0{_told(entry)}\n"
            if entry.is_dir(follow_symlinks=False):
                yield from _lines(entry.path, f"{prefix}{entry.name}/", left_out)


def _told(entry: "os.DirEntry[str]") -> str:
    """Everything about one entry but its name. Folders come and go with what is in them, so only their mode counts."""
    try:
        seen = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(seen.st_mode):
            return f"{seen.st_mode}"
        if stat.S_ISLNK(seen.st_mode):
            return f"{seen.st_mode} {os.readlink(entry.path)}"  # noqa: PTH115 - on the hot path
        told = f"{seen.st_mode} {seen.st_size} {seen.st_ino} {seen.st_mtime_ns}"
        return f"{told} {_content(entry.path, seen) or seen.st_ctime_ns}"
    except OSError as error:
        return f"unreadable {error.errno}"


def _content(path: str, seen: os.stat_result) -> str:
    """The content's name where the inode's time says nothing; empty where it does, or the file is large."""
    if seen.st_nlink == 1 or seen.st_size > READ_UP_TO or not stat.S_ISREG(seen.st_mode):
        return ""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - on the hot path
        return hashlib.sha256(file.read()).hexdigest()
    return ""


def editable_paths(folder: Path, workspace: Path) -> list[Path]:
    """The folders of the workspace from which a virtual environment imports what is installed as editable in it.

    Said by the lines of `.pth` files, or by the table in the finder module that setuptools writes for a package whose
    modules do not lie side by side.
    """
    sites = [*folder.glob("lib/python*/site-packages")]
    lines = [line.strip() for site in sites for file in site.glob("*.pth") for line in _text(file).splitlines()]
    tables = [_table(_text(file)) for site in sites for file in site.glob("__editable__*_finder.py")]
    named = [*map(Path, lines), *(Path(path).parent for table in tables for path in table)]
    return list(dict.fromkeys(path for path in named if path.is_relative_to(workspace)))


def _table(source: str) -> list[str]:
    """The paths of the modules in a finder's MAPPING whose file or folder has the module's name."""
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.parse(source).body:
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if (
                isinstance(target, ast.Name)
                and target.id == "MAPPING"
                and isinstance(node, ast.AnnAssign)
                and node.value
            ):
                mapping = dict(ast.literal_eval(node.value))
                return [path for name, path in mapping.items() if Path(path).stem == name]
    return []


def _text(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text(errors="replace")
    return ""
