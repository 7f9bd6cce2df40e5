"""Who works next: the agent on its rung, or, while it is away, the first that stands in for it."""

import math
from collections.abc import Mapping, Sequence

from aigon.job.ladder import Rung, rung_of
from aigon.journal.state import State
from aigon.model.turns import Turn

LONGEST = 900.0
"""Seconds of the longest wait where nobody said when it is over."""
DOUBLINGS = 60
"""More would be beyond what a float holds; any first wait is long at `LONGEST` by then."""


def choose(ladders: Sequence[Sequence[Rung]], state: State, away: Mapping[str, float], now: float) -> "Chosen | None":
    """The first agent that is not `away` (by name, until seconds since the epoch), on its own rung; None: nobody."""
    for ladder in ladders:
        rung = rung_of(state, ladder)
        if away.get(ladder[rung].agent.name, 0.0) <= now:
            return rung, len(ladder), ladder[rung]
    return None


Chosen = tuple[int, int, Rung]
"""The number of the rung from 0, how many there are, and the rung."""


def away_until(turn: Turn, now: float, first: float, before: int) -> float:
    """Until when an agent is away after `turn`, in seconds since the epoch; never back for what waiting cannot mend.

    Where nobody said when: `first` seconds, doubled with each time `before` that it was held up in this turn. That
    much it is also when a program says a moment that has passed, or says "soon" again and again: every start may cost.
    """
    if not turn.held:
        return math.inf
    patience = now + min(first * 2.0 ** min(before, DOUBLINGS), max(first, LONGEST))
    if turn.resets_at is None or not turn.resets_at > now:
        return patience
    return max(turn.resets_at + 1, patience) if before else turn.resets_at + 1
