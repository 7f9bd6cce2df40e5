"""How long each check takes, folded from what it came to: the next look starts the longest first."""

import math
from collections.abc import Mapping

from aigon.model.checks import CheckStatus

Durations = Mapping[str, float]
"""Seconds by the name of a check."""


def measured(known: Durations, check: str, status: CheckStatus, seconds: float, *, cached: bool) -> Durations:
    """What is known after one more finding; `known` itself where that says nothing.

    The last run counts. What ended as an error may have been cut short, so it never makes a check look quicker; a
    remembered pass says how long it took when it was run, and counts only where nothing newer is known.
    """
    if status == "skipped" or not 0 < seconds < math.inf or (cached and check in known):
        return known
    return {**known, check: max(seconds, known.get(check, 0.0)) if status == "error" else seconds}
