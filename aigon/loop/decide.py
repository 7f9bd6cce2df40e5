"""The only place where a run may end.

Guards are functions of the limits, the state after the latest look and a probe of the world; each may end a run.
Where several apply, the documented precedence of exit codes decides: 0, 130/143, 7, 6, 5, 4, 3.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from aigon.errors import Exit
from aigon.job.ladder import Rung, rung_of
from aigon.journal.amounts import many
from aigon.journal.spending import affordable, expected
from aigon.journal.state import State
from aigon.model.checks import OWN_ROLES, Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.model.outcomes import VALIDATION_SKIPPED, Interrupted, Met, NeedsHuman, Outcome, Stopped, Unavailable
from aigon.model.resources import Probe, describe_disk_shortage, describe_file_size_shortage, describe_memory_shortage
from aigon.model.turns import TEMPORARY_ENDS
from aigon.text.counting import list_criteria
from aigon.text.timestamps import format_epoch


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run stops. Counts per invocation; seconds; bytes; US dollars. 0 turns `repeated_error` and `stall` off.

    With `by_history` also before a turn for which too little is left by what this run's iterations took so far.
    """

    iterations: int = 5
    consecutive_failures: int = 3
    repeated_error: int = 3
    stall: int = 4
    run_time: float | None = None
    max_cost: float | None = None
    disk_free: int = 0
    memory_free: int = 0
    by_history: bool = True
    single: bool = False
    ladder: tuple[Rung, ...] = ()
    allow_unknown_cost: bool = False


@dataclass(frozen=True, slots=True)
class Demand:
    """What proven means for this job. `known_failures` are check names that may stay red, by the spec's frontmatter.

    `in_place`: the project gave up the clean-room proof, which the outcome says. `accept_passing`: a person accepts
    that every criterion passes before the first turn, as in a refactoring.
    """

    criteria: tuple[Criterion, ...]
    known_failures: tuple[str, ...] = ()
    skip_validation: bool = False
    in_place: bool = False
    accept_passing: bool = False


IN_PLACE = "proved in place, not in a clean room"
ACCEPTED = "every criterion passed before the first turn, which --accept-passing accepted"

JUDGE_UNAVAILABLE = "judge:unavailable"
"""The method of a verdict that the judge could not even be asked for: bad key, no permission, no money."""
JUDGE_BROKEN = "judge:broken"
"""The method of a verdict for which the judge's program answers in another format: it does so after any turn."""

AWAY = (*TEMPORARY_ENDS, "bad_credentials")
"""Ends of a turn after which the agent cannot work, at least for now."""

_IMPOSSIBLE = re.compile(r"<impossible>(.+?)</impossible>", re.DOTALL)

Guard = Callable[[Limits, State, Probe], Outcome | None]


