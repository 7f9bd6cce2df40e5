"""Guards of progress: failed turns, repeated errors, no improvement, the number of iterations."""

from aigon.job.options import Limits
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped
from aigon.model.resources import Probe
from aigon.text.amounts import format_count


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


GUARDS = {110: consecutive_failures, 120: repeated_error, 130: stall, 140: iterations}
