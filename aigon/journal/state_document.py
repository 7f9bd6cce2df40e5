"""The state file as it is read: whole and of a version that is known, or not believed at all."""

import json
from collections.abc import Mapping
from typing import Any

from aigon.journal.state_shape import flaw

NEWEST = 1
"""The schema of the state file that this version writes, and the newest that it reads."""
_WORDS = ("feature_id", "run_id", "status", "agent", "branch", "started_at", "updated_at")
_NUMBERS = ("iteration", "max_iterations", "criteria_met", "criteria_total")
_LISTS = ("checks", "criteria", "iterations")


class NewerState(ValueError):
    """A state that a newer version wrote: nothing of it is understood, and it is left as it is."""


def state_document(data: bytes) -> dict[str, Any]:
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
    if wrong := flaw(state):
        raise ValueError(f"'{wrong}'")
    return state


def whole_state(data: bytes) -> dict[str, Any]:
    """The same, if it has everything that is written without exception. Raises NewerState and ValueError."""
    state = state_document(data)
    for kind, names in ((str, _WORDS), (int, _NUMBERS), (list, _LISTS)):
        if wrong := _wrong(state, names, kind):
            raise ValueError(f"'{wrong}'")
    if not all(isinstance(each, dict) and isinstance(each.get("number"), int) for each in state["iterations"]):
        raise ValueError("'iterations'")
    return state


def _wrong(state: Mapping[str, Any], names: tuple[str, ...], kind: type) -> str:
    """The first of these keys that is not there, or is something else."""
    return next((name for name in names if not isinstance(state.get(name), kind)), "")
