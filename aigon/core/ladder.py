"""The escalation ladder: a repeated error climbs a rung; the run stops only on the top one."""

from aigon.core.state import State

REPEATS = 2
"""The same error a second time in a row is what a rung is climbed for."""


def rung_for(state: State, rungs: int) -> int:
    """The rung, from 0, of the next turn. Rungs count over the feature, not the invocation."""
    climbs = state.climbs + (1 if state.repeats >= REPEATS else 0)
    return min(climbs, rungs - 1)
