"""What can be asked about a project before anything is run in it."""

from collections.abc import Sequence
from typing import Literal, Protocol


class Project(Protocol):
    """What can be asked about a project. Paths are relative to its root; asking runs none of its code."""

    def kind(self, path: str) -> Literal["file", "folder", ""]:
        """What stands at `path`; empty for nothing."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is none."""

    def glob(self, pattern: str) -> Sequence[str]:
        """The files that match, sorted; the folders of tools and dependencies are left out."""

    def tool(self, name: str) -> str | None:
        """The absolute path of a program: the project's own before the one on PATH."""

    def python(self) -> str:
        """The absolute path of the project's interpreter; empty when there is none."""

    def module(self, name: str) -> bool:
        """Whether that interpreter can import the top-level module `name`."""
