"""The difference between two trees, as lines and as text, and the concerns that integrity rules raise about it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

FileStatus = Literal["A", "M", "D", "T"]
LineSign = Literal["+", "-", " "]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk, without its end. `old` and `new` count from 1; 0 where a side does not have the line."""

    sign: LineSign
    text: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that belong together, in git's order; `heading` is the `@@` line."""

    heading: str
    lines: tuple[DiffLine, ...]

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
    status: FileStatus
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    large: bool = False
    listed: bool = False
    submodule: bool = False
    content: str = ""

    @property
    def name(self) -> str:
        """The path for people and models, on one line: JSON's way of writing it where it holds anything unusual."""
        return quote_path(self.path)


def quote_path(path: str) -> str:
    """`path` on one line, without anything that could be taken for more than a name."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if text.isprintable() and '"' not in text and text == path:
        return text
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text.replace('"', '\\"'))
    return f'"{escaped}"'


FilePart = Literal["product", "tests", "config", "other"]
"""What a file is for: by the protection rules, tests and checker configuration; `other` is prose, data, lock files."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file that differs between base and tree.

    `before` and `after` are None where the file does not exist there, `""` for what is no text or too large to read.
    `mode` is git's of the tree: 120000 is a symbolic link (`after` is its target), 160000 a submodule; "" when gone.
    """

    path: str
    before: str | None
    after: str | None
    part: FilePart = "product"
    mode: str = "100644"
    base_mode: str = "100644"


@dataclass(frozen=True, slots=True)
class Edits:
    """All of them, less what the spec allows; `tests` are the test files of the base by path, touched or not.

    `messages` are those of the commits that the agent made itself.
    """

    files: tuple[Edit, ...]
    tests: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


ConcernLevel = Literal["restore", "review", "note"]
"""restore: it was put back. review: the run cannot end as proven before a person approved it. note: said, no more."""


@dataclass(frozen=True, slots=True)
class Concern:
    """One integrity finding. `rule` is its class (`special-cases`), `what` the explanation for people and the agent.

    `key` names the very change it is about, so that an approval holds for that change and for no later one.
    """

    rule: str
    level: ConcernLevel
    what: str
    paths: tuple[str, ...] = ()
    key: str = ""


def hash_change(parts: Iterable[str]) -> str:
    """A name for a change, made of whatever tells it from another: paths, the lines that it is about."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file between two trees; -1 lines where git counts none (binary)."""

    path: str
    added: int
    removed: int
    status: str = "M"
