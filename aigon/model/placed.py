"""What became of a command file that was to be written for an agent."""

from dataclasses import dataclass
from typing import Literal

PlacedState = Literal["new", "updated", "unchanged", "edited", "foreign", "refused"]
"""`edited`: a person changed the file; `foreign`: it is not aigon's; both are left. `refused`: it cannot be written."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One file: `path` as people know it, `beside` a newer version next to it, `why` it could not be written.

    `usage` is what a person types in the agent.
    """

    agent: str
    command: str
    usage: str
    path: str
    state: PlacedState
    beside: str = ""
    why: str = ""

    @property
    def wrote(self) -> bool:
        """Whether the file itself was written."""
        return self.state in ("new", "updated")
