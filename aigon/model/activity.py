"""Steps of an agent during its turn, as its program prints them: for people to watch, never evidence."""

from typing import Literal

from msgspec import Struct

ActivityKind = Literal["says", "reads", "edits", "runs", "searches", "uses", "fails", "prints", "spends"]
"""`uses` is a tool of any other kind, `fails` what came of the tool before it, `prints` a line of plain output."""


class Spent(Struct, frozen=True):
    """Amounts that a program says it used: tokens in and out, cached ones too, and US dollars, 0 if it does not say."""

    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.usd + other.usd)


class Activity(Struct, frozen=True):
    """One step. `text` is what is said, or what a tool is used on; with `goes_on` the next piece belongs to it.

    If it `spends`, `spent` is what the model's reply used that `text` names; "" is a reply of its own.
    """

    kind: ActivityKind
    text: str
    goes_on: bool = False
    spent: Spent | None = None


class Step(Struct, frozen=True):
    """An activity on record: when it was heard of (seconds since the epoch), and in which iteration.

    `spent` is what the turn had used by then.
    """

    at: float
    number: int
    kind: ActivityKind
    text: str
    spent: Spent | None = None
