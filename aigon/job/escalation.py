"""Who works next: the agent on its escalation step, or the first that stands in for it.

An agent moves up by the number of its turns, and by errors and trees that do not move on. The run stops for a repeated
error only on the top step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from aigon.journal.state import State
from aigon.model.turns import Agent, Turn

REPEATS = 2
"""The same error a second time in a row is what a step is climbed for."""
IDLE = 2
"""So is a second iteration on one step in which nothing got better."""


@dataclass(frozen=True, slots=True)
class AgentStep:
    """Who works, for how many turns of the feature (0: all that follow), and whether with the whole digest."""

    agent: Agent
    turns: int = 0
    full: bool = False


def find_step(state: State, turns: Sequence[int], agent: str) -> int:
    """The step, from 0, of the next turn of `agent`, on its steps, whose steps last for `turns` each.

    Steps count over the run, resumes included. A turn that was held up (a usage limit) counts for none.
    """
    stuck = state.repeats >= REPEATS or state.idle >= IDLE
    climbed = state.heights.get(agent, 0) + (1 if stuck else 0)
    return min(max(climbed, _by_number(state.turns, turns)), len(turns) - 1)


def find_next_step(state: State, ladder: Sequence[AgentStep]) -> int:
    """The same for the `ladder` of one agent."""
    return find_step(state, [rung.turns for rung in ladder], ladder[0].agent.name)


def merge_equal_steps(ladder: Sequence[AgentStep]) -> tuple[AgentStep, ...]:
    """`ladder`, less steps that are like the one below: climbing to them would be a step on the spot.

    They come about where a person chose model and effort, which then are the same on every step.
    """
    kept: list[AgentStep] = []
    for rung in ladder:
        if kept and replace(kept[-1], turns=rung.turns) == rung:
            below = kept.pop().turns
            rung = replace(rung, turns=below + rung.turns if below and rung.turns else 0)
        kept.append(rung)
    return tuple(kept)


def _by_number(done: int, turns: Sequence[int]) -> int:
    """The first step whose turns are not used up; one without a number is never used up."""
    used = accumulate(turns)
    return next((rung for rung, (own, upto) in enumerate(zip(turns, used, strict=True)) if not own or done < upto),
                len(turns) - 1)  # fmt: skip


LONGEST_WAIT = 900.0
"""Seconds of the longest wait where nobody said when it is over."""
DOUBLINGS = 60
"""More would be beyond what a float holds; any first wait is long at `LONGEST` by then."""


def choose_worker(
    ladders: Sequence[Sequence[AgentStep]], state: State, away: Mapping[str, float], now: float
) -> "ChosenStep | None":
    """The first agent that is not `away` (by name, until seconds since the epoch), on its own step; None: nobody."""
    for ladder in ladders:
        rung = find_next_step(state, ladder)
        if away.get(ladder[rung].agent.name, 0.0) <= now:
            return rung, len(ladder), ladder[rung]
    return None


ChosenStep = tuple[int, int, AgentStep]
"""The number of the step from 0, how many there are, and the step."""


def compute_return(turn: Turn, now: float, first: float, before: int) -> float:
    """Until when an agent is away after `turn`, in seconds since the epoch; never back for what waiting cannot fix.

    Where nobody said when: `first` seconds, doubled with each time `before` that it was held up in this turn. That
    much it is also when a program says a moment that has passed, or says "soon" again and again: every start may cost.
    """
    if not turn.held:
        return math.inf
    patience = now + min(first * 2.0 ** min(before, DOUBLINGS), max(first, LONGEST_WAIT))
    if turn.resets_at is None or not turn.resets_at > now:
        return patience
    return max(turn.resets_at + 1, patience) if before else turn.resets_at + 1
