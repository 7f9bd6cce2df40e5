"""Guards of what a run may use up: time and money, disk and memory."""

from aigon.errors import Exit
from aigon.job.escalation import find_next_step
from aigon.job.options import Limits
from aigon.journal.spending import estimate_turn_cost, is_affordable
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped
from aigon.model.resources import Probe, describe_disk_shortage, describe_file_size_shortage, describe_memory_shortage


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


GUARDS = {20: disk, 30: memory, 50: run_time, 60: cost}
