"""The configuration: what `.aigon/config.json` and a person's own `config.json` may say, checked strictly.

Flag > AIGON_* > .aigon/config.json > user config > profile > built-in default. An unknown key is an error that names
the file, the key and the nearest known key. pydantic does the checking; this module is imported where it is needed.
"""

import difflib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from aigon.config.endpoints import Endpoints
from aigon.errors import AigonError, usage
from aigon.text import amounts
from aigon.text.amounts import MIB, size_error
from aigon.text.quoting import clip

MAX_CONFIG_BYTES = MIB
"""Bytes of a configuration: a thousand requests of endpoints, the most there may be, have half of it."""
MAX_SHOWN_CHARS = 200
"""Characters of a wrong value that a message shows."""
MAX_ITERATIONS = 20
"""Never above, whatever the configuration says (docs/design/contracts.md, Defaults)."""


def _parse_duration(value: str | float) -> float:
    return amounts.parse_duration(value)


def _expand_path(value: object) -> object:
    """`"frontend": "web"` is short for `"frontend": {"profile": "web"}`."""
    return {"profile": value} if isinstance(value, str) else value


def _expand_proof(value: object) -> object:
    """`"proof": "in-place"` is short for `"proof": {"mode": "in-place"}`."""
    return {"mode": value} if isinstance(value, str) else value


