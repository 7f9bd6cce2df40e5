"""Wait for an agent that is held up by a usage limit or an overload: bounded, and never longer than a person allows."""

import math
from collections.abc import Generator
from dataclasses import dataclass

from aigon.core.events import Event, Waiting
from aigon.core.line_up import away_until
from aigon.core.model import Turn
from aigon.core.state import State
from aigon.ports.pause import pause
from aigon.run.job import Job
from aigon.run.world import World


@dataclass(slots=True)
class Patience:
    """What a turn has waited so far, in seconds, and how often nobody knew for how long."""

    waited: float = 0.0
    unsaid: int = 0

    def send_away(self, job: Job, world: World, turn: Turn) -> None:
        """Note until when the agent of `turn` is away."""
        world.away[turn.agent] = away_until(turn, world.clock(), job.waits.first, self.unsaid)
        self.unsaid += turn.held and turn.resets_at is None

    def wait(self, job: Job, world: World, state: State) -> Generator[Event, State, bool]:
        """Wait for the first that comes back. False where none does in time, or a person asks the run to stop."""
        agent, until = min(world.away.items(), key=lambda one: one[1])
        seconds = until - world.clock()
        if math.isinf(until) or self.waited + seconds > job.waits.longest:
            return False
        why = state.turn.detail if state.turn else ""
        yield Waiting(world.now(), state.iteration, agent, why, seconds, until)
        begun = world.clock()
        came_back = pause(until, world.stop)
        self.waited += world.clock() - begun
        world.waited += world.clock() - begun
        return came_back
