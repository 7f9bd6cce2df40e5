"""The state file as others read it: whole and of a known version, or not believed at all."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aigon.files.home import find_other_homes
from aigon.git.repository import RepositoryFolders, find_repository

NEWEST = 1
"""The schema of the state file that this version writes, and the newest that it reads."""
_WORDS = ("feature_id", "run_id", "status", "agent", "branch", "started_at", "updated_at")
_NUMBERS = ("iteration", "max_iterations", "criteria_met", "criteria_total")
_LISTS = ("checks", "criteria", "iterations")


class NewerState(ValueError):
    """A state that a newer version wrote: nothing of it is understood, and it is left as it is."""


def parse_state(data: bytes) -> dict[str, Any]:
    """The state in these bytes. Raises NewerState, and ValueError, with what is wrong, for a damaged one."""
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
    if wrong := find_flaw(state):
        raise ValueError(f"'{wrong}'")
    return state


def parse_whole_state(data: bytes) -> dict[str, Any]:
    """The same, if it has everything that is written without exception. Raises NewerState and ValueError."""
    state = parse_state(data)
    for kind, names in ((str, _WORDS), (int, _NUMBERS), (list, _LISTS)):
        if wrong := _wrong(state, names, kind):
            raise ValueError(f"'{wrong}'")
    if not all(isinstance(each, dict) and isinstance(each.get("number"), int) for each in state["iterations"]):
        raise ValueError("'iterations'")
    return state


def _wrong(state: Mapping[str, Any], names: tuple[str, ...], kind: type) -> str:
    """The first of these keys that is not there, or is something else."""
    return next((name for name in names if not isinstance(state.get(name), kind)), "")


Fits = Callable[[Any], bool]
_FAR = 4_102_444_800.0
"""The year 2100, in seconds since the epoch: no wait is longer, and a clock cannot show every number."""


def find_flaw(state: Mapping[str, Any]) -> str:
    """The first key whose value is not of its form; '' for none. What is not there is no flaw here."""
    return next((key for key, fits in _SHAPE.items() if key in state and not fits(state[key])), "")


def _word(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9


def _moment(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < _FAR


def _perhaps(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def _list_of(fits: Fits) -> Fits:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _object(**shape: Fits) -> Fits:
    """An object that has at least these keys."""
    return lambda value: isinstance(value, dict) and all(k in value and fits(value[k]) for k, fits in shape.items())


def _both(one: Fits, other: Fits) -> Fits:
    return lambda value: one(value) and other(value)


def _unless_missing(**shape: Fits) -> Fits:
    """An object whose values fit as far as it has these keys."""
    return lambda value: all(fits(value[key]) for key, fits in shape.items() if key in value)


_SHAPE: Mapping[str, Fits] = {
    **dict.fromkeys(("status", "agent", "branch", "started_at", "updated_at"), _word),
    **dict.fromkeys(("iteration", "max_iterations", "criteria_met", "criteria_total"), _number),
    **dict.fromkeys(("stop_reason", "label", "host", "run_id", "spec"), _perhaps(_word)),
    "checks": _list_of(_object(name=_word, status=_word, summary=_word)),
    "criteria": _list_of(_both(_object(number=_number, verdict=_word), _unless_missing(evidence=_word, reason=_word))),
    "rolled_back": _perhaps(_object(number=_number, ref=_word, undone=_list_of(_number))),
    "waiting": _perhaps(_object(agent=_word, until=_perhaps(_moment))),
    "best": _perhaps(_object(number=_number, criteria_met=_number, criteria_total=_number, checkpoint=_perhaps(_word))),
}

StateDict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StateFile:
    """What a state file in the checkout at `root` says of a feature; of one that cannot be read only the `problem`.

    `label` tells the agents of an arena apart, and is empty where a feature is done in the checkout itself.
    """

    feature: str
    root: Path
    state: StateDict
    problem: str = ""
    label: str = ""


def read_state_files(repository: RepositoryFolders) -> list[StateFile]:
    """What every state file says, of the main checkout and of worktrees that have a loop of their own."""
    folders = (repository.root, *repository.worktrees)
    return [_read_state_file(root, path) for root in folders for path in sorted(root.glob(".aigon/loop-state-*.json"))]


def _read_state_file(root: Path, path: Path) -> StateFile:
    """One state file; what cannot be read is said on the board, and ends nothing."""
    name = path.name.removeprefix("loop-state-").removesuffix(".json")
    try:
        state = parse_state(path.read_bytes())
        return StateFile(str(state["feature_id"]), root, _require_shown(state), label=str(state.get("label") or ""))
    except NewerState:
        problem = f"{path.name} is from a newer aigon: upgrade"
    except (OSError, ValueError, KeyError, TypeError):
        problem = f"{path.name} cannot be read; aigon doctor --repair fixes it"
    # An ID is digits, and what follows it a label: the damage of one agent's file is told at its feature.
    id, _, label = name.partition("-")
    return StateFile(id, root, {}, problem, label) if id.isdecimal() else StateFile(name, root, {}, problem)


def _require_shown(state: StateDict) -> StateDict:
    """The state, if it has what is shown of it. Raises KeyError, TypeError or ValueError."""
    for key in ("status", "agent", "started_at", "updated_at"):
        if not isinstance(state[key], str):
            raise TypeError(key)
    for key in ("iteration", "max_iterations", "criteria_met", "criteria_total"):
        state[key] = int(state[key])
    return state


def describe_search(root: Path, name: str, journal: Path) -> str:
    """Return which journal of feature `name` is not there, and what the state files of the checkout say about it."""
    told = [each for each in read_state_files(find_repository(root)) if each.feature == name]
    files = [f".aigon/loop-state-{name}{f'-{each.label}' if each.label else ''}.json" for each in told]
    known = [
        f"{file} has run {each.state['run_id']} of {each.state['agent']}, {each.state['status']}"
        for file, each in zip(files, told, strict=True)
        if each.state.get("run_id")
    ]
    return "; ".join([f"no journal at {journal}", *known])


def command_elsewhere(common_dir: Path, name: str, command: str) -> str:
    """Return `command` with the state home that has records of the feature, for each that does; "" for none."""
    homes = find_other_homes(common_dir, name)
    return "   or   ".join(f"AIGON_STATE_HOME={shlex.quote(str(home))} {command}" for home in homes)
