"""What an agent does during its turn, as its program prints it: for people to watch, never evidence."""

from dataclasses import dataclass
from typing import Literal

ActivityKind = Literal["says", "reads", "edits", "runs", "searches", "uses", "fails", "prints"]
"""`uses` is a tool of any other kind, `fails` what came of the tool before it, `prints` a line of plain output."""


@dataclass(frozen=True, slots=True)
class Activity:
    """One step. `text` is what is said, or what a tool is used on; with `goes_on` the next piece belongs to it."""

    kind: ActivityKind
    text: str
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """An activity on record: when it was heard of (seconds since the epoch), and in which iteration."""

    at: float
    number: int
    kind: ActivityKind
    text: str
