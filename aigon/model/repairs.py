"""What `aigon doctor --repair` did, and what it had to leave."""

from dataclasses import dataclass

from aigon.errors import Exit


@dataclass(frozen=True, slots=True)
class Repaired:
    """A record or view that was made anew or put aside: `what` it is, where, and `how`; "" where nothing was kept."""

    what: str
    path: str
    kept_as: str
    how: str


@dataclass(frozen=True, slots=True)
class Unmended:
    """What was left as it is, `why`, and what a person can do. `hinders`: no run begins before that is done."""

    what: str
    path: str
    why: str
    do: str = ""
    hinders: bool = True


@dataclass(frozen=True, slots=True)
class Repair:
    """Everything; `ended` counts processes that killed loops had left."""

    repaired: tuple[Repaired, ...] = ()
    unmended: tuple[Unmended, ...] = ()
    ended: int = 0

    @property
    def exit_code(self) -> Exit:
        """7 where something still hinders, else 0."""
        return Exit.ENVIRONMENT if any(each.hinders for each in self.unmended) else Exit.MET

    def and_(self, other: "Repair") -> "Repair":
        """Both together."""
        return Repair((*self.repaired, *other.repaired), (*self.unmended, *other.unmended), self.ended + other.ended)
