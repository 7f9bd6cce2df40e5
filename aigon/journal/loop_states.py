"""What the state files say of every feature's last run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aigon.git.repository import RepositoryFolders
from aigon.journal.state_document import NewerState, state_document

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What a state file in the checkout at `root` says of a feature; of one that cannot be read only the `problem`.

    `label` tells the agents of an arena apart, and is empty where a feature is done in the checkout itself.
    """

    feature: str
    root: Path
    state: State
    problem: str = ""
    label: str = ""


def states(repository: RepositoryFolders) -> list[Told]:
    """What every state file says, of the main checkout and of worktrees that have a loop of their own."""
    folders = (repository.root, *repository.worktrees)
    return [_told(root, path) for root in folders for path in sorted(root.glob(".aigon/loop-state-*.json"))]


def _told(root: Path, path: Path) -> Told:
    """One state file; what cannot be read is said on the board, and ends nothing."""
    name = path.name.removeprefix("loop-state-").removesuffix(".json")
    try:
        state = state_document(path.read_bytes())
        return Told(str(state["feature_id"]), root, _whole(state), label=str(state.get("label") or ""))
    except NewerState:
        problem = f"{path.name} is from a newer aigon: upgrade"
    except (OSError, ValueError, KeyError, TypeError):
        problem = f"{path.name} cannot be read; aigon doctor --repair fixes it"
    # An ID is digits, and what follows it a label: the damage of one agent's file is told at its feature.
    id, _, label = name.partition("-")
    return Told(id, root, {}, problem, label) if id.isdecimal() else Told(name, root, {}, problem)


def _whole(state: State) -> State:
    """The state, if it has what is shown of it. Raises KeyError, TypeError or ValueError."""
    for key in ("status", "agent", "started_at", "updated_at"):
        if not isinstance(state[key], str):
            raise TypeError(key)
    for key in ("iteration", "max_iterations", "criteria_met", "criteria_total"):
        state[key] = int(state[key])
    return state
