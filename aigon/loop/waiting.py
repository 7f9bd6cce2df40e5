"""Wait for an agent that is held up by a usage limit or an overload: bounded, and never longer than a person allows."""

import math
import time
from collections.abc import Generator

from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import Event, Waiting
from aigon.journal.state import State
from aigon.loop.line_up import away_until
from aigon.model.turns import Turn
from aigon.process.stop import wait_until

LOOK_FIRST = 120.0
"""Seconds of a wait that is worth a look before: what the turn did is then judged, committed, perhaps enough."""


def send_away(job: Job, world: World, turn: Turn) -> None:
    """Note until when the agent of `turn` is away."""
    held = world.held
    held.away[turn.agent] = away_until(turn, world.clock(), job.waits.first, held.times[turn.agent])
    held.times[turn.agent] += 1
    held.why[turn.agent] = turn.detail
    held.looked_at = False


def wait(job: Job, world: World, state: State) -> Generator[Event, State, bool]:
    """Wait for the first that comes back. False where the tree is to be looked at before, or where it is given up.

    It is given up when nobody comes back in time, or a person asks the run to stop.
    """
    held = world.held
    agent, until = min(held.away.items(), key=lambda one: one[1])
    seconds = until - world.clock()
    if math.isinf(until) or held.waited + seconds > job.waits.longest:
        held.given_up = True
        return False
    if seconds > LOOK_FIRST and state.iteration > state.finished and not held.looked_at:
        held.looked_at = True
        return False
    yield Waiting(world.now(), state.iteration, agent, held.why.get(agent, ""), seconds, until)
    begun = time.monotonic()
    came_back = wait_until(until, world.stop)
    waited = time.monotonic() - begun
    held.waited += waited
    world.waited += waited
    if came_back:
        held.away.pop(agent)  # whatever the clock of the machine says by now
    held.given_up = not came_back
    return came_back
