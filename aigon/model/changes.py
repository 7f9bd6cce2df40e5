"""The difference between two trees, as lines and as text, and the concerns that integrity rules raise about it."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from aigon.model import Recorded

FileStatus = Literal["A", "M", "D", "T"]
LineSign = Literal["+", "-", " "]


class DiffLine(Struct, frozen=True):
    """One line of a hunk, without its end. `old` and `new` are line numbers from 1; 0 if a side lacks the line."""

    sign: LineSign
    text: str
    old: int
    new: int


class Hunk(Struct, frozen=True):
    """Lines of a diff that belong together; `heading` is the `@@` line."""

    heading: str
    lines: tuple[DiffLine, ...]

    @property
    def text(self) -> str:
        """The hunk as in a unified diff."""
        return "\n".join([self.heading, *(f"{line.sign}{line.text}" for line in self.lines)])


class FileDiff(Struct, frozen=True):
    """One file that differs; `path` has surrogates for bytes that are not UTF-8.

    `status` is git's: added, modified, deleted, another type. A file that is `binary`, `large`, a `submodule`, or
    empty has no `hunks`, and neither has one of which only the name was wanted. `content` is the later tree's whole
    text, "" if unknown.
    """

    path: str
    status: FileStatus
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    large: bool = False
    submodule: bool = False
    content: str = ""

    @property
    def name(self) -> str:
        """The path for people and models, on one line, quoted if it has anything unusual in it."""
        return quote_path(self.path)


def quote_path(path: str) -> str:
    """Return `path` on one line, so that nothing in it can pass for more than a name."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if text.isprintable() and '"' not in text and text == path:
        return text
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text.replace('"', '\\"'))
    return f'"{escaped}"'


FilePart = Literal["product", "tests", "config", "other"]
"""What a file is for, by the protection rules; `other` is prose, data, lock files."""


class Edit(Struct, frozen=True):
    """One file that differs between base and tree.

    `before` and `after` are None if the file does not exist there, "" if it is no text or too large. `mode` is git's:
    120000 is a symbolic link (`after` is its target), 160000 a submodule; "" if the file is gone.
    """

    path: str
    before: str | None
    after: str | None
    part: FilePart = "product"
    mode: str = "100644"
    base_mode: str = "100644"


class Edits(Struct, frozen=True):
    """All edits that the spec does not allow; `tests` are the test files of the base by path, changed or not.

    `messages` are those of the agent's own commits.
    """

    files: tuple[Edit, ...]
    tests: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


ConcernLevel = Literal["restore", "review", "note"]
"""restore: it was put back. review: no run is proven before a person approves it. note: it is only shown."""


class Concern(Recorded, frozen=True):
    """One integrity finding. `rule` is its class (`special-cases`), `what` explains it to people and the agent.

    `key` identifies the change, so that an approval holds for this change and for no later one. `mendable`: an agent
    can undo it or do it otherwise, so it gets a turn before a person is asked.
    """

    rule: str
    level: ConcernLevel
    what: str
    paths: tuple[str, ...] = ()
    key: str = ""
    mendable: bool = True


class PutBack(Recorded, frozen=True):
    """A file that was put back after a turn; `asked`: the words of the spec ask for its change."""

    path: str
    asked: bool = False


def hash_change(parts: Iterable[str]) -> str:
    """Return an identifier of a change, made of what distinguishes it: its paths and lines."""
    from hashlib import sha256  # loads OpenSSL, which a start does not need

    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class FileChange(Recorded, frozen=True):
    """One changed file between two trees; -1 lines where git counts none (binary)."""

    path: str
    added: int
    removed: int
    status: str = "M"

    @property
    def size(self) -> str:
        """The lines for people: `+3 -1`, or `binary`."""
        return "binary" if self.added < 0 or self.removed < 0 else f"+{self.added} -{self.removed}"
