"""The only place where a run may end.

If several guards apply, the documented precedence of exit codes decides: 0, 130/143, 7, 6, 5, 4, 3.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from aigon.job.assessment import Demand, describe_nothing_built, find_proof, is_forgiven, is_hollow, with_acceptance
from aigon.job.job import Job
from aigon.job.ledger import Account, Ledger
from aigon.job.options import Limits
from aigon.job.world import World
from aigon.journal.events import IterationFinished
from aigon.journal.state import State
from aigon.loop.guards import load_guards
from aigon.loop.guards.limits import unavailable, usual_cost
from aigon.model.outcomes import Interrupted, NeedsHuman, Outcome, Stopped
from aigon.model.resources import Probe
from aigon.text.amounts import list_criteria
from aigon.text.patterns import compile_re

T = TypeVar("T")
_IMPOSSIBLE = compile_re(r"<impossible>(.+?)</impossible>", re.DOTALL)


def decide(demand: Demand, limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """Return how the run ends on the latest assessment, or None to go on with another agent turn."""
    look, (immediate, late) = state.last, load_guards()
    proven = find_proof(demand, look.findings, look.verdicts) if look else None
    if look and proven and _was_proved(demand, look) and not is_hollow(demand, look, worked=state.worked):
        return with_acceptance(demand, look, proven)
    for guard in (find_interruption, *immediate):
        if outcome := guard(limits, state, probe):
            return outcome
    if look and proven and not _may_still_build(demand, state):
        return describe_nothing_built(demand, look)
    waiting = None
    if not limits.single:
        waiting = needs_human(demand, state) or given_up(state) or left_to_a_person(demand, state)
    waiting = waiting or needs_leave(state)
    exhausted = next((outcome for guard in late if (outcome := guard(limits, state, probe))), None)
    if waiting or not exhausted:
        return waiting
    asked = None
    if not limits.single:
        asked = needs_human(demand, state, patient=False) or left_to_a_person(demand, state, patient=False)
    return asked or needs_leave(state, patient=False) or exhausted


def _was_proved(demand: Demand, look: IterationFinished) -> bool:
    """Return whether the clean-room proof ran, unless the project gave it up."""
    return demand.in_place or any(finding.role == "proof" for finding in look.findings)


def _may_still_build(demand: Demand, state: State) -> bool:
    """Return whether an agent gets a turn although everything passes: by a person's leave, until one has ended well."""
    return demand.accept_passing and (state.used == 0 or (state.turn is not None and state.turn.failed))


def find_interruption(_limits: Limits, _state: State, probe: Probe) -> Outcome | None:
    """Stop if a person, the system or a hook asked for the end."""
    match probe.interrupt:
        case "":
            return None
        case "stop-file":
            return Stopped("stop-file", "a stop file exists: remove .aigon/STOP or EMERGENCY_STOP_RALPH to continue")
        case "hook":
            return Stopped("hook", probe.detail)
        case signal:
            return Interrupted(signal)


def is_turn_forbidden(limits: Limits, state: State, probe: Probe) -> bool:
    """Return whether no further turn may begin within this iteration: it is over, and `decide` will say why."""
    guards = (find_interruption, *load_guards()[0])
    return any(guard(limits, state, probe) for guard in guards if guard is not unavailable)


def needs_human(demand: Demand, state: State, *, patient: bool = True) -> NeedsHuman | None:
    """Stop if only what a person can decide is open, and an agent has had its turn.

    An agent is told once of what it may undo or make clear: if `patient`, only what was open at the assessment before
    counts.
    """
    look = state.last
    if look is None or not state.finished:
        return None
    failed = [f for f in look.findings if f.status != "pass" and not is_forgiven(demand, f)]
    remaining = [v for v in look.verdicts if v.status != "met"]
    # A review, or a proof that could not be carried out: no further turn of an agent helps.
    for_a_person = all(f.role == "integrity" or (f.role == "proof" and f.status == "error") for f in failed)
    if not for_a_person or any(v.status != "unclear" for v in remaining) or not (failed or remaining):
        return None
    if patient and not set(look.questions) <= set(state.told):
        return None
    numbers, reasons = tuple(v.criterion for v in remaining), [f.summary for f in failed]
    if numbers:
        verb = "waits" if len(numbers) == 1 else "wait"
        why = "" if failed else f": {remaining[0].reason}"  # what failed says it, as a rule
        reasons.append(f"{list_criteria(numbers)} {verb} for a person{why}")
    return NeedsHuman(numbers, "; ".join(reasons))


