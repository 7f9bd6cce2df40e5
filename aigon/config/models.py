"""The sections of `.aigon/config.json` and of a person's own `config.json`, which pydantic checks.

Flag > AIGON_* > .aigon/config.json > user config > profile > built-in default. Importing pydantic takes long, so this
module is imported where it is needed.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from aigon.config.endpoints import Endpoints, Section, accept_text
from aigon.model.criteria import MAX_ITERATIONS
from aigon.text import amounts

HookPoint = Literal[
    "before_loop", "before_iteration", "before_agent", "context", "after_agent", "before_checks", "after_checks",
    "after_iteration", "after_loop", "needs_human",
]  # fmt: skip
Duration = Annotated[str | float, AfterValidator(amounts.parse_duration)]
SHORTEST_LEASE = 2
"""Seconds: a push to a remote takes about one."""
PassedVariables = Annotated[list[str], Field(alias="pass")]


class Ralph(Section):
    """The loop."""

    enabled: bool = True
    max_iterations: int = Field(default=5, ge=1, le=MAX_ITERATIONS)
    validation_script: str | None = None
    auto_check_criteria: bool = True
    stop_on_first_failure: bool = False
    prove_first: bool = False
    hidden_tests: bool = False


class ProfileOverride(Section):
    """What a project changes in one profile."""

    validation_script: str | None = None


class EscalationStepConfig(Section):
    """One escalation step: for so many turns of a feature (0: all that follow)."""

    turns: int = Field(default=0, ge=0)
    model: str = ""
    effort: str = ""
    digest: Literal["short", "full"] = "short"


class AgentConfig(Section):
    """An agent under a name of the project's own."""

    adapter: str = "command"
    command: list[str] | str = Field(default_factory=list)
    args: list[str] = Field(default_factory=list)
    model: str = ""
    effort: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    recording: str = ""
    ladder: list[EscalationStepConfig] | None = None
    home: list[str] = Field(default_factory=list)
    pass_: PassedVariables = Field(default_factory=list)


class HookConfig(Section):
    """A program that runs at a point of the run. With `veto`, a failing `before_*` hook stops the run."""

    command: list[str] | str = Field(default_factory=list)
    timeout: Duration = 30.0
    veto: bool = False
    pass_: PassedVariables = Field(default_factory=list)


class NotifyConfig(Section):
    """Whom to tell how a run ended: `on` lists statuses; all if it is empty."""

    on: list[Literal["met", "needs_human", "stopped", "interrupted", "unavailable", "refused"]] = Field(
        default_factory=list
    )
    to: str | None = None
    webhook: str | None = None
    command: list[str] | str = Field(default_factory=list)
    timeout: Duration = 30.0
    pass_: PassedVariables = Field(default_factory=list)


class JudgeConfig(Section):
    """Who decides what no command can. Without a backend the first ready one is used."""

    backend: str | None = None
    model: str = "claude-sonnet-5-5"
    timeout: Duration = 120.0
    max_tokens: int = Field(default=8000, ge=500, le=20000)
    mode: Literal["all", "each"] = "all"
    command: list[str] | str = Field(default_factory=list)
    agent: str = ""
    pass_: PassedVariables = Field(default_factory=list)


class Proof(Section):
    """How the proof runs all checks again. `setup` makes what they need there."""

    mode: Literal["clean-room", "in-place"] = "clean-room"
    home: Literal["throwaway", "real"] = "throwaway"
    isolation: Literal["auto", "bwrap", "namespaces", "landlock", "none"] = "auto"
    setup: str | list[str] | None = None


class Protect(Section):
    """A rule of the project's own on what an agent may change."""

    paths: list[str] | str
    keys: list[str] = Field(default_factory=list)
    level: Literal["restore", "review", "note"] = "review"
    part: Literal["tests", "config", "other"] = "other"


class Validation(Section):
    """Whether a validation script stands in for the profile's checks or runs beside them."""

    mode: Literal["replace", "add"] = "replace"


class CheckOverride(Section):
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


class PathConfig(Section):
    """A project in a folder of the repository: its profile, which is detected where none is named, and its server."""

    profile: str | None = None
    endpoints: Endpoints | None = None


class Guards(Section):
    """When to stop. Durations as `30m` or seconds; sizes in bytes; money in US dollars."""

    consecutive_failures: int = Field(default=3, ge=1)
    repeated_error: int = Field(default=3, ge=0)
    stall: int = Field(default=4, ge=0)
    iteration_timeout: Duration = 1800.0
    idle_timeout: Duration | None = None
    run_time: Duration | None = None
    max_cost: float | None = Field(default=None, gt=0)
    disk_free: int = Field(default=500_000_000, ge=0)
    memory_free: int = Field(default=200_000_000, ge=0)
    by_history: bool = True
    max_wait: Duration | Literal[0] = 21600.0
    first_wait: Duration = 30.0
    allow_unknown_cost: bool = False


class Env(Section):
    """Variables that look like credentials and that agents, checks, hooks and judges may see all the same."""

    pass_: list[str] = Field(default_factory=list, alias="pass")


