"""How large a change is, in lines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Lines that were added and removed, as git counts them."""

    added: int = 0
    removed: int = 0

    @property
    def lines(self) -> int:
        """Both together."""
        return self.added + self.removed

    def and_(self, other: "Size") -> "Size":
        """Both changes together."""
        return Size(self.added + other.added, self.removed + other.removed)

    def __str__(self) -> str:
        return f"+{self.added} -{self.removed}"