def needs_leave(state: State, *, patient: bool = True) -> NeedsHuman | None:
    """Stop if the turn changed a file that was put back, although the spec's words ask for its change.

    No turn of an agent can settle that. Where no words ask for it, it is a question if the file was put back before as
    well and nothing improved since; without being `patient`, whatever improved.
    """
    look = state.last
    if look is None or not look.put_back or all(v.status == "met" for v in look.verdicts):
        return None
    again = not patient or state.stalled > 0
    paths = tuple(p.path for p in look.put_back if p.asked or (again and state.put_back.get(p.path, 0) > 1))
    if not paths:
        return None
    numbers = tuple(v.criterion for v in look.verdicts if v.status != "met")
    listed, they = ", ".join(paths), "it decides" if len(paths) == 1 else "they decide"
    reason = f"the agent changed {listed}, which was put back: {they} what is proven, and the spec does not allow it"
    return NeedsHuman(numbers, reason, allow=paths)


def given_up(state: State) -> NeedsHuman | None:
    """Stop if the agent says that it cannot be done: a claim, but one to look at before more is paid.

    Offering this way out took one benchmark's cheating from 54 to 9 % (facts on reward hacking, 2026).
    """
    turn, look = state.turn, state.last
    if turn is None or look is None or turn.number != look.number:
        return None
    claim = _IMPOSSIBLE.search(turn.said)
    if claim is None:
        return None
    numbers = tuple(v.criterion for v in look.verdicts if v.status != "met")
    return NeedsHuman(numbers, f"the agent says it is impossible: {' '.join(claim[1].split())[:500]}")


def left_to_a_person(demand: Demand, state: State, *, patient: bool = True) -> NeedsHuman | None:
    """Stop if an agent left open criteria to a person: without being `patient`, whatever else is open.

    That is its word, so the others are worked on first.
    """
    look, skips = state.last, state.requests.skips
    remaining = [v for v in look.verdicts if v.status != "met"] if look else []
    skipped = [v.criterion for v in remaining if v.criterion in skips]
    if look is None or not skipped:
        return None
    others = any(v.status == "unmet" and v.criterion not in skips for v in remaining)
    if patient and (others or any(f.status == "fail" and not is_forgiven(demand, f) for f in look.findings)):
        return None
    reasons = "; ".join(f"{number}: {skips[number] or 'no reason given'}" for number in skipped)
    leaves = f"the agent leaves {list_criteria(skipped)} to a person ({reasons})"
    return NeedsHuman(tuple(v.criterion for v in remaining), leaves)


def decide_within_budget(job: Job, world: World, state: State) -> Outcome | None:
    """Return how the run ends, or None to go on with another turn; in an arena money for it is set aside then."""
    return _answer_within_budget(job, world, state, lambda probe: decide(job.demand, job.limits, state, probe))


def is_turn_barred(job: Job, world: World, state: State) -> bool:
    """Return whether no further turn may begin within this iteration; if one may, money for it is set aside."""
    return _answer_within_budget(job, world, state, lambda probe: is_turn_forbidden(job.limits, state, probe))


def _answer_within_budget(job: Job, world: World, state: State, question: Callable[[Probe], T]) -> T:
    """Answer a question whose no means a turn. Nothing is set aside for one that something else forbids."""
    probe = world.probe()
    answer = question(probe)
    ledger = world.find(Ledger)
    if ledger is None:
        return answer
    own = Account(state.spend.usd, 0.0, state.spend.unknown, usual_cost(job.limits, state))
    settled = ledger.settle(own, turn=not answer)
    return question(replace(probe, elsewhere=settled.elsewhere, set_aside=settled.set_aside, reckoned=settled.need))
