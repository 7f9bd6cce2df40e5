"""The state file as others read it: whole and of a known version, or not believed at all."""

import json
import shlex
from pathlib import Path
from typing import Any

from msgspec import Struct

from aigon.files.home import find_other_homes
from aigon.git.repository import RepositoryFolders, find_repository

NEWEST = 1
"""The schema of the state file that this version writes, and the newest that it reads."""
StateDict = dict[str, Any]
_FAR_FUTURE = 4_102_444_800.0
"""The year 2100, in seconds since the epoch: no wait is longer, and a clock cannot show every number."""

# A type; a list or a mapping of shapes; a tuple: the shape or None. A key with a question mark may be missing, `float`
# is a time. Views show these keys; another value would break them.
_SHOWN = {
    **dict.fromkeys(("status", "agent", "started_at", "updated_at"), str),
    **dict.fromkeys(("iteration", "max_iterations", "criteria_met", "criteria_total"), int),
}
_SHAPE: dict[str, Any] = {
    **_SHOWN,
    "branch": str,
    **dict.fromkeys(("stop_reason", "label", "host", "run_id", "spec"), (str,)),
    "checks": [{"name": str, "status": str, "summary": str}],
    "criteria": [{"number": int, "verdict": str, "evidence?": str, "reason?": str}],
    "rolled_back": ({"number": int, "ref": str, "undone": [int]},),
    "waiting": ({"agent": str, "until": (float,)},),
    "best": ({"number": int, "criteria_met": int, "criteria_total": int, "checkpoint": (str,)},),
}
_ALWAYS_WRITTEN: dict[str, Any] = {
    **dict.fromkeys(("feature_id", "run_id", "branch"), str),
    **_SHOWN,
    **dict.fromkeys(("checks", "criteria"), list),
    "iterations": [{"number": int}],
}


class NewerState(ValueError):
    """A state file of a newer version, which is left as it is."""


class StateFile(Struct, frozen=True):
    """A feature as a state file in the checkout at `root` tells it, or the `problem` of one that cannot be read.

    `label` tells the agents of an arena apart.
    """

    feature: str
    root: Path
    state: StateDict
    problem: str = ""
    label: str = ""


def parse_state(data: bytes) -> StateDict:
    """Return the state in these bytes. Raises NewerState, and ValueError, which names the key, for a damaged one."""
    try:
        state = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(state, dict):
        raise ValueError("it is no JSON object")
    version = state.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError("'schema_version'")
    if version > NEWEST:
        raise NewerState(f"schema_version {version}")
    _require(state, {key: shape for key, shape in _SHAPE.items() if key in state})
    return state


def parse_whole_state(data: bytes) -> StateDict:
    """Return the state if it has every key that is always written. Raises NewerState and ValueError."""
    state = parse_state(data)
    _require(state, _ALWAYS_WRITTEN)
    return state


def _require(state: StateDict, shapes: dict[str, Any]) -> None:
    for key, shape in shapes.items():
        if key not in state or not _has_shape(state[key], shape):
            raise ValueError(f"'{key}'")


def _has_shape(value: Any, shape: Any) -> bool:
    if isinstance(shape, tuple):
        return value is None or _has_shape(value, shape[0])
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(each, shape[0]) for each in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            _has_shape(value[key], inner) if (key := name.removesuffix("?")) in value else key != name
            for name, inner in shape.items()
        )
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9
    if shape is float:
        return isinstance(value, int | float) and 0 <= value < _FAR_FUTURE
    return isinstance(value, shape)


def read_state_files(repository: RepositoryFolders) -> list[StateFile]:
    """Read every state file of the main checkout and of worktrees that have a loop of their own."""
    folders = (repository.root, *repository.worktrees)
    return [_read_state_file(root, path) for root in folders for path in sorted(root.glob(".aigon/loop-state-*.json"))]


def _read_state_file(root: Path, path: Path) -> StateFile:
    try:
        state = parse_state(path.read_bytes())
        _require(state, _SHOWN)
        return StateFile(str(state["feature_id"]), root, state, label=str(state.get("label") or ""))
    except NewerState:
        problem = f"{path.name} is from a newer aigon: upgrade"
    except (OSError, ValueError, KeyError):
        problem = f"{path.name} cannot be read; aigon doctor --repair fixes it"
    # An ID is digits; a label follows it, so that the damage of one agent's file shows at its feature.
    name = path.name.removeprefix("loop-state-").removesuffix(".json")
    id, _, label = name.partition("-")
    return StateFile(id, root, {}, problem, label) if id.isdecimal() else StateFile(name, root, {}, problem)


def describe_search(root: Path, name: str, journal: Path) -> str:
    """Return which journal of feature `name` is missing, and what the state files of the checkout say about it."""
    known = [
        f".aigon/loop-state-{name}{f'-{file.label}' if file.label else ''}.json has run {file.state['run_id']} "
        f"of {file.state['agent']}, {file.state['status']}"
        for file in read_state_files(find_repository(root))
        if file.feature == name and file.state.get("run_id")
    ]
    return "; ".join([f"no journal at {journal}", *known])


def command_elsewhere(common_dir: Path, name: str, command: str) -> str:
    """Return `command` with each other state home that has records of the feature; "" if none has."""
    homes = find_other_homes(common_dir, name)
    return "   or   ".join(f"AIGON_STATE_HOME={shlex.quote(str(home))} {command}" for home in homes)
