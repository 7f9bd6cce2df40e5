"""What a person asked for, and the limits that follow from it and from the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from aigon.errors import usage

if TYPE_CHECKING:  # the help of a verb needs the options, and not what reads the configuration
    from aigon.config.models import Config
    from aigon.job.demand import Demand
    from aigon.job.escalation import AgentStep
    from aigon.journal.events import RecordedStep as Step
    from aigon.model.criteria import Spec

Source = Literal["environment", "run"]
"""What gives an option its value where no flag does: a variable, or the run that is resumed."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `feature-implement` and of the verbs that share some of them. Times in seconds, money in USD.

    `arena` is the folder that the loops of an arena share, "" for a loop of its own; `time_left` is what is left of
    `max_time` in an arena. `line_up`, `judge_model` and `judge_agent` have no flag: a resume takes them from its run.
    `sources` says which values no flag gave, and where they come from instead.
    """

    feature: str
    loop: bool = False
    resume: bool = False
    max_iterations: int | None = None
    skip_validation: bool | None = None
    validation_script: str | None = None
    agents: tuple[str, ...] = ()
    profile: str | None = None
    model: str | None = None
    judge: str | None = None
    max_cost: float | None = None
    max_time: float | None = None
    iteration_timeout: float | None = None
    idle_timeout: float | None = None
    max_wait: float | None = None
    max_consecutive_failures: int | None = None
    promises: tuple[str, ...] = ()
    worktree: bool | None = None
    on_partial: Literal["keep", "rollback", "ask"] | None = None
    half_turn: Literal["keep", "rollback", "ask"] = "rollback"
    resume_from: Literal["checkpoint", "last-iteration", "best", "rerun", "ask"] = "checkpoint"
    accept_spec: bool = False
    accept_passing: bool | None = None
    yes: bool = False
    sandbox: Literal["auto", "bwrap", "landlock", "none"] | None = None
    arena: str = ""
    time_left: float | None = None
    line_up: "tuple[Step, ...]" = ()
    judge_model: str | None = None
    judge_agent: str | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)

    def is_flag(self, name: str) -> bool:
        """Whether a flag of this command line gave the option its value."""
        return name not in self.sources and getattr(self, name) != _DEFAULTS[name]


_DEFAULTS = {each.name: each.default for each in fields(Options)}


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
    ladder: "tuple[AgentStep, ...]" = ()
    allow_unknown_cost: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds: `longest` in all for one turn; `first` is the first wait where nobody said how long, then doubled."""

    longest: float = 21600.0
    first: float = 30.0


def resolve_limits(config: "Config", options: Options, rungs: "tuple[AgentStep, ...]" = ()) -> Limits:
    """Return when this run stops, given the escalation steps. Raises AigonError (exit 2) beyond 1 to 20 iterations."""
    from aigon.config.models import MAX_ITERATIONS

    wanted = max_iterations(config, options)
    if not 1 <= wanted <= MAX_ITERATIONS:
        why = f"; a run takes at most {MAX_ITERATIONS}, so that a person looks before more is spent"
        raise usage(
            f"The iteration limit is {wanted}{why if wanted > MAX_ITERATIONS else ''}",
            where="--max-iterations or AIGON_MAX_ITERATIONS",
            hint=f"Give 1 to {MAX_ITERATIONS}. --resume continues a run that reached its limit, with as many again",
        )
    failures = options.max_consecutive_failures
    if failures is not None and failures < 1:
        where = "--max-consecutive-failures"
        raise usage("0 consecutive failures would stop before the start", where=where, hint="Give 1 or more")
    guards = config.guards
    single = not (options.loop or options.resume)
    return Limits(
        iterations=1 if single else wanted,
        consecutive_failures=max_consecutive_failures(config, options),
        repeated_error=guards.repeated_error,
        stall=guards.stall,
        run_time=max_time(config, options) if options.time_left is None else options.time_left,
        max_cost=max_cost(config, options),
        disk_free=guards.disk_free,
        memory_free=guards.memory_free,
        by_history=guards.by_history,
        single=single,
        ladder=rungs,
        allow_unknown_cost=guards.allow_unknown_cost,
    )


def max_iterations(config: "Config", options: Options) -> int:
    """Iterations of one invocation with --loop."""
    return options.max_iterations if options.max_iterations is not None else config.ralph.max_iterations


def max_consecutive_failures(config: "Config", options: Options) -> int:
    """Failed turns in a row."""
    return options.max_consecutive_failures or config.guards.consecutive_failures


def max_time(config: "Config", options: Options) -> float | None:
    """Seconds of the run, in an arena of all its agents; None: no limit."""
    return options.max_time or _number(config.guards.run_time)


def max_cost(config: "Config", options: Options) -> float | None:
    """US dollars of the run, in an arena of all its agents; None: no limit."""
    return options.max_cost or config.guards.max_cost


def max_wait(config: "Config", options: Options) -> float:
    """Seconds to wait for an agent that is held up."""
    return float(config.guards.max_wait) if options.max_wait is None else options.max_wait


def _number(value: str | float | None) -> float | None:
    return None if value is None else float(value)


def resolve_waits(config: "Config", options: Options) -> Waits:
    """How long a run waits for an agent that is held up."""
    return Waits(max_wait(config, options), float(config.guards.first_wait))


def iteration_timeout(config: "Config", options: Options, by_profile: float | None = None) -> float:
    """Return the seconds for one agent turn: by flag, by configuration, `by_profile`, else the default."""
    guards = config.guards
    configured = by_profile if by_profile and "iteration_timeout" not in guards.model_fields_set else None
    return options.iteration_timeout or configured or float(guards.iteration_timeout)


def idle_timeout(config: "Config", options: Options) -> float | None:
    """Seconds of one agent turn without a sign of life; None: as many as it likes."""
    return options.idle_timeout or _number(config.guards.idle_timeout)


def resolve_demand(config: "Config", spec: "Spec", options: Options) -> "Demand":
    """What proven means for this spec."""
    from aigon.job.demand import Demand
    from aigon.spec.document import read_known_failures

    in_place = config.proof.mode == "in-place"
    skip, accept = bool(options.skip_validation), bool(options.accept_passing)
    return Demand(spec.criteria, read_known_failures(spec), skip, in_place, accept)


_SPELLED = {"agents": "--agent", "promises": "--promise"}
"""Options that are not called as their fields are."""


def spell_option(name: str, value: object) -> list[str]:
    """Return the words that give the option `name` its value on a command line."""
    flag = _SPELLED.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    if isinstance(value, tuple):
        return [word for one in value for word in (flag, str(one))]
    return [flag, f"{value:.15g}" if isinstance(value, float) else str(value)]
