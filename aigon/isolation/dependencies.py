"""Dependency folders that git ignores, told without reading them, and bytecode lent to a later clean room."""

import ast
import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.isolation.enclosure import CACHES, ROOM_FOLDERS

if TYPE_CHECKING:
    from aigon.isolation.clean_room import CleanRoom


LEFT_OUT = {"__pycache__", *CACHES}
"""What tools write by the way. Commands in a room use none of it."""
READ_UP_TO = 256 * 1024
"""Bytes up to which a file with several names is told by its content: a package manager that links the same file into
another project's folder changes the time of its inode."""


def fingerprint_folder(folder: Path, left_out: Set[str] = frozenset(LEFT_OUT)) -> str | None:
    """A name for everything in a folder that changes when anything in it does; None when there is no such folder.

    Made of path, mode, size, times of content and of inode, inode number and link target of each entry that is not
    called as one that is `left_out`. The time of the inode (ctime) is nobody's to set. A file with several names (hard
    links) is told by its content instead.
    """
    if not folder.is_dir():
        return None
    name = hashlib.sha256()
    for line in _describe_entries(os.path.realpath(folder), "", left_out):
        name.update(os.fsencode(line))
    return name.hexdigest()


def _describe_entries(folder: str, prefix: str, left_out: Set[str]) -> Iterator[str]:
    """A line for each entry, in an order of its own that no file system changes."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield f"{prefix}\0unreadable {error.errno}\n"
        return
    for entry in entries:
        if entry.name not in left_out:
            yield f"{prefix}{entry.name}\0{_describe_entry(entry)}\n"
            if entry.is_dir(follow_symlinks=False):
                yield from _describe_entries(entry.path, f"{prefix}{entry.name}/", left_out)


def _describe_entry(entry: "os.DirEntry[str]") -> str:
    """Everything about one entry but its name. Folders come and go with what is in them, so only their mode counts."""
    try:
        seen = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(seen.st_mode):
            return f"{seen.st_mode}"
        if stat.S_ISLNK(seen.st_mode):
            return f"{seen.st_mode} {os.readlink(entry.path)}"  # noqa: PTH115 - on the hot path
        told = f"{seen.st_mode} {seen.st_size} {seen.st_ino} {seen.st_mtime_ns}"
        return f"{told} {_hash_linked_file(entry.path, seen) or seen.st_ctime_ns}"
    except OSError as error:
        return f"unreadable {error.errno}"


def _hash_linked_file(path: str, seen: os.stat_result) -> str:
    """The content's name where the inode's time says nothing; empty where it does, or the file is large."""
    if seen.st_nlink == 1 or seen.st_size > READ_UP_TO or not stat.S_ISREG(seen.st_mode):
        return ""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - on the hot path
        return hashlib.sha256(file.read()).hexdigest()
    return ""


def find_editable_paths(folder: Path, workspace: Path) -> list[Path]:
    """The folders of the workspace from which a virtual environment imports what is installed as editable in it.

    Said by the lines of `.pth` files, or by the table in the finder module that setuptools writes for a package whose
    modules do not lie side by side.
    """
    sites = [*folder.glob("lib/python*/site-packages")]
    lines = [line.strip() for site in sites for file in site.glob("*.pth") for line in _read_text(file).splitlines()]
    tables = [_read_finder_table(_read_text(file)) for site in sites for file in site.glob("__editable__*_finder.py")]
    named = [*map(Path, lines), *(Path(path).parent for table in tables for path in table)]
    return list(dict.fromkeys(path for path in named if path.is_relative_to(workspace)))


def _read_finder_table(source: str) -> list[str]:
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


def _read_text(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text(errors="replace")
    return ""


BYTECODE_FOLDER = ROOM_FOLDERS["PYTHONPYCACHEPREFIX"]


@dataclass(frozen=True, slots=True)
class Bytecode:
    """`folder` held what has this `name` when it was filled; `lent` are the dependency folders that it may be about."""

    folder: Path
    name: str
    lent: tuple[str, ...]

    def put(self, room: "CleanRoom", lent: Sequence[str]) -> None:
        """Begin a room with it, where the room has the same dependency folders and nobody has touched it since."""
        place = room.enclosure.scratch / BYTECODE_FOLDER
        if tuple(lent) == self.lent and fingerprint_folder(self.folder, frozenset()) == self.name:
            try:
                shutil.copytree(self.folder, place, symlinks=True, dirs_exist_ok=True)
            except (OSError, shutil.Error):  # a full disk: half a file would be worse than none
                shutil.rmtree(place, ignore_errors=True)


def take_bytecode(room: "CleanRoom", folder: Path, lent: Sequence[str]) -> Bytecode | None:
    """Move what was compiled in an open room to `folder`, but for what was made of the room's own files.

    None where that cannot be done: the rooms after it begin without.
    """
    compiled = room.enclosure.scratch / BYTECODE_FOLDER
    try:
        _remove_own(compiled, {os.path.realpath(path) for path in (room.seen_as, room.root)}, lent)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(compiled, folder)
    except (OSError, shutil.Error):
        return None
    name = fingerprint_folder(folder, frozenset())
    return Bytecode(folder, name, tuple(lent)) if name else None


def _remove_own(compiled: Path, roots: set[str], lent: Sequence[str]) -> None:
    """Python puts the bytecode of `/a/b.py` into the folder `a` there: what leads into the room goes, by any path."""
    for folder, names, files in os.walk(compiled):
        source = os.path.realpath(f"/{os.path.relpath(folder, compiled)}")
        inside = [os.path.relpath(source, root) for root in roots if f"{source}/".startswith(f"{root}/")]
        if not inside or any(f"{inside[0]}/".startswith(f"{place}/") for place in lent):
            continue
        if any(inside[0] == "." or place.startswith(f"{inside[0]}/") for place in lent):
            for file in files:
                Path(folder, file).unlink()
        else:
            shutil.rmtree(folder)
            names.clear()
