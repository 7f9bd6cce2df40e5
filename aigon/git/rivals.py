"""Refs that other loops of the repository write while one works: whose they are, and what is nobody's business here."""

from dataclasses import dataclass

_ARENA, _PARKED = "refs/aigon/arena/", "refs/aigon/parked/"


@dataclass(frozen=True, slots=True)
class Rivals:
    """`branches` are those of all other candidates of the repository, without `refs/heads/`.

    `feature` is the feature of this loop (its ID), where others may come to work on it meanwhile; "" where none do.
    """

    branches: frozenset[str] = frozenset()
    feature: str = ""

    def write(self, ref: str) -> bool:
        """Whether it is theirs: their own loops guard it."""
        return ref.removeprefix("refs/heads/") in self.branches or (bool(self.feature) and ref.startswith(_ARENA))

    def make(self, ref: str) -> bool:
        """Whether a new one may well be theirs: a branch of one that has just come, something that one has parked."""
        return bool(self.feature) and ref.startswith((f"refs/heads/feature-{self.feature}-", _PARKED))


NOBODY = Rivals()
