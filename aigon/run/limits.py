"""When a run stops and what proven means, from flags and configuration."""

from aigon.core import decide
from aigon.core.config import MAX_ITERATIONS, Config
from aigon.core.errors import usage
from aigon.core.ladder import Rung
from aigon.core.model import Spec
from aigon.core.spec import known_failures
from aigon.run.job import Waits
from aigon.run.options import Options


def limits(config: Config, options: Options, rungs: tuple[Rung, ...] = ()) -> decide.Limits:
    """When this run stops, on a ladder of `rungs`. Raises AigonError (exit 2) for a limit outside 1 to 20."""
    wanted = options.max_iterations if options.max_iterations is not None else config.ralph.max_iterations
    if not 1 <= wanted <= MAX_ITERATIONS:
        raise usage(
            f"The iteration limit is {wanted}", where="--max-iterations", hint=f"It goes from 1 to {MAX_ITERATIONS}"
        )
    failures = options.max_consecutive_failures
    if failures is not None and failures < 1:
        where = "--max-consecutive-failures"
        raise usage("0 consecutive failures would stop before the start", where=where, hint="Give 1 or more")
    guards = config.guards
    single = not (options.loop or options.resume)
    return decide.Limits(
        iterations=1 if single else wanted,
        consecutive_failures=failures or guards.consecutive_failures,
        repeated_error=guards.repeated_error,
        stall=guards.stall,
        run_time=options.max_time or _number(guards.run_time),
        max_cost=options.max_cost or guards.max_cost,
        disk_free=guards.disk_free,
        memory_free=guards.memory_free,
        by_history=guards.by_history,
        single=single,
        ladder=rungs,
        allow_unknown_cost=guards.allow_unknown_cost,
    )


def _number(value: str | float | None) -> float | None:
    return None if value is None else float(value)


def waits(config: Config, options: Options) -> Waits:
    """How long a run waits for an agent that is held up."""
    longest = float(config.guards.max_wait) if options.max_wait is None else options.max_wait
    return Waits(longest, float(config.guards.first_wait))


def turn_timeout(config: Config, options: Options) -> float:
    """Seconds for one agent turn."""
    return options.iteration_timeout or float(config.guards.iteration_timeout)


def idle_timeout(config: Config, options: Options) -> float | None:
    """Seconds of one agent turn without a sign of life; None: as many as it likes."""
    return options.idle_timeout or _number(config.guards.idle_timeout)


def demand(config: Config, spec: Spec, options: Options) -> decide.Demand:
    """What proven means for this spec."""
    in_place = config.proof.mode == "in-place"
    return decide.Demand(spec.criteria, known_failures(spec), options.skip_validation, in_place)
