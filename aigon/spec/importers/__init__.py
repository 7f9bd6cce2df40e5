"""Importers: one module per format that other tools write specs in, and those of plug-ins.

All are pure. `find` groups paths into specs, the file that names a spec first; `read` turns the texts of one group into
features.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from aigon.files.registry import Registry
from aigon.model.imported import ImportedSpec

IMPORTERS = Registry("aigon.importers", __name__, "importer")
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


def load_importers() -> dict[str, Importer]:
    """Return every importer by name, the generic one last."""
    names = sorted(IMPORTERS.names(), key=lambda name: (name == GENERIC, name))
    return {name: cast("Importer", IMPORTERS.load(name)) for name in names}
