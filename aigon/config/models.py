"""The sections of `.aigon/config.json` and of a person's own `config.json`.

Flag > AIGON_* > .aigon/config.json > user config > profile > built-in default.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from aigon.config.endpoints import Endpoints, accept_text
from aigon.config.sections import Form, Section
from aigon.model.criteria import MAX_ITERATIONS
from aigon.text import amounts

HookPoint = Literal[
    "before_loop", "before_iteration", "before_agent", "context", "after_agent", "before_checks", "after_checks",
    "after_iteration", "after_loop", "needs_human",
]  # fmt: skip
_DURATION = "a duration such as 90, 90s or 2m"
Duration = Annotated[float, Form(str | float, amounts.parse_duration, _DURATION)]
SHORTEST_LEASE = 2
"""Seconds: a push to a remote takes about one."""


def _accept_word(word: object) -> Callable[[Any], object]:
    """Return a function that reads a duration, or accepts `word` as it is."""
    return lambda value: word if value == word else amounts.parse_duration(value)


def _parse_lease(value: str | float) -> float:
    if (seconds := amounts.parse_duration(value)) < SHORTEST_LEASE:
        raise ValueError(f"a lease lasts at least {SHORTEST_LEASE} seconds")
    return seconds


class Ralph(Section, frozen=True):
    """The loop."""

    enabled: bool = True
    max_iterations: Annotated[int, Meta(ge=1, le=MAX_ITERATIONS)] = 5
    validation_script: str | None = None
    auto_check_criteria: bool = True
    stop_on_first_failure: bool = False
    prove_first: bool = False
    hidden_tests: bool = False


class ProfileOverride(Section, frozen=True):
    """A project's changes to one profile."""

    validation_script: str | None = None


class EscalationStepConfig(Section, frozen=True):
    """One escalation step: for so many turns of a feature (0: all that follow)."""

    turns: Annotated[int, Meta(ge=0)] = 0
    model: str = ""
    effort: str = ""
    digest: Literal["short", "full"] = "short"


class AgentConfig(Section, frozen=True):
    """An agent under a name of the project's own."""

    adapter: str = "command"
    command: list[str] | str = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    model: str = ""
    effort: str = ""
    env: dict[str, str] = field(default_factory=dict)
    recording: str = ""
    ladder: list[EscalationStepConfig] | None = None
    home: list[str] = field(default_factory=list)
    pass_: list[str] = field(default_factory=list, name="pass")


class ProgramConfig(Section, frozen=True):
    """A program of the project that is told of something."""

    command: list[str] | str = field(default_factory=list)
    timeout: Duration = 30.0
    pass_: list[str] = field(default_factory=list, name="pass")


class HookConfig(ProgramConfig, frozen=True):
    """A program that runs at a point of the run. With `veto`, a failing `before_*` hook stops the run."""

    veto: bool = False


class NotifyConfig(ProgramConfig, frozen=True):
    """Whom to tell how a run ended: `on` lists statuses; all if it is empty."""

    on: list[Literal["met", "needs_human", "stopped", "interrupted", "unavailable", "refused"]] = field(
        default_factory=list
    )
    to: str | None = None
    webhook: str | None = None


class JudgeConfig(Section, frozen=True):
    """The judge of criteria that no command can decide. Without a backend the first ready one is used."""

    backend: str | None = None
    model: str = "claude-sonnet-5-5"
    timeout: Duration = 120.0
    max_tokens: Annotated[int, Meta(ge=500, le=20000)] = 8000
    mode: Literal["all", "each"] = "all"
    command: list[str] | str = field(default_factory=list)
    agent: str = ""
    pass_: list[str] = field(default_factory=list, name="pass")


class Proof(Section, frozen=True):
    """Settings of the proof, which runs all checks again. `setup` makes what they need there."""

    mode: Literal["clean-room", "in-place"] = "clean-room"
    home: Literal["throwaway", "real"] = "throwaway"
    isolation: Literal["auto", "bwrap", "namespaces", "landlock", "none"] = "auto"
    setup: str | list[str] | None = None


class Protect(Section, frozen=True):
    """A rule of the project's own on what an agent may change."""

    paths: list[str] | str
    keys: list[str] = field(default_factory=list)
    level: Literal["restore", "review", "note"] = "review"
    part: Literal["tests", "config", "other"] = "other"


class Validation(Section, frozen=True):
    """The role of a validation script: instead of the profile's checks, or in addition to them."""

    mode: Literal["replace", "add"] = "replace"


class CheckOverride(Section, frozen=True):
    """A change to a check of the profile, or a check of the project's own."""

    command: str | list[str] | None = None
    enabled: bool = True
    role: Literal["tests", "build", "lint", "types", "endpoints", "script"] | None = None
    parser: str | None = None
    timeout: Duration | None = None
    exclusive: bool | None = None
    when: Literal["each", "final"] | None = None
    paths: list[str] | None = None
    cwd: str | None = None
    env: dict[str, str] | None = None
    reports: list[str] | None = None
    writes: list[str] | None = None


class PathConfig(Section, frozen=True):
    """A project in a folder of the repository: its profile, which is detected where none is named, and its server."""

    profile: str | None = None
    endpoints: Endpoints | None = None


class Guards(Section, frozen=True):
    """When to stop. Durations as `30m` or seconds; sizes in bytes; money in US dollars."""

    consecutive_failures: Annotated[int, Meta(ge=1)] = 3
    repeated_error: Annotated[int, Meta(ge=0)] = 3
    stall: Annotated[int, Meta(ge=0)] = 4
    iteration_timeout: Duration = 1800.0
    idle_timeout: Duration | None = None
    run_time: Duration | None = None
    max_cost: Annotated[float, Meta(gt=0)] | None = None
    disk_free: Annotated[int, Meta(ge=0)] = 500_000_000
    memory_free: Annotated[int, Meta(ge=0)] = 200_000_000
    by_history: bool = True
    max_wait: Annotated[float, Form(str | float, _accept_word(0.0), _DURATION)] = 21600.0
    first_wait: Duration = 30.0
    allow_unknown_cost: bool = False


