"""Options that a person gave, and the limits that follow from them and from the configuration."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from aigon.errors import usage
from aigon.model.criteria import MAX_ITERATIONS

if TYPE_CHECKING:  # the help of a verb needs the options, and not what reads the configuration
    from aigon.config.models import Config
    from aigon.job.assessment import Demand
    from aigon.job.escalation import AgentStep
    from aigon.journal.events import RecordedStep
    from aigon.model.criteria import Spec

Source = Literal["environment", "run", "spec", "mode", "kind"]
"""What gives an option its value if no flag does: a variable, the run that is resumed, or the spec, for itself or by
its mode or kind."""


class Options(Struct, frozen=True):
    """The options of `feature-implement` and of the verbs that share some of them. Times in seconds, money in USD.

    `parallel` and `first_proven` are about several agents. `arena` is the folder that their loops share, "" for a loop
    of its own; `time_left` is what is left of `max_time` in an arena. `line_up`, `judge_model` and `judge_agent` have
    no flag: a resume takes them from its run. `sources` says which values no flag gave, and where they come from
    instead.
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
    allow_visible: bool = False
    yes: bool = False
    sandbox: Literal["auto", "bwrap", "namespaces", "landlock", "none"] | None = None
    parallel: int | None = None
    first_proven: bool = False
    arena: str = ""
    time_left: float | None = None
    line_up: "tuple[RecordedStep, ...]" = ()
    judge_model: str | None = None
    judge_agent: str | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)

    def is_flag(self, name: str) -> bool:
        """Return whether a flag of this command line gave the option its value."""
        return name not in self.sources and getattr(self, name) != DEFAULTS[name]


DEFAULTS: Mapping[str, Any] = dict(zip(Options.__struct_fields__[1:], Options.__struct_defaults__, strict=True))

LIMITS: Mapping[str, tuple[str, str]] = {
    "max_iterations": ("ralph", "max_iterations"),
    "max_cost": ("guards", "max_cost"),
    "max_time": ("guards", "run_time"),
    "iteration_timeout": ("guards", "iteration_timeout"),
    "idle_timeout": ("guards", "idle_timeout"),
    "max_wait": ("guards", "max_wait"),
    "max_consecutive_failures": ("guards", "consecutive_failures"),
}
"""The options that limit a run, with the section and the key of the configuration that each goes before."""


def get_limit(config: "Config", options: Options, name: str) -> Any:
    """Return the limit called `name` in LIMITS: a count, seconds or US dollars; None if nothing limits it."""
    section, key = LIMITS[name]
    own = getattr(options, name)
    return getattr(getattr(config, section), key) if own is None else own


class Limits(Struct, frozen=True):
    """When a run stops. Counts per invocation; seconds; bytes; US dollars. 0 turns `repeated_error` and `stall` off.

    With `by_history` a run also stops before a turn if too little is left for one like those of this run so far.
    `all_used` is said when the iterations are used up, if the kind of task counts them over runs.
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
    all_used: str = ""


class Waits(Struct, frozen=True):
    """Seconds: `longest` for all waiting in one turn, `first` for the first wait of unknown length, then doubled."""

    longest: float = 21600.0
    first: float = 30.0


def resolve_limits(config: "Config", options: Options, steps: "tuple[AgentStep, ...]" = ()) -> Limits:
    """Return when this run stops, given the escalation steps. Raises AigonError (exit 2) beyond 1 to 20 iterations."""
    wanted = get_limit(config, options, "max_iterations")
    if not 1 <= wanted <= MAX_ITERATIONS:
        why = f"; a run takes at most {MAX_ITERATIONS}, so that a person looks before more is spent"
        raise usage(
            f"The iteration limit is {wanted}{why if wanted > MAX_ITERATIONS else ''}",
            where="--max-iterations or AIGON_MAX_ITERATIONS",
            hint=f"Give 1 to {MAX_ITERATIONS}. --resume continues a run that reached its limit, with as many again",
        )
    failures = get_limit(config, options, "max_consecutive_failures")
    if failures < 1:
        where = "--max-consecutive-failures"
        raise usage("0 consecutive failures would stop before the start", where=where, hint="Give 1 or more")
    guards = config.guards
    single = not (options.loop or options.resume)
    return Limits(
        iterations=1 if single else wanted,
        consecutive_failures=failures,
        repeated_error=guards.repeated_error,
        stall=guards.stall,
        run_time=get_limit(config, options, "max_time") if options.time_left is None else options.time_left,
        max_cost=get_limit(config, options, "max_cost"),
        disk_free=guards.disk_free,
        memory_free=guards.memory_free,
        by_history=guards.by_history,
        single=single,
        ladder=steps,
        allow_unknown_cost=guards.allow_unknown_cost,
    )


def resolve_waits(config: "Config", options: Options) -> Waits:
    """Return how long a run waits for an agent that cannot work now."""
    return Waits(get_limit(config, options, "max_wait"), float(config.guards.first_wait))


def resolve_turn_timeout(config: "Config", options: Options, by_profile: float | None = None) -> float:
    """Return the seconds for one agent turn: by flag, by configuration, `by_profile`, else the default."""
    chosen = options.iteration_timeout is not None or "iteration_timeout" in config.guards.given
    return by_profile if by_profile and not chosen else float(get_limit(config, options, "iteration_timeout"))


def resolve_demand(config: "Config", spec: "Spec", options: Options) -> "Demand":
    """Return what proven means for this spec."""
    from aigon.job.assessment import Demand
    from aigon.spec.document import read_known_failures

    return Demand(
        spec.criteria,
        read_known_failures(spec),
        skip_validation=bool(options.skip_validation),
        in_place=config.proof.mode == "in-place",
        accept_passing=bool(options.accept_passing),
    )


def spell_option(name: str, value: object) -> list[str]:
    """Return the words that give the option `name` its value on a command line."""
    flag = {"agents": "--agent", "promises": "--promise"}.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    if isinstance(value, tuple):
        return [word for one in value for word in (flag, str(one))]
    return [flag, f"{value:.15g}" if isinstance(value, float) else str(value)]
