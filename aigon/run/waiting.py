"""Wait for an agent that is held up by a usage limit or an overload: bounded, and never longer than a person allows."""

import math
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field

from aigon.core.events import Event, Waiting
from aigon.core.line_up import away_until
from aigon.core.model import Turn
from aigon.core.state import State
from aigon.ports.pause import pause
from aigon.run.job import Job
from aigon.run.world import World


@dataclass(slots=True)
class Patience:
    """What a turn has waited so far, in seconds; how often each agent was held up in it, and by what at last."""

    waited: float = 0.0
    times: Counter[str] = field(default_factory=Counter)
    why: dict[str, str] = field(default_factory=dict)

    def send_away(self, job: Job, world: World, turn: Turn) -> None:
        """Note until when the agent of `turn` is away."""
        world.away[turn.agent] = away_until(turn, world.clock(), job.waits.first, self.times[turn.agent])
        self.times[turn.agent] += 1
        self.why[turn.agent] = turn.detail

    def wait(self, job: Job, world: World, state: State) -> Generator[Event, State, bool]:
        """Wait for the first that comes back. False where none does in time, or a person asks the run to stop."""
        agent, until = min(world.away.items(), key=lambda one: one[1])
        seconds = until - world.clock()
        if math.isinf(until) or self.waited + seconds > job.waits.longest:
            return False
        yield Waiting(world.now(), state.iteration, agent, self.why.get(agent, ""), seconds, until)
        begun = time.monotonic()
        came_back = pause(until, world.stop)
        waited = time.monotonic() - begun
        self.waited += waited
        world.waited += waited
        if came_back:
            world.away.pop(agent)  # whatever the clock of the machine says by now
        return came_back
