"""What a state file may hold under the keys that are shown: whatever else is there would break a view, not be shown."""

from collections.abc import Callable, Mapping
from typing import Any

Fits = Callable[[Any], bool]
_FAR = 4_102_444_800.0
"""The year 2100, in seconds since the epoch: no wait is longer, and a clock cannot show every number."""


def flaw(state: Mapping[str, Any]) -> str:
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


def _each(fits: Fits) -> Fits:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _with(**shape: Fits) -> Fits:
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
    "checks": _each(_with(name=_word, status=_word, summary=_word)),
    "criteria": _each(_both(_with(number=_number, verdict=_word), _unless_missing(evidence=_word, reason=_word))),
    "rolled_back": _perhaps(_with(number=_number, ref=_word, undone=_each(_number))),
    "waiting": _perhaps(_with(agent=_word, until=_perhaps(_moment))),
    "best": _perhaps(_with(number=_number, criteria_met=_number, criteria_total=_number, checkpoint=_perhaps(_word))),
}
