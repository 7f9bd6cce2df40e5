"""The escalation ladder: climbed by the number of the turn, and by errors and trees that do not move on.

The run stops for a repeated error only on the top rung.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from aigon.journal.state import State
from aigon.model.turns import Agent

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


def rung_for(state: State, turns: Sequence[int], agent: str) -> int:
    """The rung, from 0, of the next turn of `agent`, on its ladder, whose rungs last for `turns` each.

    Rungs count over the run, resumes included. A turn that was held up (a usage limit) counts for none.
    """
    stuck = state.repeats >= REPEATS or state.idle >= IDLE
    climbed = state.heights.get(agent, 0) + (1 if stuck else 0)
    return min(max(climbed, _by_number(state.turns, turns)), len(turns) - 1)


def rung_of(state: State, ladder: Sequence[Rung]) -> int:
    """The same for the `ladder` of one agent."""
    return rung_for(state, [rung.turns for rung in ladder], ladder[0].agent.name)


def without_doubles(ladder: Sequence[Rung]) -> tuple[Rung, ...]:
    """`ladder`, less rungs that are like the one below: climbing to them would be a step on the spot.

    They come about where a person chose model and effort, which then are the same on every rung.
    """
    kept: list[Rung] = []
    for rung in ladder:
        if kept and replace(kept[-1], turns=rung.turns) == rung:
            below = kept.pop().turns
            rung = replace(rung, turns=below + rung.turns if below and rung.turns else 0)
        kept.append(rung)
    return tuple(kept)


def _by_number(done: int, turns: Sequence[int]) -> int:
    """The first rung whose turns are not used up; one without a number is never used up."""
    used = accumulate(turns)
    return next((rung for rung, (own, upto) in enumerate(zip(turns, used, strict=True)) if not own or done < upto),
                len(turns) - 1)  # fmt: skip
