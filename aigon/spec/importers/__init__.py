"""Importers of the formats that other tools write specs in, a file for each family, and those of plug-ins.

All are pure. Paths are grouped into specs, the file that names a spec first: by `FILES`, a pattern of whole paths, and
`BESIDE`, the names of what belongs to such a file in its folder, or by a function `find`. `read` turns the texts of one
group into features.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, cast

from msgspec import Struct

from aigon.files.registry import Registry
from aigon.model.imported import ImportedSpec

IMPORTERS = Registry(
    "aigon.importers",
    __name__,
    "importer",
    {"pages": "bmad github kiro markdown openspec speckit", "task_lists": "prd_json prd_toon taskmaster"},
)
GENERIC = "markdown"
"""Reads whatever Markdown no other importer knows."""


class Importer(Protocol):
    """The parts of an importer. Malformed text is a ValueError with what is wrong, for people."""

    TITLE: str
    """The format's name for people."""

    def find(self, paths: Sequence[str], /) -> Iterator[tuple[str, ...]]:
        """Yield the paths of each spec among `paths`."""

    def read(self, texts: Mapping[str, str], /) -> Iterator[ImportedSpec]:
        """Yield the features in the files of one spec, given by path."""


class Format(Struct, frozen=True):
    """An importer that shares a file with others of its family. Without `FILES` it has to `find` its specs."""

    TITLE: str
    read: Callable[[Mapping[str, str]], Iterator[ImportedSpec]]
    FILES: re.Pattern[str] | None = None
    BESIDE: tuple[str, ...] = ()
    find: Callable[[Sequence[str]], Iterator[tuple[str, ...]]] = lambda _paths: iter(())


def find_specs(importer: Importer, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of each spec among `paths`."""
    pattern: re.Pattern[str] | None = getattr(importer, "FILES", None)
    if pattern is None:
        yield from importer.find(paths)
        return
    known = set(paths)
    for path in filter(pattern.fullmatch, paths):
        beside = (f"{path[: path.rfind('/') + 1]}{name}" for name in getattr(importer, "BESIDE", ()))
        yield path, *(each for each in beside if each in known)


def load_importers() -> dict[str, Importer]:
    """Return every importer by name, the generic one last."""
    names = sorted(IMPORTERS.names(), key=lambda name: (name == GENERIC, name))
    loaded = ((name, IMPORTERS.load(name)) for name in names)
    return {name: cast("Importer", getattr(module, name, module)) for name, module in loaded}
