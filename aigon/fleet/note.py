"""The note about a fleet that was started in a repository: how to reach it, and where its cells are."""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, json

from aigon.errors import environment
from aigon.files.atomic import write_atomic
from aigon.files.locks import read_start
from aigon.fleet.order import CellSummary

NOTE = "fleet.json"
"""In the home of a repository."""


class FleetNote(Struct, frozen=True):
    """The last fleet: its name, the address of its scheduler, the process that runs it, and its cells by name."""

    id: str = ""
    address: str = ""
    pid: int = 0
    start: str = ""
    cells: Mapping[str, CellSummary] = {}

    @property
    def is_running(self) -> bool:
        """True if the process is still there."""
        return bool(self.start) and read_start(self.pid) == self.start


def write_note(home: Path, id: str, address: str, cells: Mapping[str, CellSummary]) -> None:
    pid = os.getpid()
    write_atomic(home / NOTE, json.encode(FleetNote(id, address, pid, read_start(pid), cells)) + b"\n")


def update_note(home: Path, id: str, address: str, cells: Mapping[str, CellSummary]) -> None:
    """Write down where the cells of a fleet are, unless another one was started in the repository since."""
    if read_note(home).id == id:
        write_note(home, id, address, cells)


def read_note(home: Path) -> FleetNote:
    """Return what is known of the last fleet; an empty note if there was none."""
    try:
        return _read_note(home / NOTE, (home / NOTE).stat().st_mtime_ns)
    except OSError:
        return FleetNote()


@lru_cache(maxsize=4)
def _read_note(file: Path, _modified: int) -> FleetNote:
    try:
        return json.decode(file.read_bytes(), type=FleetNote)
    except ValueError:
        return FleetNote()


def require_running(home: Path) -> FleetNote:
    """Return how to reach the fleet that runs. Raises AigonError (exit 7) if none does."""
    note = read_note(home)
    if not (note.address and note.is_running):
        raise environment("No fleet runs that was started in this repository", where=str(home / NOTE),
                          hint="aigon fleet run 42 43 --agents claude --max-cost 20")  # fmt: skip
    return note