class Env(Section, frozen=True):
    """Variables that look like credentials and that agents, checks, hooks and judges may see all the same."""

    pass_: list[str] = field(default_factory=list, name="pass")


class SandboxConfig(Section, frozen=True):
    """Paths that agents may reach beyond the workspace, and whether they have a network."""

    mode: Literal["auto", "bwrap", "namespaces", "landlock", "none"] = "auto"
    write: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    network: Literal["open", "closed"] = "open"
    checks_network: Literal["open", "closed"] = "open"
    checks: Literal["auto", "none"] = "auto"
    allow: dict[str, list[str]] = field(default_factory=dict)


class Secrets(Section, frozen=True):
    """Exceptions for what looks like a secret and may be committed, and other scanners for secrets."""

    allow: list[str] = field(default_factory=list)
    scanner: Literal["auto", "none", "gitleaks", "betterleaks"] = "auto"


class WorktreeConfig(Section, frozen=True):
    """Worktrees that aigon makes: where they are, and what they need apart from the files that git has."""

    root: str | None = None
    copy_: list[str] = field(default_factory=list, name="copy")
    link: list[str] = field(default_factory=list)
    setup: str | list[str] | None = None
    setup_timeout: Duration = 1800.0
    sparse: list[str] = field(default_factory=list)
    port_base: Annotated[int, Meta(ge=1024, le=60000)] = 20000
    ports: Annotated[int, Meta(ge=1, le=1000)] = 20


class ArenaConfig(Section, frozen=True):
    """Several agents on one feature side by side."""

    parallel: Annotated[int, Meta(ge=1)] | None = None
    check_slots: Annotated[int, Meta(ge=1)] | None = None


class KindConfig(Section, frozen=True):
    """The limits of a kind of task, over all runs or within a time, and the annotation that shows success."""

    iterations: Annotated[int, Meta(ge=1, le=MAX_ITERATIONS)] = 5
    per: Annotated[float | Literal["task"], Form(str | float, _accept_word("task"), f"task, or {_DURATION}")] = "task"
    success: Literal["verify", "prints", "metric", "seconds", "check", "checklist"] | None = None


class TasksConfig(ProgramConfig, frozen=True):
    """Whom to tell of each change of a task."""


class ViewsConfig(Section, frozen=True):
    """Files for people and other tools that a run writes only if they are wanted."""

    toon: bool = False


class WatchConfig(Section, frozen=True):
    """Folders whose task files are built as they come. `logs` is a folder for links to the steps of each run."""

    folders: list[str] = field(default_factory=lambda: ["docs/specs/features/02-backlog"])
    normal: bool = False
    untracked: bool = False
    pr: bool = False
    logs: str | None = None


class ApprovalsConfig(Section, frozen=True):
    """The folder of pages on what waits for people."""

    folder: str = ".aigon/approvals"


class FleetConfig(Section, frozen=True):
    """Runs on several machines: where records and leases are on the remote, and how long a lease lasts unrenewed."""

    lease: Annotated[float, Form(str | float, _parse_lease, _DURATION)] = 120.0
    # Python's `$` also matches before a line break at the end.
    ref_prefix: Annotated[str, Meta(pattern=r"^refs/([A-Za-z0-9_-]+/)+$(?!\n)")] = "refs/aigon/"


class EvaluationConfig(Section, frozen=True):
    """Settings for the comparison of an arena's candidates."""

    cross_checks: bool = True
    expected_paths: list[str] = field(default_factory=list)


class Config(Section, frozen=True):
    """The whole of `.aigon/config.json`."""

    schema_: str | None = field(default=None, name="$schema")
    profile: str | None = None
    default_agent: str | None = None
    ralph: Ralph = Ralph()
    profiles: dict[str, ProfileOverride] = field(default_factory=dict)
    agents: dict[str, AgentConfig] = field(default_factory=dict)
    judge: JudgeConfig | None = None
    validation: Validation = Validation()
    paths: dict[str, Annotated[PathConfig, Form(str, accept_text("profile"))]] = field(default_factory=dict)
    checks: dict[str, CheckOverride] = field(default_factory=dict)
    endpoints: Endpoints | None = None
    guards: Guards = Guards()
    env: Env = Env()
    secrets: Secrets = Secrets()
    sandbox: SandboxConfig = SandboxConfig()
    proof: Annotated[Proof, Form(Literal["clean-room", "in-place"], accept_text("mode"))] = Proof()
    protect: list[Protect] = field(default_factory=list)
    ladder: list[EscalationStepConfig] | None = None
    fallback: list[str] = field(default_factory=list)
    hooks: dict[HookPoint, HookConfig] = field(default_factory=dict)
    notify: Annotated[
        list[Annotated[NotifyConfig, Form(str, accept_text("to"))]],
        Form(str | list[Any], lambda value: [value] if isinstance(value, str) else value),
    ] = field(default_factory=list)
    worktree: WorktreeConfig = WorktreeConfig()
    arena: ArenaConfig = ArenaConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    fleet: FleetConfig = FleetConfig()
    kinds: dict[str, KindConfig] = field(default_factory=dict)
    tasks: TasksConfig = TasksConfig()
    views: ViewsConfig = ViewsConfig()
    watch: WatchConfig = WatchConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
