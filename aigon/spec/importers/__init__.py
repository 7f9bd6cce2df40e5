"""Importers of the formats that other tools write specs in, a file for each family, and those of plug-ins.

All are pure. Paths are grouped into specs, the file that names a spec first: by `FILES`, a pattern of whole paths, and
`BESIDE`, the names of what belongs to such a file in its folder, or by a function `find`. `read` turns the texts of one
group into features.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from aigon.files.registry import Registry
from aigon.model.criteria import ImportedSpec

IMPORTERS = Registry(
    "aigon.importers",
    __name__,
    "importer",
    {"pages": "bmad github kiro markdown openspec speckit", "task_lists": "prd_json prd_toon taskmaster"},
)
GENERIC = "markdown"
"""Reads whatever Markdown no other importer knows."""


class Format(Struct, frozen=True):
    """An importer, named as the module of a plug-in names its parts. Without `FILES` it has to `find` its specs.

    `read` raises ValueError for malformed text, with what is wrong, for people.
    """

    TITLE: str
    read: Callable[[Mapping[str, str]], Iterator[ImportedSpec]]
    FILES: re.Pattern[str] | None = None
    BESIDE: tuple[str, ...] = ()
    find: Callable[[Sequence[str]], Iterator[tuple[str, ...]]] = lambda _paths: iter(())


def find_specs(importer: Format, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of each spec among `paths`."""
    if importer.FILES is None:
        yield from importer.find(paths)
        return
    known = set(paths)
    for path in filter(importer.FILES.fullmatch, paths):
        beside = (f"{path[: path.rfind('/') + 1]}{name}" for name in importer.BESIDE)
        yield path, *(each for each in beside if each in known)


def load_importers() -> dict[str, Format]:
    """Return every importer by name, the generic one last."""
    names = sorted(IMPORTERS.names(), key=lambda name: (name == GENERIC, name))
    return {name: _read_parts(IMPORTERS.load(name), name) for name in names}


def _read_parts(module: Any, name: str) -> Format:
    own = getattr(module, name, module)
    return Format(**{part: getattr(own, part) for part in Format.__struct_fields__ if hasattr(own, part)})
