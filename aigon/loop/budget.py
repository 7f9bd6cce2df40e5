"""What a run may still spend: alone by its own limit, in an arena by one limit for all, kept in a ledger."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from aigon.job.job import Job
from aigon.job.ledger_file import Account
from aigon.job.world import World
from aigon.journal.state import State
from aigon.loop import decide
from aigon.loop.guards.spending import usual_cost
from aigon.model.outcomes import Outcome
from aigon.model.resources import Probe

T = TypeVar("T")


def decided(job: Job, world: World, state: State) -> Outcome | None:
    """How the run ends, or None to go on with another turn; in an arena money for it is set aside then."""
    return _asked(job, world, state, lambda probe: decide.decide(job.demand, job.limits, state, probe))


def barred(job: Job, world: World, state: State) -> bool:
    """Whether no further turn may begin within this iteration; where one may, money for it is set aside."""
    return _asked(job, world, state, lambda probe: decide.barred(job.limits, state, probe))


def _asked(job: Job, world: World, state: State, question: Callable[[Probe], T]) -> T:
    """The answer to a question whose no means a turn. Nothing is set aside for one that something else forbids."""
    probe = world.probe()
    answer = question(probe)
    if world.ledger is None:
        return answer
    own = Account(state.spend.usd, 0.0, state.spend.unknown, usual_cost(job.limits, state))
    settled = world.ledger.settle(own, turn=not answer)
    return question(replace(probe, elsewhere=settled.elsewhere, set_aside=settled.set_aside, reckoned=settled.need))
