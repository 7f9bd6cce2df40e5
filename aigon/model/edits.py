"""What the tree holds beyond the base, as text: what integrity rules look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Part = Literal["product", "tests", "config", "other"]
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
    part: Part = "product"
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
