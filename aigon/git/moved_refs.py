"""What became of a ref that was otherwise after an agent's turn, in words."""

from dataclasses import dataclass
from typing import Literal

Done = Literal["put back", "removed", "left", "failed"]
"""left: it may be a person's work. failed: it should have been put back, and git did not do it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A ref before and after (a hash, `ref: ...` for a link, other text where git cannot read it; "" for no ref).

    `parked` names the ref that keeps the value after, "" where there is none; `why` is said after the sentence.
    """

    ref: str
    before: str
    after: str
    done: Done
    parked: str = ""
    why: str = ""

    @property
    def sentence(self) -> str:
        """For people and the agent."""
        name = self.ref.removeprefix("refs/heads/").removeprefix("refs/")
        kind = "branch " if self.ref.startswith("refs/heads/") else ""
        kept = f", and what it had become is kept as {self.parked}" if self.parked else ""
        why = f": {self.why}" if self.why else ""
        return f"the {kind or 'ref '}{name} was {self._how()}; it {_DONE[self.done]}{kept}{why}"

    def _how(self) -> str:
        if not self.before:
            return "made"
        return f"moved from {self.before[:12]} to {self.after[:12]}" if self.after else "deleted"


_DONE = {
    "put back": "was put back",
    "removed": "was taken away",
    "left": "was left as it is",
    "failed": "could not be put back",
}
