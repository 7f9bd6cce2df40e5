"""Which files only people and aigon write, and what was found changed among them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Opinion = Callable[[Path, bytes | None, bytes | None], str | None]
"""What to say of a file's change (its content before and now, None for no file); None to let it be, `""` for no more
than that it changed."""


@dataclass(frozen=True, slots=True)
class Places:
    """What to keep: `files` (present or not), `folders` with all that is in them, files that only `grow`.

    `roots` are the folders they are below; one that is replaced cannot be put back. Of the folders in `passing` (a
    submodule's, another worktree's) nothing is put back when the whole folder is gone. What is in `unlinked` folders is
    not kept, but a link that takes the place of one gives way.
    """

    roots: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    growing: tuple[Path, ...] = ()
    passing: tuple[Path, ...] = ()
    unlinked: tuple[Path, ...] = ()


How = Literal["changed", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Edited:
    """A kept file that was not as it was left. `kept` is where the new version is now, None where there is none."""

    path: Path
    name: str
    how: How
    detail: str = ""
    kept: Path | None = None

    @property
    def sentence(self) -> str:
        """For people and the agent."""
        what = {"changed": "was changed; it was put back", "removed": "was removed; it was put back"}
        more = f" ({self.detail})" if self.detail else ""
        return f"{self.name}{more} {what.get(self.how, 'was added; it was taken away')}"
