"""Assess, decide, act, until every criterion is proven or a guard says stop.

One path serves the baseline, a resume, "already done" and a normal iteration. Each `yield` hands an event
out and gets back the state after it; durable events are on disk by then.
"""

from collections.abc import Callable, Generator

from aigon.job.assessment import Assessment, Snapshot
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import Event
from aigon.journal.state import State
from aigon.loop.assess import assess
from aigon.loop.decide import decide_within_budget
from aigon.loop.finish import finish
from aigon.loop.publish import draft_iteration, publish
from aigon.loop.take import take
from aigon.loop.turn import act
from aigon.model.outcomes import Outcome
from aigon.proof.prove import prove

Loop = Generator[Event, State, Outcome]
Assess = Callable[[Job, World, Snapshot, State], Generator[Event, State, Assessment]]
"""Decides what a snapshot is worth."""


def assess_and_prove(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, Assessment]:
    """Run the checks and decide every criterion; if all pass, prove it."""
    assessment = yield from assess(job, world, snapshot, state)
    return (yield from prove(job, world, snapshot, assessment, state))


def run_loop(job: Job, world: World, state: State, assess_tree: Assess = assess_and_prove) -> Loop:
    """Run the job from `state` on to its outcome. Raises AigonError where the world does not let it go on."""
    while True:
        snapshot = yield from take(job, world, state)
        assessment = yield from assess_tree(job, world, snapshot, state)
        draft = draft_iteration(job, world, snapshot, assessment, state)
        outcome = decide_within_budget(job, world, state.apply(draft))
        state = yield from publish(job, world, snapshot, assessment, draft, outcome, state)
        outcome = outcome or decide_within_budget(job, world, state)
        if outcome:
            return (yield from finish(job, world, outcome, state))
        state = yield from act(job, world, state)
