"""Files that one command read, as the record of a feature keeps them."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

Means = Literal["access times", "strace", ""]
"""How it is told what a command reads; empty where nothing here tells it."""

SHOWN = 8
"""Files that a line names; the rest is counted."""


class Reads(Struct, frozen=True):
    """The tracked files that a command read, and the folders that it listed, relative to the project.

    `walks`: it reads the project as its subject, as a linter does, so that nothing of it decides. `unknown` says why
    nothing is known of it; empty if something is.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    walks: bool = False
    unknown: str = ""


class Observation(Struct, frozen=True):
    """The files that each deciding command read on the base, by its name in the record, and how they were observed.

    They are `apart` if each came to the same in a room without a network, where nothing is shared with other rooms.
    """

    means: Means = ""
    commands: Mapping[str, Reads] = field(default_factory=dict)
    apart: bool = False

    def list_readers(self) -> dict[str, tuple[str, ...]]:
        """Return by file the commands that read it."""
        readers: dict[str, list[str]] = {}
        for name, each in self.commands.items():
            for path in each.files:
                readers.setdefault(path, []).append(name)
        return {path: tuple(names) for path, names in readers.items()}

    def describe(self, name: str) -> str:
        """Return what a command read, on one line; empty if it was not observed."""
        if (reads := self.commands.get(name)) is None:
            return ""
        if reads.walks or reads.unknown:
            return reads.unknown or "the whole project, as its subject"
        more = f" and {len(reads.files) - SHOWN} more" if len(reads.files) > SHOWN else ""
        return f"{', '.join(reads.files[:SHOWN])}{more}" if reads.files else "nothing that is tracked"

    def as_document(self) -> dict[str, Any]:
        """Return it as data."""
        document: dict[str, Any] = to_builtins(self)
        return document


def read_observation(document: Mapping[str, Any]) -> Observation:
    """Return what a document says that `as_document` made. Raises KeyError, TypeError or ValueError."""
    commands = {
        name: Reads(tuple(each["files"]), tuple(each["folders"]), each["walks"], each["unknown"])
        for name, each in document["commands"].items()
    }
    return Observation(document["means"], commands, document.get("apart", False))
