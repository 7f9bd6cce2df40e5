"""The escalation ladder: climbed by the number of the turn, and by errors and trees that do not move on.

The run stops for a repeated error only on the top rung.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from aigon.core.agent import Agent
from aigon.core.state import State

REPEATS = 2
"""The same error a second time in a row is what a rung is climbed for."""
IDLE = 2
"""So is a second iteration on one rung in which nothing got better."""


@dataclass(frozen=True, slots=True)
class Rung:
    """Who works, for how many turns of the feature (0: all that follow), and whether with the whole digest."""

    agent: Agent
    turns: int = 0
    full: bool = False


def rung_for(state: State, turns: Sequence[int]) -> int:
    """The rung, from 0, of the next turn, on a ladder whose rungs last for `turns` each.

    Rungs count over the feature, not the invocation. A turn that was held up (a usage limit) counts for none.
    """
    stuck = state.repeats >= REPEATS or state.idle >= IDLE
    climbed = state.climbs + (1 if stuck else 0)
    return min(max(climbed, _by_number(state.turns, turns)), len(turns) - 1)


def _by_number(done: int, turns: Sequence[int]) -> int:
    """The first rung whose turns are not used up; one without a number is never used up."""
    used = accumulate(turns)
    return next((rung for rung, (own, upto) in enumerate(zip(turns, used, strict=True)) if not own or done < upto),
                len(turns) - 1)  # fmt: skip
