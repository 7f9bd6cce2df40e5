"""Every value of the configuration as it holds for a repository, and where it comes from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from aigon.checks.execution import render_command
from aigon.checks.project_checks import DEFAULT_SCRIPT, ProjectChecks, resolve_checks
from aigon.config.loading import (
    PROJECT_FILE,
    get_user_file,
    load_configuration,
    open_work_tree,
    parse_configuration,
    read_user_configuration,
)
from aigon.config.models import Config, JudgeConfig
from aigon.config.values import ConfigValue, KeyPath, convert_to_json, format_key, is_set, list_values, redact_value
from aigon.files.home import state_home
from aigon.files.resources import read_profiles
from aigon.job.options import Options, resolve_limits
from aigon.model.checks import Check

OPTIONS: Mapping[str, KeyPath] = {
    "profile": ("profile",),
    "agents": ("defaultAgent",),
    "max_iterations": ("ralph", "maxIterations"),
    "validation_script": ("ralph", "validationScript"),
    "judge": ("judge", "backend"),
    "sandbox": ("sandbox", "mode"),
    "max_consecutive_failures": ("guards", "consecutiveFailures"),
    "iteration_timeout": ("guards", "iterationTimeout"),
    "idle_timeout": ("guards", "idleTimeout"),
    "max_time": ("guards", "runTime"),
    "max_cost": ("guards", "maxCost"),
    "max_wait": ("guards", "maxWait"),
    "model": ("model",),
}
"""The options of `feature-implement` that a variable may stand for, by the key that they go before.

The model of the agent has no key of its own: each agent has one.
"""
DEFAULT, DETECTED = "default", "detected"
DECIDED = ("command", "role", "parser", "timeout")
"""What a profile decides of each check, be it what is usual."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value under its dotted key. `origin`: a variable's name, a file, `detected` or `default`."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Given:
    """What a variable says, as the option understands it, and the variable's name."""

    value: object
    variable: str


@dataclass(frozen=True, slots=True)
class Sources:
    """The configuration as it holds, each of the two files by itself, and what variables say."""

    merged: Config
    project: Config
    user: Config
    given: Mapping[KeyPath, Given]

    def origin(self, keys: KeyPath) -> str:
        """Where the value under `keys` comes from, as far as variables and files go."""
        if keys in self.given:
            return self.given[keys].variable
        if not is_set(self.merged, keys):
            return DEFAULT
        return PROJECT_FILE if is_set(self.project, keys) or not is_set(self.user, keys) else str(get_user_file())


def values(root: Path, env: Mapping[str, str], given: Mapping[str, Given]) -> tuple[Value, ...]:
    """Everything that holds in the repository at `root`; credentials are left out of it.

    `given` is what variables say, by the option that each stands for. Raises AigonError (exit 2) for what is malformed,
    and where detection is a tie.
    """
    sources = _sources(root, given)
    options = Options("", **{name: each.value for name, each in given.items()})  # type: ignore[arg-type]
    resolve_limits(sources.merged, options)  # a limit that cannot be is refused here as it is by a run
    resolved = resolve_checks(root, sources.merged, None, options, env)
    before = resolve_checks(root, sources.merged.model_copy(update={"checks": {}}), None, options, env)
    found = [*_of_model(root, sources, resolved), *_of_machine(sources, env)]
    return (*found, *_of_checks(sources, resolved, {check.name: check for check in before.checks}))


def _sources(root: Path, given: Mapping[str, Given]) -> Sources:
    read, own = open_work_tree(root), read_user_configuration()
    content = read(PROJECT_FILE)
    by_key = {OPTIONS[name]: each for name, each in given.items()}
    return Sources(
        load_configuration(read),
        parse_configuration([(PROJECT_FILE, content)] if content is not None else []),
        parse_configuration([(str(get_user_file()), own)] if own is not None else []),
        by_key,
    )


def _of_model(root: Path, sources: Sources, resolved: ProjectChecks) -> Iterator[Value]:
    """The keys of the configuration in its own order; those of `checks` are told with what they lead to."""
    for leaf in _leaves(sources):
        if leaf.keys[0] == "checks" or (leaf.keys == ("$schema",) and leaf.value is None):
            continue
        if leaf.keys == ("profile",) and sources.origin(leaf.keys) == DEFAULT:
            yield Value("profile", resolved.profile, f"{DETECTED} ({_file_of(root, resolved.profile)})")
        elif leaf.keys == OPTIONS["iteration_timeout"] and resolved.turn and sources.origin(leaf.keys) == DEFAULT:
            yield Value(format_key(leaf.keys), convert_to_json(resolved.turn), _file_of(root, resolved.profile))
        elif leaf.keys == ("paths",):
            yield from _folders(root, resolved)
        elif leaf.keys == ("ralph", "validationScript") and leaf.value is None and _script(resolved):
            yield Value(format_key(leaf.keys), DEFAULT_SCRIPT, DEFAULT)
        else:
            yield _value(sources, leaf)


