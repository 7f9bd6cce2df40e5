"""What the state files say of every feature's last run, and whether the loop that says it is running still is."""

import json
import os
import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from aigon.ports.main_checkout import Repository
from aigon.ports.store import is_held
from aigon.views.status import NEWEST

State = dict[str, Any]
SLACK = 5.0
"""Seconds by which a process may seem younger than its run: its age is counted from the start of the machine."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a state file in the checkout at `root` says of a feature; of one that cannot be read only the `problem`."""

    feature: str
    root: Path
    state: State
    problem: str = ""


def states(repository: Repository) -> list[Told]:
    """What every state file says, of the main checkout and of worktrees that have a loop of their own."""
    folders = (repository.root, *repository.worktrees)
    return [_told(root, path) for root in folders for path in sorted(root.glob(".aigon/loop-state-*.json"))]


def _told(root: Path, path: Path) -> Told:
    """One state file; what cannot be read is said on the board, and ends nothing."""
    name = path.name.removeprefix("loop-state-").removesuffix(".json")
    try:
        state = json.loads(path.read_bytes())
        version, name = int(state["schema_version"]), str(state["feature_id"])
        problem = f"{path.name} is from a newer aigon: upgrade" if version > NEWEST else ""
        return Told(name, root, {} if problem else _whole(state), problem)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Told(name, root, {}, f"{path.name} cannot be read; --resume writes it anew")


def _whole(state: State) -> State:
    """The state, if it has what is shown of it. Raises KeyError, TypeError or ValueError."""
    for key in ("status", "agent", "started_at", "updated_at"):
        if not isinstance(state[key], str):
            raise TypeError(key)
    for key in ("iteration", "max_iterations", "criteria_met", "criteria_total"):
        state[key] = int(state[key])
    return state


def alive(state: State, home: Path | None) -> bool:
    """Whether the loop that wrote "running" still is: its process is there and holds the feature's lock.

    A process number is given out anew after a while; where no lock can be asked, the process has to be as old as the
    run.
    """
    if state.get("status") != "running" or state.get("host") != socket.gethostname():
        return False
    pid = state.get("pid")
    if not isinstance(pid, int) or pid <= 0 or not _exists(pid):
        return False
    held = is_held(home / "locks" / f"feature-{state['feature_id']}.lock") if home else None
    return _is_as_old(pid, state["started_at"]) if held is None else held


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_as_old(pid: int, since: str) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        dead = process.status() == psutil.STATUS_ZOMBIE
        return not dead and process.create_time() <= datetime.fromisoformat(since).timestamp() + SLACK
    except (psutil.Error, ValueError):
        return False
