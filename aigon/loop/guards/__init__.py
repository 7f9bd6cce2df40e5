"""Guards: each is a function of the limits, the state after the latest assessment and a probe of the world.

A guard returns the outcome with which the run ends, or None. Each module here has `GUARDS`, its guards by their place
in the order: `limits` stops for disk and memory (exit code 7), and for time and money (5), `availability` for an agent
or judge that cannot work (6), `progress` for failures, repetition and the number of iterations (3). Guards from LAST on
give way to "needs a human".

A plug-in has `stop(limits, state, probe) -> str`: why the run has to end, or "". It can end a run and never prove one.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from aigon.files.resources import Registry
from aigon.job.options import Limits
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped
from aigon.model.resources import Probe

Guard = Callable[[Limits, State, Probe], Outcome | None]
REGISTRY = Registry("aigon.guards", __name__, "guard")
LAST = 100
_PLUGIN_PLACE = 70


@cache
def load_guards() -> tuple[tuple[Guard, ...], tuple[Guard, ...]]:
    """Return the guards in order: those that end a run at once, and those that give way to "needs a human".

    Raises AigonError (exit 2) for a plug-in that cannot be loaded.
    """
    places = [item for name in REGISTRY.builtins() for item in REGISTRY.load(name).GUARDS.items()]
    places += [(_PLUGIN_PLACE, _wrap(name, module.stop)) for name, module in REGISTRY.load_plugins()]
    ordered = sorted(places, key=lambda item: item[0])
    return tuple(g for place, g in ordered if place < LAST), tuple(g for place, g in ordered if place >= LAST)


def _wrap(name: str, stop: Callable[[Limits, State, Probe], Any]) -> Guard:
    """Return a guard that ends the run with the plug-in's reason, or because the plug-in failed."""

    def guard(limits: Limits, state: State, probe: Probe) -> Outcome | None:
        try:
            reason = stop(limits, state, probe)
        except Exception as error:  # a guard that cannot tell must not let a run spend more
            reason = f"the guard {name} failed: {type(error).__name__}: {error}"
        return Stopped(name, " ".join(str(reason).split())[:500]) if reason else None

    return guard