class SandboxConfig(Section):
    """What agents may reach beside the workspace, and whether there is a network."""

    mode: Literal["auto", "bwrap", "namespaces", "landlock", "none"] = "auto"
    write: list[str] = Field(default_factory=list)
    read: list[str] = Field(default_factory=list)
    network: Literal["open", "closed"] = "open"
    checks_network: Literal["open", "closed"] = "open"
    checks: Literal["auto", "none"] = "auto"
    allow: dict[str, list[str]] = Field(default_factory=dict)


class Secrets(Section):
    """What looks like a secret and may be committed all the same, and who else looks for secrets."""

    allow: list[str] = Field(default_factory=list)
    scanner: Literal["auto", "none", "gitleaks", "betterleaks"] = "auto"


class WorktreeConfig(Section):
    """Worktrees that aigon makes: where they are, and what they need beside the files that git has."""

    root: str | None = None
    copy_: list[str] = Field(default_factory=list, alias="copy")
    link: list[str] = Field(default_factory=list)
    setup: str | list[str] | None = None
    setup_timeout: Duration = 1800.0
    sparse: list[str] = Field(default_factory=list)
    port_base: int = Field(default=20000, ge=1024, le=60000)
    ports: int = Field(default=20, ge=1, le=1000)


class ArenaConfig(Section):
    """Several agents on one feature side by side."""

    parallel: int | None = Field(default=None, ge=1)
    check_slots: int | None = Field(default=None, ge=1)


class KindConfig(Section):
    """The limits of a kind of task, over all runs or within a time, and the annotation that shows success."""

    iterations: int = Field(default=5, ge=1, le=MAX_ITERATIONS)
    per: Duration | Literal["task"] = "task"
    success: Literal["verify", "prints", "metric", "seconds", "check", "checklist"] | None = None


class TasksConfig(Section):
    """Whom to tell of each change of a task."""

    command: list[str] | str = Field(default_factory=list)
    timeout: Duration = 30.0
    pass_: PassedVariables = Field(default_factory=list)


class ViewsConfig(Section):
    """Files for people and other tools that a run writes only if they are wanted."""

    toon: bool = False


class WatchConfig(Section):
    """Folders whose task files are built as they come. `logs` is a folder for links to the steps of each run."""

    folders: list[str] = Field(default_factory=lambda: ["docs/specs/features/02-backlog"])
    normal: bool = False
    untracked: bool = False
    pr: bool = False
    logs: str | None = None


class ApprovalsConfig(Section):
    """Where the pages of what waits for people are."""

    folder: str = ".aigon/approvals"


def _require_lease(seconds: float) -> float:
    if seconds < SHORTEST_LEASE:
        raise ValueError(f"a lease lasts at least {SHORTEST_LEASE} seconds")
    return seconds


class FleetConfig(Section):
    """Runs on several machines: where records and leases are on the remote, and how long a lease lasts unrenewed."""

    lease: Annotated[Duration, AfterValidator(_require_lease)] = 120.0
    ref_prefix: str = Field(default="refs/aigon/", pattern=r"^refs/([A-Za-z0-9_-]+/)+$")


class EvaluationConfig(Section):
    """How the candidates of an arena are compared."""

    cross_checks: bool = True
    expected_paths: list[str] = Field(default_factory=list)


class Config(Section):
    """The whole of `.aigon/config.json`."""

    schema_: str | None = Field(default=None, alias="$schema")
    profile: str | None = None
    default_agent: str | None = None
    ralph: Ralph = Ralph()
    profiles: dict[str, ProfileOverride] = Field(default_factory=dict)
    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    judge: JudgeConfig | None = None
    validation: Validation = Validation()
    paths: dict[
        str, Annotated[PathConfig, BeforeValidator(accept_text("profile"), json_schema_input_type=PathConfig | str)]
    ] = Field(default_factory=dict)
    checks: dict[str, CheckOverride] = Field(default_factory=dict)
    endpoints: Endpoints | None = None
    guards: Guards = Guards()
    env: Env = Env()
    secrets: Secrets = Secrets()
    sandbox: SandboxConfig = SandboxConfig()
    proof: Annotated[
        Proof, BeforeValidator(accept_text("mode"), json_schema_input_type=Proof | Literal["clean-room", "in-place"])
    ] = Proof()
    protect: list[Protect] = Field(default_factory=list)
    ladder: list[EscalationStepConfig] | None = None
    fallback: list[str] = Field(default_factory=list)
    hooks: dict[HookPoint, HookConfig] = Field(default_factory=dict)
    notify: Annotated[
        list[Annotated[NotifyConfig, BeforeValidator(accept_text("to"))]],
        BeforeValidator(
            lambda value: [value] if isinstance(value, str) else value,
            json_schema_input_type=list[NotifyConfig | str] | str,
        ),
    ] = Field(default_factory=list)
    worktree: WorktreeConfig = WorktreeConfig()
    arena: ArenaConfig = ArenaConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    fleet: FleetConfig = FleetConfig()
    kinds: dict[str, KindConfig] = Field(default_factory=dict)
    tasks: TasksConfig = TasksConfig()
    views: ViewsConfig = ViewsConfig()
    watch: WatchConfig = WatchConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
