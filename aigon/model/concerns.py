"""What the checks cannot see: something about how a tree came about that a person may have to look at."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["restore", "review", "note"]
"""restore: it was put back. review: the run cannot end as proven before a person approved it. note: said, no more."""


@dataclass(frozen=True, slots=True)
class Concern:
    """One integrity finding. `rule` is its class (`special-cases`), `what` the explanation for people and the agent.

    `key` names the very change it is about, so that an approval holds for that change and for no later one.
    """

    rule: str
    level: Level
    what: str
    paths: tuple[str, ...] = ()
    key: str = ""


def key_of(parts: Iterable[str]) -> str:
    """A name for a change, made of whatever tells it from another: paths, the lines that it is about."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
