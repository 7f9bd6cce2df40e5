"""Where a run works, and what it is called: in the checkout at hand, or in a worktree of the agent's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.files.home import known_home
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.journal import candidates
from aigon.model.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Seat:
    """`checkout` is the work tree that the agent edits; `main` is where state files and run folders are.

    `candidate` says whose worktree it is; None in solo mode, where both places are the same.
    """

    checkout: Checkout
    main: Path
    candidate: Candidate | None = None

    @property
    def label(self) -> str:
        """What tells this run from others of the feature; "" in solo mode."""
        return self.candidate.label if self.candidate else ""

    @property
    def mode(self) -> Literal["solo", "worktree", "arena"]:
        """How the feature is worked on."""
        return self.candidate.mode if self.candidate else "solo"


@contextmanager
def main_checkout(checkout: Checkout) -> Iterator[tuple[Checkout, Candidate | None]]:
    """The checkout that keeps people's files, and whose worktree `checkout` is where aigon made it for an agent."""
    here = candidates.at(known_home(checkout.common_dir), checkout.root)
    if here is None:
        yield checkout, None
        return
    with Checkout.open(find_repository(checkout.root).root) as main:
        yield main, here


@contextmanager
def worktree_of(main: Checkout, candidate: Candidate) -> Iterator[Seat]:
    """The seat in a candidate's worktree, which is there."""
    with Checkout.open(Path(candidate.path)) as checkout:
        yield Seat(checkout, main.root, candidate)
