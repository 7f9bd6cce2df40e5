"""What a run may still spend: alone by its own limit, in an arena by one limit for all, kept in a ledger."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from aigon.files.store import is_held
from aigon.job.job import Job
from aigon.job.ledger import Ledger, Others
from aigon.job.ledger_file import Account
from aigon.job.world import World
from aigon.journal import candidates
from aigon.journal.records import records_of
from aigon.journal.spending import LATELY
from aigon.journal.state import State, replay
from aigon.loop import decide
from aigon.loop.guards.spending import usual_cost
from aigon.model.candidates import Candidate
from aigon.model.outcomes import Outcome
from aigon.model.resources import Probe
from aigon.process.running import loop_lock

LEDGER = "ledger.json"
"""In the arena's folder."""
T = TypeVar("T")


def ledger_of(home: Path, arena: Path, candidate: Candidate, limit: float | None) -> Ledger | None:
    """The account of a candidate in the arena's folder; None where nothing limits what is spent."""
    if limit is None:
        return None
    return Ledger(arena / LEDGER, candidate.label, limit, _others(home, candidate.feature))


def _others(home: Path, feature: str) -> Others:
    return Others(
        labels=lambda: tuple(each.label for each in candidates.of_feature(home, feature) if each.mode == "arena"),
        runs=lambda label: is_held(loop_lock(home, feature, label)) is True,
        told=lambda label: _told(home, feature, label),
    )


def _told(home: Path, feature: str, label: str) -> Account:
    """What the journal of a candidate's current run says. Raises AigonError where it is damaged."""
    state = replay(records_of(home, feature, label).each())
    costs = [one.usd for one in state.paid[-LATELY:]]
    spent = state.spend.plus(None) if state.turn_open else state.spend
    return Account(spent.usd, 0.0, spent.unknown, sum(costs) / len(costs) if costs else None)


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
