"""The difference between two trees, file by file."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["A", "M", "D", "T"]
Sign = Literal["+", "-", " "]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk, without its end. `old` and `new` count from 1; 0 where a side does not have the line."""

    sign: Sign
    text: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that belong together, in git's order; `heading` is the `@@` line."""

    heading: str
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """As a unified diff has it."""
        return "\n".join([self.heading, *(f"{line.sign}{line.text}" for line in self.lines)])


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that differs. `path` holds surrogates where its bytes are not UTF-8.

    `status` is git's: added, modified, deleted, of another type. There are no `hunks` for what is `binary` (a NUL byte
    is in it), `large`, `listed` (its text was not asked for), a `submodule`, or empty. `content` is the whole text as
    the later tree has it, "" where it is not known.
    """

    path: str
    status: Status
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    large: bool = False
    listed: bool = False
    submodule: bool = False
    content: str = ""

    @property
    def name(self) -> str:
        """The path for people and models, on one line: JSON's way of writing it where it holds anything unusual."""
        return named(self.path)


def named(path: str) -> str:
    """`path` on one line, without anything that could be taken for more than a name."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if text.isprintable() and '"' not in text and text == path:
        return text
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text.replace('"', '\\"'))
    return f'"{escaped}"'
