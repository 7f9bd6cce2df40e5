"""Python's bytecode from one room for a later one: compiling a test runner anew takes longer than most tests do.

It is taken from a room in which nothing but the base ran, before any agent had a turn, and never holds anything of the
files to prove. Where it lies an agent could reach it, so it counts only while it is what it was.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.isolation.clean_room import Room
from aigon.isolation.dependencies import fingerprint
from aigon.isolation.room_environment import FOLDERS

PLACE = FOLDERS["PYTHONPYCACHEPREFIX"]


@dataclass(frozen=True, slots=True)
class Bytecode:
    """`folder` held what has this `name` when it was filled; `lent` are the dependency folders that it may be about."""

    folder: Path
    name: str
    lent: tuple[str, ...]

    def put(self, room: Room, lent: Sequence[str]) -> None:
        """Begin a room with it, where the room has the same dependency folders and nobody has touched it since."""
        place = room.enclosure.scratch / PLACE
        if tuple(lent) == self.lent and fingerprint(self.folder, frozenset()) == self.name:
            try:
                shutil.copytree(self.folder, place, symlinks=True, dirs_exist_ok=True)
            except (OSError, shutil.Error):  # a full disk: half a file would be worse than none
                shutil.rmtree(place, ignore_errors=True)


def taken(room: Room, folder: Path, lent: Sequence[str]) -> Bytecode | None:
    """Move what was compiled in an open room to `folder`, but for what was made of the room's own files.

    None where that cannot be done: the rooms after it begin without.
    """
    compiled = room.enclosure.scratch / PLACE
    try:
        _forget_own(compiled, {os.path.realpath(path) for path in (room.seen_as, room.root)}, lent)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(compiled, folder)
    except (OSError, shutil.Error):
        return None
    name = fingerprint(folder, frozenset())
    return Bytecode(folder, name, tuple(lent)) if name else None


def _forget_own(compiled: Path, roots: set[str], lent: Sequence[str]) -> None:
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
