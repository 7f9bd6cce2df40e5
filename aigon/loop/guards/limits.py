"""The guards of every run: on what it may use up, on who works, on failures and repetition."""

from aigon.errors import Exit
from aigon.job.escalation import find_next_step
from aigon.job.options import Limits
from aigon.journal.spending import estimate_turn_cost, is_affordable
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped, Unavailable
from aigon.model.requests import JUDGE_BROKEN, JUDGE_UNAVAILABLE
from aigon.model.resources import Probe, describe_disk_shortage, describe_file_size_shortage, describe_memory_shortage
from aigon.model.turns import TEMPORARY_ENDS
from aigon.text.amounts import format_count, format_epoch


def run_time(limits: Limits, _state: State, probe: Probe) -> Outcome | None:
    """The time of the run is spent."""
    if limits.run_time is None or probe.elapsed < limits.run_time:
        return None
    return Stopped("run-time", f"{probe.elapsed:.0f} s of {limits.run_time:.0f} s is used up", Exit.SPENT)


def cost(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """The money of the run is spent; in an arena that of all its agents together, turns under way included."""
    if limits.max_cost is None:
        return None
    taken, spent = state.spend.usd + probe.elsewhere, _describe_spent(limits.max_cost, state.spend.usd, probe)
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
    if usual is None or is_affordable(limits.max_cost, taken, usual):
        return None
    return Stopped("cost", f"{spent}, and {said} ${usual:.2f}", Exit.SPENT)


def _describe_spent(limit: float, own: float, probe: Probe) -> str:
    """Return how much of the limit is gone, and whose doing that is."""
    if not probe.elsewhere:
        return f"${own:.2f} of ${limit:.2f} is spent"
    whole = own + probe.elsewhere - probe.set_aside
    aside = f" (${probe.set_aside:.2f} more are set aside for turns under way)" if probe.set_aside else ""
    return f"${whole:.2f} of ${limit:.2f} is spent by all agents of the arena together{aside}"


def usual_cost(limits: Limits, state: State) -> float | None:
    """Return the expected cost of the next turn, by those that this run has paid for; None if none is known."""
    if not limits.ladder:
        return None
    agent = limits.ladder[find_next_step(state, limits.ladder)].agent
    return estimate_turn_cost(state.paid, agent.name, agent.model)


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


AWAY = (*TEMPORARY_ENDS, "bad_credentials")
"""Ends of a turn after which the agent cannot work, at least for now."""


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


def consecutive_failures(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """The agent failed too many turns in a row."""
    if state.failed_turns < limits.consecutive_failures:
        return None
    return Stopped("consecutive-failures", _describe_failed(state))


def repeated_error(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """The same failures and open criteria again and again, on the last step of the agent that worked last."""
    if not limits.repeated_error or state.repeats < limits.repeated_error or state.climbs < state.rungs - 1:
        return None
    why = (
        _describe_unchanged(state, state.repeats)
        or f"the same errors and open criteria {state.repeats} iterations in a row"
    )
    return Stopped("repeated-error", why)


def stall(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """Nothing got better: no criterion, no check, no test more than at the best look so far."""
    if not limits.stall or state.stalled < limits.stall:
        return None
    return Stopped("stall", _describe_unchanged(state, state.stalled) or f"no progress in {state.stalled} iterations")


def iterations(limits: Limits, state: State, _probe: Probe) -> Outcome | None:
    """This invocation's iterations are used up."""
    if state.used < limits.iterations:
        return None
    why = _describe_failed(state) if 0 < state.used <= state.failed_turns else _describe_unchanged(state, state.used)
    reached = limits.all_used or f"the limit of {format_count(limits.iterations, 'iteration')} is reached"
    return Stopped("iterations", reached + (f", and {why}" if why else ""))


def _describe_failed(state: State) -> str:
    """Say how often in a row the agent failed, and why the last time."""
    why = state.turn.detail if state.turn and state.turn.detail else "see the agent's output"
    turns = "its turn" if state.failed_turns == 1 else f"{state.failed_turns} turns in a row"
    return f"the agent failed {turns} ({why})"


def _describe_unchanged(state: State, iterations: int) -> str:
    """Say that the agent changed nothing in the last so many iterations, if that is so."""
    last = [attempt for attempt in state.tried.done if attempt.judged][-iterations:]
    if not iterations or len(last) < iterations or any(attempt.changed for attempt in last):
        return ""
    return f"the agent changed no file in {'its turn' if iterations == 1 else f'{iterations} turns'}"


GUARDS = {
    20: disk, 30: memory, 40: unavailable, 50: run_time, 60: cost,
    110: consecutive_failures, 120: repeated_error, 130: stall, 140: iterations,
}  # fmt: skip
