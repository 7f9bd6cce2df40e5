"""The worktrees that aigon made, as a list for people and programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.errors import AigonError
from aigon.files.home import known_home
from aigon.files.store import is_held
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.journal import candidates
from aigon.model.candidates import Candidate
from aigon.worktrees.lock import feature_lock

State = Literal["there", "uncommitted", "gone", "broken"]


@dataclass(frozen=True, slots=True)
class Row:
    """A worktree and how it is: there, with uncommitted work, gone, or there and unreadable to git."""

    candidate: Candidate
    state: State
    running: bool


def rows(main: Checkout) -> tuple[Row, ...]:
    """All that aigon made in this repository, in the order of their slots.

    Not one that is gone and has nothing left to do: its branch is gone as well, or merged.
    """
    home = known_home(main.common_dir)
    if home is None:
        return ()
    there = {each.path for each in worktrees.listed(main) if not each.missing}
    found = (
        Row(each, _state(each, there), is_held(feature_lock(home, each)) is True) for each in candidates.every(home)
    )
    return tuple(row for row in found if row.state != "gone" or _is_open(main, home, row.candidate))


def _is_open(main: Checkout, home: Path, candidate: Candidate) -> bool:
    """Whether its branch is there, and nothing of it has been merged."""
    tip, origin = main.commit_of(f"refs/heads/{candidate.branch}"), candidates.records(home, candidate).origin()
    begun = origin.commit if origin else ""
    return tip is not None and (begun in ("", tip) or not main.is_ancestor(tip, "HEAD"))


def _state(candidate: Candidate, there: set[Path]) -> State:
    path = Path(candidate.path)
    if not candidate.path or not path.is_dir():
        return "gone"
    if path not in there or worktrees.owner(path) is None:
        return "broken"
    try:
        with Checkout.open(path) as checkout:
            return "uncommitted" if checkout.changed() else "there"
    except AigonError:
        return "broken"