def _leaves(sources: Sources) -> Iterator[ConfigValue]:
    config = sources.merged
    if ("judge", "backend") in sources.given and config.judge is None:
        config = config.model_copy(update={"judge": JudgeConfig()})
    for leaf in list_values(config):
        given = sources.given.get(leaf.keys)
        yield ConfigValue(leaf.keys, _said(given), leaf.free) if given else leaf


def _said(given: Given) -> object:
    """One agent is a name; several are what a run would refuse, so they are shown."""
    value = given.value
    return value[0] if isinstance(value, tuple) and len(value) == 1 else convert_to_json(value)


def _value(sources: Sources, leaf: ConfigValue) -> Value:
    return Value(format_key(leaf.keys), redact_value(leaf.keys, leaf.value, leaf.free), sources.origin(leaf.keys))


def _folders(root: Path, resolved: ProjectChecks) -> Iterator[Value]:
    """The projects that were found in folders, where nobody named any."""
    below = {folder: name for folder, name in resolved.folders.items() if folder != "."}
    if not below:
        yield Value("paths", {}, DEFAULT)
    for folder, name in below.items():
        yield Value(format_key(("paths", folder, "profile")), name, f"{DETECTED} ({_file_of(root, name)})")


def _script(resolved: ProjectChecks) -> bool:
    return any(check.source == DEFAULT_SCRIPT for check in resolved.checks)


def _of_machine(sources: Sources, env: Mapping[str, str]) -> Iterator[Value]:
    """What no file says: the model for every agent, and where aigon keeps its records."""
    if model := sources.given.get(("model",)):
        yield Value("model", model.value, model.variable)
    yield Value("stateHome", str(state_home()), "AIGON_STATE_HOME" if env.get("AIGON_STATE_HOME") else DEFAULT)


def _of_checks(sources: Sources, resolved: ProjectChecks, before: Mapping[str, Check]) -> Iterator[Value]:
    """The checks as they run, then what is said about checks that this project does not have."""
    for check in resolved.checks:
        yield from _of_check(sources, check, before.get(check.name))
    there = {check.name for check in resolved.checks}
    for leaf in list_values(sources.merged):
        if (
            leaf.keys[0] == "checks"
            and leaf.keys[1:2]
            and leaf.keys[1] not in there
            and is_set(sources.merged, leaf.keys)
        ):
            yield _value(sources, leaf)


def _of_check(sources: Sources, check: Check, before: Check | None) -> Iterator[Value]:
    """How a check runs: as the project's configuration says, else as its profile does (`before`), else as any does."""
    usual = dict(_settings(Check("", check.role, ())))
    source = before.source.replace("--validation-script", "AIGON_VALIDATION_SCRIPT") if before else DEFAULT
    for below, value in _settings(check):
        keys = ("checks", check.name, *below)
        said = sources.origin(keys)
        if said == DEFAULT and (below[0] in DECIDED or value != usual.get(below)):
            said = source
        yield Value(format_key(keys), redact_value(keys, value, free=len(below) > 1), said)


def _settings(check: Check) -> Iterator[tuple[KeyPath, object]]:
    yield ("command",), render_command(check)
    yield ("role",), check.role
    yield ("parser",), check.parser
    yield ("timeout",), convert_to_json(check.timeout)
    yield ("exclusive",), check.exclusive
    yield ("when",), check.when
    yield ("paths",), list(check.paths)
    yield ("reports",), list(check.reports)
    yield ("cwd",), check.cwd
    # What aigon itself tells one of its own programs is nobody's setting.
    told = {name: value for name, value in check.env.items() if not name.startswith("AIGON_")}
    yield from ((("env", name), value) for name, value in told.items())
    if not told:
        yield ("env",), {}


def _file_of(root: Path, name: str) -> str:
    """The file of a profile: the project's own goes before a shipped one of its name."""
    own = name in read_profiles(root / ".aigon" / "profiles")
    return f".aigon/profiles/{name}.yaml" if own else f"profiles/{name}.yaml"
