"""Dependency folders that git ignores, told without reading them, and bytecode lent to a later clean room."""

import ast
import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from aigon.isolation.enclosure import BYTECODE, CACHES
from aigon.job.world import Attendant

if TYPE_CHECKING:
    from aigon.isolation.clean_room import CleanRoom


LEFT_OUT = {"__pycache__", *CACHES}
"""What tools write in passing; commands in a room use none of it."""
READ_UP_TO = 256 * 1024
"""Bytes up to which a file with several names is known by its content: a package manager that links the same file into
another project's folder changes its ctime."""


def fingerprint_folder(folder: Path, left_out: Set[str] = frozenset(LEFT_OUT)) -> str | None:
    """Return a name for a folder that changes if anything in it does; None if there is no such folder.

    It is made of path, mode, size, mtime, ctime, inode number and link target of each entry whose name is not
    `left_out`. Nobody can set a ctime. A file with several names (hard links) is known by its content instead.
    """
    if not folder.is_dir():
        return None
    name = hashlib.sha256()
    for line in _describe_entries(os.path.realpath(folder), "", left_out):
        name.update(os.fsencode(line))
    return name.hexdigest()


def _describe_entries(folder: str, prefix: str, left_out: Set[str]) -> Iterator[str]:
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
    """Return everything about an entry except its name; of a folder only the mode, as its entries have lines."""
    try:
        state = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(state.st_mode):
            return f"{state.st_mode}"
        if stat.S_ISLNK(state.st_mode):
            return f"{state.st_mode} {os.readlink(entry.path)}"  # noqa: PTH115 - on the hot path
        described = f"{state.st_mode} {state.st_size} {state.st_ino} {state.st_mtime_ns}"
        return f"{described} {_hash_linked_file(entry.path, state) or state.st_ctime_ns}"
    except OSError as error:
        return f"unreadable {error.errno}"


def has_linked_file(folder: Path) -> bool:
    """Return whether a file of a folder has several names, as one that a package manager links from its cache."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                state = os.lstat(f"{parent}/{name}")
                if state.st_nlink > 1 and stat.S_ISREG(state.st_mode):
                    return True
    return False


def _hash_linked_file(path: str, state: os.stat_result) -> str:
    """Return the hash of a small file with several names, whose ctime says nothing; "" for another."""
    if state.st_nlink == 1 or state.st_size > READ_UP_TO or not stat.S_ISREG(state.st_mode):
        return ""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - on the hot path
        return hashlib.sha256(file.read()).hexdigest()
    return ""


def find_editable_paths(folder: Path, workspace: Path) -> list[Path]:
    """Return the folders of the workspace from which a virtual environment imports editable packages.

    `.pth` files name them, or the finder module that setuptools writes for a package with modules in several folders.
    """
    sites = [*folder.glob("lib/python*/site-packages")]
    lines = [line.strip() for site in sites for file in site.glob("*.pth") for line in _read_text(file).splitlines()]
    tables = [_read_finder_table(_read_text(file)) for site in sites for file in site.glob("__editable__*_finder.py")]
    named = [*map(Path, lines), *(Path(path).parent for table in tables for path in table)]
    return list(dict.fromkeys(path for path in named if path.is_relative_to(workspace)))


def _read_finder_table(source: str) -> list[str]:
    """Return the paths in a finder's MAPPING whose file or folder has the module's name."""
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.parse(source).body:
            if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.target) == "MAPPING":
                mapping = dict(ast.literal_eval(node.value))
                return [path for name, path in mapping.items() if Path(path).stem == name]
    return []


def _read_text(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text(errors="replace")
    return ""


class Bytecode(Struct, Attendant, frozen=True):
    """Python's bytecode from one room for a later one: compiling a test runner takes longer than most tests.

    It comes from a room in which only the base ran, before any agent had a turn, and holds nothing of the files to
    prove. An agent could reach `folder`, so it counts only while it has the fingerprint `name` that it was filled with.
    `lent` are the dependency folders that it is about.
    """

    folder: Path
    name: str
    lent: tuple[str, ...]

    def lend(self, room: "CleanRoom", lent: Sequence[str], *, can_overlay: bool) -> "CleanRoom":
        """Return the room with it, if its dependency folders are the same and it is untouched since.

        Where no overlay can be made the room gets a copy.
        """
        if tuple(lent) != self.lent or fingerprint_folder(self.folder, frozenset()) != self.name:
            return room
        if can_overlay and room.isolation == "namespaces":
            return replace(room, bytecode=self.folder)
        place = room.scratch / BYTECODE
        try:
            shutil.copytree(self.folder, place, symlinks=True, dirs_exist_ok=True)
        except (OSError, shutil.Error):  # a full disk: half a file would be worse than none
            shutil.rmtree(place, ignore_errors=True)
        return room

    def close(self) -> None:
        """Remove it: only this process can trust it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def take_bytecode(room: "CleanRoom", folder: Path, lent: Sequence[str]) -> Bytecode | None:
    """Move what was compiled in an open room to `folder`, except the room's own files; None if that fails."""
    compiled = room.scratch / BYTECODE
    try:
        forget_own_bytecode(room, lent)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(compiled, folder)
    except (OSError, shutil.Error):
        return None
    name = fingerprint_folder(folder, frozenset())
    return Bytecode(folder, name, tuple(lent)) if name else None


def forget_own_bytecode(room: "CleanRoom", lent: Sequence[str]) -> None:
    """Remove what was compiled of the room's own files, by any path to them.

    Python puts the bytecode of `/a/b.py` into the folder `a` there.
    """
    compiled = room.scratch / BYTECODE
    roots = {os.path.realpath(path) for path in (room.seen_as, room.root)}
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
