"""Write one command file: aigon's own are brought up to date, people's are left."""

import os
from pathlib import Path

from aigon.agents.command_file import standing
from aigon.files.store import write_atomic
from aigon.model.agent_types import CommandFileState

ASIDE = ".new"
"""What the name of a newer version has at its end beside a file that a person edited."""


def unfit(path: Path, inside: Path | None) -> str:
    """Why a file must not be written there; empty when it may. In a repository no link may lead out of it."""
    if inside and not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(inside)):
        return "it would lie outside of the repository"
    if path.is_symlink():
        return "it is a link"
    return "there is something else than a file" if path.exists() and not path.is_file() else ""


def settled(path: Path, content: bytes, dry: bool) -> tuple[CommandFileState, bool]:
    """Write the file if it is aigon's to write; its state, and whether a newer version lies beside it."""
    if not path.exists():
        _write(path, content, dry)
        return "new", False
    there = path.read_bytes()
    whose, last = standing(there)
    if whose == "intact":
        same = standing(content)[1] == last
        if not same:
            _write(path, content, dry)
        return "unchanged" if same else "updated", False
    if whose == "foreign" or last == standing(content)[1]:
        return whose, False
    return whose, _beside(path.with_name(path.name + ASIDE), content, dry)


def _beside(path: Path, content: bytes, dry: bool) -> bool:
    """Put the newer version beside an edited file, unless somebody has written there, too."""
    if path.is_symlink() or (path.exists() and (not path.is_file() or standing(path.read_bytes())[0] != "intact")):
        return False
    if not path.exists() or standing(path.read_bytes())[1] != standing(content)[1]:
        _write(path, content, dry)
    return True


def _write(path: Path, content: bytes, dry: bool) -> None:
    if not dry:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