HookPoint = Literal[
    "before_loop", "before_iteration", "before_agent", "context", "after_agent", "before_checks", "after_checks",
    "after_iteration", "after_loop", "needs_human",
]  # fmt: skip
Duration = Annotated[str | float, AfterValidator(_parse_duration)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class Ralph(_Section):
    """The loop."""

    enabled: bool = True
    max_iterations: int = Field(default=5, ge=1, le=MAX_ITERATIONS)
    validation_script: str | None = None
    auto_check_criteria: bool = True
    stop_on_first_failure: bool = False


class ProfileOverride(_Section):
    """What a project changes in one profile."""

    validation_script: str | None = None


class EscalationStepConfig(_Section):
    """One step of the escalation ladder: for so many turns of a feature (0: all that follow)."""

    turns: int = Field(default=0, ge=0, description="Turns of the feature that it lasts for; 0: for all that follow")
    model: str = Field(default="", description="The model that is asked for; the agent's own where it is empty")
    effort: str = Field(default="", description="How hard the model is asked to think")
    digest: Literal["short", "full"] = Field(default="short", description="How much the agent is told of what is wrong")


class AgentConfig(_Section):
    """An agent under a name of the project's own."""

    adapter: str = "command"
    command: list[str] | str = Field(default_factory=list)
    args: list[str] = Field(default_factory=list)
    model: str = ""
    effort: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    recording: str = ""
    ladder: list[EscalationStepConfig] | None = None
    home: list[str] = Field(
        default_factory=list, description="Files and folders of its own, which a sandbox lets it write"
    )
    pass_: list[str] = Field(
        default_factory=list, alias="pass", description="Variables that it sees although they look like credentials"
    )


class HookConfig(_Section):
    """A program that is told of a moment of the run; with `veto`, one of `before_*` that fails stops the run."""

    command: list[str] | str = Field(default_factory=list)
    timeout: Duration = 30.0
    veto: bool = False
    pass_: list[str] = Field(
        default_factory=list, alias="pass", description="Variables that it sees although they look like credentials"
    )


class NotifyConfig(_Section):
    """Who is told how a run ended: `on` lists statuses (all, where it is empty)."""

    on: list[Literal["met", "needs_human", "stopped", "interrupted", "unavailable", "refused"]] = Field(
        default_factory=list
    )
    webhook: str | None = None
    command: list[str] | str = Field(default_factory=list)
    timeout: Duration = 30.0
    pass_: list[str] = Field(
        default_factory=list, alias="pass", description="Variables that it sees although they look like credentials"
    )


class JudgeConfig(_Section):
    """Who decides what no command can. Without a backend the first one that is ready is taken."""

    backend: str | None = None
    model: str = "claude-sonnet-5-5"
    timeout: Duration = 120.0
    max_tokens: int = Field(default=8000, ge=500, le=20000)
    mode: Literal["all", "each"] = "all"
    command: list[str] | str = Field(default_factory=list)
    agent: str = ""
    pass_: list[str] = Field(
        default_factory=list, alias="pass", description="Variables that it sees although they look like credentials"
    )


class Proof(_Section):
    """How everything is run once more before a run may end as proven. `setup` makes what the checks need there."""

    mode: Literal["clean-room", "in-place"] = "clean-room"
    home: Literal["throwaway", "real"] = "throwaway"
    isolation: Literal["auto", "bwrap", "namespaces", "landlock", "none"] = "auto"
    setup: str | list[str] | None = None


class Protect(_Section):
    """A rule of the project's own on what an agent may change."""

    paths: list[str] | str
    keys: list[str] = Field(default_factory=list)
    level: Literal["restore", "review", "note"] = "review"
    part: Literal["tests", "config", "other"] = "other"


class Validation(_Section):
    """Whether a validation script stands in for the profile's checks or runs beside them."""

    mode: Literal["replace", "add"] = "replace"


class CheckOverride(_Section):
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


class PathConfig(_Section):
    """A project in a folder of the repository: its profile, which is detected where none is named, and its server."""

    profile: str | None = Field(default=None, description="Its profile; detected where none is named")
    endpoints: Endpoints | None = Field(default=None, description="Its server, and what that has to answer")


class Guards(_Section):
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


class Env(_Section):
    """Which credential-shaped variables agents, checks, hooks and judges may see all the same."""

    pass_: list[str] = Field(default_factory=list, alias="pass")


class SandboxConfig(_Section):
    """What agents may reach beside the workspace, and whether there is a network."""

    mode: Literal["auto", "bwrap", "landlock", "none"] = Field(
        default="auto", description="How agents are kept in; the first that works here with `auto`"
    )
    write: list[str] = Field(
        default_factory=list, description="More paths that agents may write; `~/`, `$NAME`, or from the main checkout"
    )
    read: list[str] = Field(default_factory=list, description="More paths that agents may read, likewise")
    network: Literal["open", "closed"] = Field(default="open", description="The network of agents")
    checks_network: Literal["open", "closed"] = Field(
        default="open", description="The network of checks in the clean room; closed leaves loopback"
    )


class Secrets(_Section):
    """What looks like a secret and may be committed all the same, and who else looks for secrets."""

    allow: list[str] = Field(default_factory=list)
    scanner: Literal["auto", "none", "gitleaks", "betterleaks"] = "auto"


class WorktreeConfig(_Section):
    """Worktrees that aigon makes: where they are, and what they need beside the files that git has."""

    root: str | None = Field(
        default=None,
        description="The folder they are made in; relative to the main checkout. Default: ../<repo>-worktrees",
    )
    copy_: list[str] = Field(
        default_factory=list,
        alias="copy",
        description="Ignored files of the main checkout that each gets a copy of; globs",
    )
    link: list[str] = Field(
        default_factory=list, description="Ignored files and folders of the main checkout that each gets a link to"
    )
    setup: str | list[str] | None = Field(
        default=None, description="The command that makes a new worktree ready, such as npm ci"
    )
    setup_timeout: Duration = Field(default=1800.0, description="The longest that the set-up may take")
    sparse: list[str] = Field(
        default_factory=list,
        description="Folders that are checked out of a large repository (a cone); all, where empty",
    )
    port_base: int = Field(
        default=20000,
        ge=1024,
        le=60000,
        description="The first port; a worktree's AIGON_PORT_BASE is this and its slot times `ports`",
    )
    ports: int = Field(default=20, ge=1, le=1000, description="Ports from one slot to the next")


class ArenaConfig(_Section):
    """Several agents on one feature side by side."""

    parallel: int | None = Field(default=None, ge=1, description="Loops at a time; as many as memory and cores allow")
    check_slots: int | None = Field(default=None, ge=1, description="Checks at a time over all loops; one per core")


class EvaluationConfig(_Section):
    """How the candidates of an arena are compared."""

    cross_checks: bool = Field(default=True, description="Run each candidate's new tests against the others (advisory)")
    expected_paths: list[str] = Field(
        default_factory=list, description="Where changes are expected; globs. Others are counted as outside"
    )


class Config(_Section):
    """The whole of `.aigon/config.json`."""

    schema_: str | None = Field(default=None, alias="$schema")
    profile: str | None = None
    default_agent: str | None = None
    ralph: Ralph = Ralph()
    profiles: dict[str, ProfileOverride] = Field(default_factory=dict)
    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    judge: JudgeConfig | None = None
    validation: Validation = Validation()
    paths: dict[str, Annotated[PathConfig, BeforeValidator(_expand_path, json_schema_input_type=PathConfig | str)]] = (
        Field(default_factory=dict)
    )
    checks: dict[str, CheckOverride] = Field(default_factory=dict)
    endpoints: Endpoints | None = Field(default=None, description="The root's server, and what that has to answer")
    guards: Guards = Guards()
    env: Env = Env()
    secrets: Secrets = Secrets()
    sandbox: SandboxConfig = SandboxConfig()
    proof: Annotated[
        Proof, BeforeValidator(_expand_proof, json_schema_input_type=Proof | Literal["clean-room", "in-place"])
    ] = Proof()
    protect: list[Protect] = Field(default_factory=list)
    ladder: list[EscalationStepConfig] | None = None
    fallback: list[str] = Field(default_factory=list)
    hooks: dict[HookPoint, HookConfig] = Field(default_factory=dict)
    notify: list[NotifyConfig] = Field(default_factory=list)
    worktree: WorktreeConfig = WorktreeConfig()
    arena: ArenaConfig = ArenaConfig()
    evaluation: EvaluationConfig = EvaluationConfig()


def parse_configuration(sources: Sequence[tuple[str, bytes]]) -> Config:
    """One configuration from files in rising precedence, each as (name for messages, content).

    Raises AigonError (exit 2) for bad JSON, unknown keys and bad values, naming file, key and the nearest known key.
    """
    merged: dict[str, Any] = {}
    for name, content in sources:
        document = _parse_document(name, content)
        _validate(name, document)
        merged = _merge(merged, document)
    return _validate(" + ".join(name for name, _ in sources), merged)


def _parse_document(name: str, content: bytes) -> dict[str, Any]:
    if len(content) > MAX_CONFIG_BYTES:
        hint = "Keep in it what aigon reads; documents of an API have files of their own"
        raise size_error("The configuration", len(content), MAX_CONFIG_BYTES, where=name, hint=hint)
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(text, object_pairs_hook=_refuse_duplicate_keys, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise usage("The configuration is not UTF-8", where=name, hint="Save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        what, line, column = _describe_json_error(error)
        verb = "Remove it from" if what.startswith(_TOO_MUCH) else "Fix"
        where, hint = f"{name}:{line}:{column}", f"{verb} line {line}"
        raise usage(f"The configuration is not valid JSON: {what}", where=where, hint=hint) from None
    except RecursionError:
        raise usage("The configuration is nested too deeply", where=name, hint="It has a few levels only") from None
    except ValueError as error:  # a number of thousands of digits, NaN, a key that stands twice
        raise usage(f"The configuration is not valid JSON: {error}", where=name, hint="Fix that value") from None
    if not isinstance(document, dict):
        raise usage("The configuration is not a JSON object", where=name, hint="It starts with { and ends with }")
    return document


_JSON_ERRORS = {
    "Expecting ',' delimiter": "a comma is missing before this",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Expecting property name enclosed in double quotes": "a key has to be in double quotes",
    "Expecting value": "a value is missing or is not in double quotes",
    "Extra data": "something follows the end of the object",
    "Unterminated string starting at": "a text that begins here has no closing double quote",
    "Invalid control character at": "a text goes over the end of its line",
}


_TOO_MUCH = ("there is a comma", "there is a comment")


def _describe_json_error(error: json.JSONDecodeError) -> tuple[str, int, int]:
    """Return what is wrong in words, with its line and column, counted from 1."""
    before, rest = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    at = len(error.doc) - len(rest)
    what = _JSON_ERRORS.get(error.msg, error.msg)
    if rest.startswith(("//", "/*", "#")):
        what = "there is a comment, which JSON does not allow"
    elif rest.startswith(",") and rest[1:].lstrip()[:1] in ("}", "]"):
        what = f"there is a comma too many before `{rest[1:].lstrip()[:1]}`"
    elif before.endswith(",") and rest[:1] in ("}", "]"):
        what, at = f"there is a comma too many before `{rest[:1]}`", len(before) - 1
    return what, error.doc.count("\n", 0, at) + 1, at - error.doc.rfind("\n", 0, at)


def _refuse_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """JSON takes the last of two equal keys without a word, so that half of what was written would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        (twice, _), *_rest = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """`high` over `low`, objects key by key, everything else whole."""
    both = {k: _merge(low[k], v) for k, v in high.items() if isinstance(v, dict) and isinstance(low.get(k), dict)}
    return {**low, **high, **both}


def _validate(name: str, document: Mapping[str, Any]) -> Config:
    try:
        return Config.model_validate(document)
    except ValidationError as error:
        raise _describe_validation_error(name, error.errors()[0], document) from None


def _describe_validation_error(name: str, error: Any, document: Mapping[str, Any]) -> AigonError:
    path = _trace_keys(error["loc"], document)
    key = ".".join(path)
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(path[-1], _list_known_keys(path[:-1]), n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known here: {', '.join(_list_known_keys(path[:-1]))}"
        return usage(f"Unknown configuration key '{key}'", where=name, hint=hint)
    if error["type"] == "missing":
        return usage(f"'{key}' needs the key '{error['loc'][-1]}'", where=name, hint="Add it, or remove the section")
    value = clip(json.dumps(_get_value(document, path), default=str), MAX_SHOWN_CHARS)
    said = error["msg"].removeprefix("Value error, ").replace("a valid dictionary", "an object")
    return usage(f"Bad value for '{key}': {said}", where=name, hint=f"It is {value}")


def _trace_keys(place: Sequence[str | int], document: Any) -> list[str]:
    """The keys on the way to an error: what pydantic says of the place, less its words for the types it tried."""
    path: list[str] = []
    for part in place:
        named = isinstance(document, dict) and part in document
        if named or (isinstance(document, list) and isinstance(part, int)):
            path.append(str(part))
            document = document[part]
    return path


def _list_known_keys(path: Sequence[str]) -> list[str]:
    """The keys that the section at `path` may have."""
    schema: dict[str, Any] = Config.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    for part in path:
        inside = schema.get("properties", {}).get(part) or schema.get("additionalProperties") or schema.get("items")
        schema = _resolve_schema(inside or {}, definitions)
    return sorted(schema.get("properties", {}))


def _resolve_schema(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    for option in schema.get("anyOf", [schema]):
        if "items" in option:
            return dict(option)
        if "$ref" in option:
            return dict(definitions[option["$ref"].rsplit("/", 1)[-1]])
    return dict(schema)


def _get_value(document: Any, path: Sequence[str]) -> Any:
    for part in path:
        document = document[part] if isinstance(document, dict) else document[int(part)]
    return document
