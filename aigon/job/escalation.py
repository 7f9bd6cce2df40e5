"""Choose who works next: the agent on one of its escalation steps, or its first stand-in that is available.

An agent moves up by the number of its turns, by repeated errors, and if its turns make no progress. A repeated error
stops the run only on the last step.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from aigon.journal.state import State
from aigon.model.turns import Agent, Turn

REPEATS = 2
"""The agent moves up a step when the same error comes this many times in a row,"""
IDLE = 2
"""or after this many iterations on one step in which nothing improved."""
LONGEST_WAIT = 900.0
"""Seconds of the longest wait if its end is unknown."""
DOUBLINGS = 60
"""More would not fit into a float; any first wait has reached `LONGEST_WAIT` by then."""


class AgentStep(Struct, frozen=True):
    """An agent, for how many turns of the feature it works (0: all that follow), and whether with the full feedback."""

    agent: Agent
    turns: int = 0
    full: bool = False


ChosenStep = tuple[int, int, AgentStep]
"""The number of the step from 0, how many there are, and the step."""


def find_step(state: State, turns: Sequence[int], agent: str) -> int:
    """Return the number, from 0, of the escalation step for the next turn of `agent`.

    `turns` holds how many turns each step lasts. Steps count over the run, resumes included. A turn that ended because
    the agent was rate-limited, overloaded or unavailable does not count.
    """
    stuck = state.repeats >= REPEATS or state.idle >= IDLE
    reached = state.heights.get(agent, 0) + (1 if stuck else 0)
    last = len(turns) - 1
    # The first step whose turns are not used up; one without a number never is.
    ends = enumerate(zip(turns, accumulate(turns), strict=True))
    due = next((number for number, (own, end) in ends if not own or state.turns < end), last)
    return min(max(reached, due), last)


def find_next_step(state: State, steps: Sequence[AgentStep]) -> int:
    """Return the same for the escalation steps of one agent."""
    return find_step(state, [step.turns for step in steps], steps[0].agent.name)


def merge_equal_steps(steps: Sequence[AgentStep]) -> tuple[AgentStep, ...]:
    """Return the steps without those that equal the one before: moving up to them would change nothing.

    A person who chooses model and effort makes them the same on every step.
    """
    kept: list[AgentStep] = []
    for step in steps:
        if kept and replace(kept[-1], turns=step.turns) == step:
            before = kept.pop().turns
            step = replace(step, turns=before + step.turns if before and step.turns else 0)
        kept.append(step)
    return tuple(kept)


def choose_worker(
    agents: Sequence[Sequence[AgentStep]], state: State, away: Mapping[str, float], now: float
) -> ChosenStep | None:
    """Return the step of the first agent that is not `away` (by name, until seconds since the epoch), if there is one.

    `agents` holds the escalation steps of each agent.
    """
    for steps in agents:
        number = find_next_step(state, steps)
        if away.get(steps[number].agent.name, 0.0) <= now:
            return number, len(steps), steps[number]
    return None


def compute_return(turn: Turn, now: float, first: float, before: int) -> float:
    """Return until when an agent is away after `turn`, in seconds since the epoch; inf if waiting cannot help.

    If the program did not say when, that is `first` seconds, doubled for each time `before` that it was away in this
    turn. The same holds if a program names a moment that has passed, or says "soon" again and again: every start may
    cost.
    """
    if not turn.held:
        return math.inf
    patience = now + min(first * 2.0 ** min(before, DOUBLINGS), max(first, LONGEST_WAIT))
    if turn.resets_at is None or not turn.resets_at > now:
        return patience
    return max(turn.resets_at + 1, patience) if before else turn.resets_at + 1