def decide(demand: Demand, limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """How the run ends on the latest look, or None to go on with another agent turn."""
    look = state.last
    proven = met(demand, look.findings, look.verdicts) if look else None
    if look and proven and not is_hollow(demand, look):
        return _with_acceptance(demand, look, proven)
    for guard in GUARDS:
        if outcome := guard(limits, state, probe):
            return outcome
    if proven and not _may_still_build(demand, state):
        return nothing_built(demand)
    waiting = None if limits.single else needs_human(demand, state) or given_up(state)
    if waiting or not (ended := exhausted(limits, state, probe)):
        return waiting
    return ended if limits.single else needs_human(demand, state, patient=False) or ended


def met(demand: Demand, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> Met | None:
    """Met only if every criterion has the verdict met and every check is green; nothing unknown counts."""
    proven = {v.criterion for v in verdicts if v.status == "met"}
    if not demand.criteria or any(c.number not in proven for c in demand.criteria):
        return None
    red = [f for f in findings if f.status != "pass"]
    if not all(forgiven(demand, f) for f in red):
        return None
    if not _checked(findings) and not all(_stands_alone(v) for v in verdicts):
        return None
    weak = (p.message for f in findings if f.role == "proof" for p in f.problems if p.severity == "warning")
    return Met((*_caveats(demand, red), *weak))


class Compared(Protocol):
    """A look at a tree that was compared with the base."""

    @property
    def passed_at_base(self) -> tuple[int, ...]:
        """The criteria that passed at the base already."""

    @property
    def adds_nothing(self) -> bool:
        """Whether the tree holds nothing beyond the base but aigon's own files."""


def is_hollow(demand: Demand, look: Compared) -> bool:
    """Whether every criterion passed at the base and the tree adds nothing to it: a pass proves nothing then."""
    return look.adds_nothing and _all_passed_at_base(demand, look)


def _all_passed_at_base(demand: Demand, look: Compared) -> bool:
    return {criterion.number for criterion in demand.criteria} <= set(look.passed_at_base)


def _with_acceptance(demand: Demand, look: Compared, proven: Met) -> Met:
    accepted = demand.accept_passing and _all_passed_at_base(demand, look)
    return Met((ACCEPTED, *proven.caveats)) if accepted else proven


def _may_still_build(demand: Demand, state: State) -> bool:
    """Whether an agent gets a turn although everything passes: by a person's leave, until one has ended well."""
    return demand.accept_passing and (state.used == 0 or (state.turn is not None and state.turn.failed))


def nothing_built(demand: Demand) -> NeedsHuman:
    """The outcome where everything passes, as it did at the base, and no file has changed since."""
    numbers = tuple(criterion.number for criterion in demand.criteria)
    which, it = list_criteria(numbers), "It proves" if len(numbers) == 1 else "They prove"
    reason = f"nothing was built. No file has changed, and {which} passed before the first turn. {it} nothing"
    return NeedsHuman(numbers, reason, nothing_built=True)


def supported(findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """`verdicts`, but unclear where one leans on checks and none passed: a judge's word alone is no proof."""
    if _checked(findings):
        return tuple(verdicts)
    return tuple(_leaning(v) if v.status == "met" and not _stands_alone(v) else v for v in verdicts)


def _leaning(verdict: Verdict) -> Verdict:
    said = f" ({verdict.reason})" if verdict.reason else ""
    why = f"no check passed, so the {verdict.method}'s word alone is no proof{said}; `aigon approve` decides"
    return replace(verdict, status="unclear", method="human", reason=why)


def forgiven(demand: Demand, finding: Finding) -> bool:
    """Listed as a known failure. Never a check of aigon's own: what is in no commit, for one, cannot be proven."""
    return finding.role not in OWN_ROLES and finding.check in demand.known_failures


def _checked(findings: Sequence[Finding]) -> bool:
    """Whether any check of the project's own passed."""
    return any(f.role not in OWN_ROLES and f.status == "pass" for f in findings)


def _stands_alone(verdict: Verdict) -> bool:
    """Proof enough where no check ran: a command's exit, a number against a bound, a person."""
    return verdict.method in ("verify", "metric", "approval")


def _caveats(demand: Demand, red: Sequence[Finding]) -> tuple[str, ...]:
    known = tuple(f"known failure: {f.title} ({f.summary})" for f in red)
    said = (VALIDATION_SKIPPED,) if demand.skip_validation else ()
    return (*said, *((IN_PLACE,) if demand.in_place else ()), *known)


def interrupted(_limits: Limits, _state: State, probe: Probe) -> Outcome | None:
    """A person, the system or a hook asked for the end."""
    match probe.interrupt:
        case "":
            return None
        case "stop-file":
            return Stopped("stop-file", "a stop file exists: remove .aigon/STOP or EMERGENCY_STOP_RALPH to continue")
        case "hook":
            return Stopped("hook", probe.detail)
        case signal:
            return Interrupted(signal)


def barred(limits: Limits, state: State, probe: Probe) -> bool:
    """Whether no further turn may begin within this iteration: it is over, and `decide` will say why."""
    return any(guard(limits, state, probe) for guard in GUARDS if guard is not unavailable)


def disk(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """Not enough room on disk for another turn, or none that can be written to."""
    said = describe_disk_shortage(probe.volumes, limits.disk_free, state.greed if limits.by_history else {})
    said = said or describe_file_size_shortage(probe.longest_file)
    return Stopped("disk", said, Exit.ENVIRONMENT) if said else None


def memory(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """Not enough memory for another turn."""
    greed = state.greed if limits.by_history else {}
    said = describe_memory_shortage(probe.memory_free, probe.memory_limit, limits.memory_free, greed)
    return Stopped("memory", said, Exit.ENVIRONMENT) if said else None


def unavailable(_limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """The agent said itself that it cannot work, or only the judge is left and it cannot: credentials, usage limit."""
    turn = state.turn
    if turn is not None and turn.end in AWAY and turn.number == state.iteration and probe.given_up:
        when = format_epoch(turn.resets_at) if turn.resets_at is not None else ""
        return Unavailable(turn.agent, f"{f'until {when}: ' if when else ''}{turn.detail or 'it cannot run'}")
    open_ = [v for v in state.last.verdicts if v.status != "met"] if state.last else []
    if broken := next((v for v in open_ if v.method == JUDGE_BROKEN), None):
        return Unavailable("the judge", broken.reason)
    lost = [v for v in open_ if v.method == JUDGE_UNAVAILABLE]
    if not lost or any(v.status != "unclear" for v in open_):
        return None
    return Unavailable("the judge", lost[0].reason)


def run_time(limits: Limits, _state: State, probe: Probe) -> Outcome | None:
    """The time of the run is spent."""
    if limits.run_time is None or probe.elapsed < limits.run_time:
        return None
    return Stopped("run-time", f"{probe.elapsed:.0f} s of {limits.run_time:.0f} s is used up", Exit.SPENT)


def cost(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """The money of the run is spent; in an arena that of all its agents together, turns under way included."""
    if limits.max_cost is None:
        return None
    taken, spent = state.spend.usd + probe.elsewhere, _spent(limits.max_cost, state.spend.usd, probe)
    if taken >= limits.max_cost:
        return Stopped("cost", spent, Exit.SPENT)
    unknown = f"{state.unpriced} does not report what its turns cost" if state.unpriced else ""
    unknown = unknown or ("the cost of a lost part of the run's record is unknown" if state.lost else "")
    if unknown and not limits.allow_unknown_cost:
        why = f"{unknown}, so the limit of ${limits.max_cost:.2f} cannot be enforced"
        return Stopped("cost", f"{why}; set guards.allowUnknownCost to continue anyway", Exit.SPENT)
    usual = usual_cost(limits, state)
    said = "such a turn costs about" if usual is not None else "the next turn is estimated at"
    usual = probe.reckoned if usual is None else usual
    if usual is None or affordable(limits.max_cost, taken, usual):
        return None
    return Stopped("cost", f"{spent}, and {said} ${usual:.2f}", Exit.SPENT)


def _spent(limit: float, own: float, probe: Probe) -> str:
    """How much of the limit is gone, and whose doing that is."""
    if not probe.elsewhere:
        return f"${own:.2f} of ${limit:.2f} is spent"
    whole = own + probe.elsewhere - probe.set_aside
    aside = f" (${probe.set_aside:.2f} more are set aside for turns under way)" if probe.set_aside else ""
    return f"${whole:.2f} of ${limit:.2f} is spent by all agents of the arena together{aside}"


def usual_cost(limits: Limits, state: State) -> float | None:
    """What the next turn is expected to cost by those that this run has paid for; None where none is known."""
    if not limits.ladder:
        return None
    agent = limits.ladder[rung_of(state, limits.ladder)].agent
    return expected(state.paid, agent.name, agent.model)


def consecutive_failures(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """The agent failed too many turns in a row."""
    if state.failed_turns < limits.consecutive_failures:
        return None
    return Stopped("consecutive-failures", _failed(state))


def _failed(state: State) -> str:
    """Say how often in a row the agent failed, and why the last time."""
    why = state.turn.detail if state.turn and state.turn.detail else "see the agent's output"
    turns = "its turn" if state.failed_turns == 1 else f"{state.failed_turns} turns in a row"
    return f"the agent failed {turns} ({why})"


def repeated_error(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """The same failures and open criteria again and again, on the top rung of whoever worked last."""
    if not limits.repeated_error or state.repeats < limits.repeated_error or state.climbs < state.rungs - 1:
        return None
    why = _unchanged(state, state.repeats) or f"the same errors and open criteria {state.repeats} iterations in a row"
    return Stopped("repeated-error", why)


def stall(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """Nothing got better: no criterion, no check, no test more than at the best look so far."""
    if not limits.stall or state.stalled < limits.stall:
        return None
    return Stopped("stall", _unchanged(state, state.stalled) or f"no progress in {state.stalled} iterations")


def iterations(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """This invocation's iterations are used up."""
    if state.used < limits.iterations:
        return None
    why = _failed(state) if state.failed_turns >= state.used else _unchanged(state, state.used)
    reached = f"the limit of {many(limits.iterations, 'iteration')} is reached"
    return Stopped("iterations", reached + (f", and {why}" if why else ""))


def _unchanged(state: State, iterations: int) -> str:
    """Say that the agent changed nothing in the last so many iterations, if that is so."""
    last = [attempt for attempt in state.tried.done if attempt.judged][-iterations:]
    if len(last) < iterations or any(attempt.changed for attempt in last):
        return ""
    return f"the agent changed no file in {'its turn' if iterations == 1 else f'{iterations} turns'}"


GUARDS: tuple[Guard, ...] = (interrupted, disk, memory, unavailable, run_time, cost)
"""By precedence of their exit codes: 130/143 and stop file, 7, 6, 5."""
LAST_GUARDS: tuple[Guard, ...] = (consecutive_failures, repeated_error, stall, iterations)
"""Exit 3: they give way to "needs a human"."""


def needs_human(demand: Demand, state: State, *, patient: bool = True) -> NeedsHuman | None:
    """Only what a person can decide is open, and an agent has had its turn.

    What an agent may undo or make clear it is told of once: `patient`, only what was open at the look before counts.
    """
    look = state.last
    if look is None or not state.finished:
        return None
    red = [f for f in look.findings if f.status != "pass" and not forgiven(demand, f)]
    open_ = [v for v in look.verdicts if v.status != "met"]
    if any(not _for_a_person(f) for f in red) or any(v.status != "unclear" for v in open_) or not (red or open_):
        return None
    if patient and not set(look.questions) <= set(state.told):
        return None
    return _waiting(red, open_)


def _for_a_person(finding: Finding) -> bool:
    """A review, or a proof that could not be carried out: no further turn of an agent helps."""
    return finding.role == "integrity" or (finding.role == "proof" and finding.status == "error")


def given_up(state: State) -> NeedsHuman | None:
    """The agent says that it cannot be done: a claim, but one that a person should look at before more is paid.

    Offering this way out took one benchmark's cheating from 54 to 9 % (facts on reward hacking, 2026).
    """
    turn, look = state.turn, state.last
    if turn is None or look is None or turn.number != look.number:
        return None
    said = _IMPOSSIBLE.search(turn.said)
    if said is None:
        return None
    numbers = tuple(v.criterion for v in look.verdicts if v.status != "met")
    return NeedsHuman(numbers, f"the agent says it is impossible: {' '.join(said[1].split())[:500]}")


def _waiting(red: Sequence[Finding], verdicts: Sequence[Verdict]) -> NeedsHuman:
    numbers = tuple(v.criterion for v in verdicts)
    said = [f.summary for f in red]
    if numbers:
        verb = "waits" if len(numbers) == 1 else "wait"
        said.append(f"{list_criteria(numbers)} {verb} for a person: {verdicts[0].reason}")
    return NeedsHuman(numbers, "; ".join(said))


def exhausted(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """The guards of exit 3."""
    return next((outcome for guard in LAST_GUARDS if (outcome := guard(limits, state, probe))), None)
