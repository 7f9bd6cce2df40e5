"""Every value of the configuration as it holds for a repository, and where it comes from."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

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
from aigon.config.sections import KeyPath, rename_key, write_value
from aigon.config.values import ConfigValue, convert_to_json, format_key, is_set, list_values, redact_value
from aigon.files.home import state_home
from aigon.files.resources import read_profiles
from aigon.job.options import LIMITS, Options, resolve_limits
from aigon.model.checks import Check

OPTIONS: Mapping[str, KeyPath] = {
    "profile": ("profile",),
    "agents": ("defaultAgent",),
    "validation_script": ("ralph", "validationScript"),
    "judge": ("judge", "backend"),
    "sandbox": ("sandbox", "mode"),
    "model": ("model",),
    **{name: (section, rename_key(key)) for name, (section, key) in LIMITS.items()},
}
"""The options of `feature-implement` that a variable may stand for, by the key that they go before.

The model of the agent has no key of its own: each agent has one.
"""
DEFAULT, DETECTED = "default", "detected"
DECIDED = ("command", "role", "parser", "timeout")
"""What a profile decides of each check, even if it equals the default."""


class Value(Struct, frozen=True):
    """A value under its dotted key. `origin`: a variable's name, a file, `detected` or `default`."""

    key: str
    value: object
    origin: str


class Given(Struct, frozen=True):
    """The value of a variable, as the option understands it, and the variable's name."""

    value: object
    variable: str


class Sources(Struct, frozen=True):
    """Values that the files set, together and each by itself, as `write_value` writes it, and those of variables."""

    root: Path
    merged: object
    project: object
    user: object
    given: Mapping[KeyPath, Given]

    def find_origin(self, keys: KeyPath) -> str:
        """Return where the value under `keys` comes from, as far as variables and files go."""
        if keys in self.given:
            return self.given[keys].variable
        if not is_set(self.merged, keys):
            return DEFAULT
        return PROJECT_FILE if is_set(self.project, keys) or not is_set(self.user, keys) else str(get_user_file())

    def make_value(self, leaf: ConfigValue) -> Value:
        return Value(format_key(leaf.keys), redact_value(leaf.keys, leaf.value, leaf.free), self.find_origin(leaf.keys))

    def find_profile_file(self, name: str) -> str:
        """Return the file of a profile: the project's own goes before a shipped one of its name."""
        own = name in read_profiles(self.root / ".aigon" / "profiles")
        return f".aigon/profiles/{name}.yaml" if own else f"profiles/{name}.yaml"


def values(root: Path, env: Mapping[str, str], given: Mapping[str, Given]) -> tuple[Value, ...]:
    """Return everything that holds in the repository at `root`, without credentials.

    `given` is what variables say, by the option that each stands for. Raises AigonError (exit 2) for what is malformed,
    and if several profiles fit equally.
    """
    read, own = open_work_tree(root), read_user_configuration()
    content = read(PROJECT_FILE)
    config = load_configuration(read)
    sources = Sources(
        root,
        write_value(config),
        write_value(parse_configuration([(PROJECT_FILE, content)] if content is not None else [])),
        write_value(parse_configuration([(str(get_user_file()), own)] if own is not None else [])),
        {OPTIONS[name]: each for name, each in given.items()},
    )
    options = Options("", **{name: each.value for name, each in given.items()})  # type: ignore[arg-type]
    resolve_limits(config, options)  # an impossible limit is refused here as it is by a run
    resolved = resolve_checks(root, config, None, options, env)
    plain = resolve_checks(root, config.update(checks={}), None, options, env)
    by_profile = {check.name: check for check in plain.checks}
    listed = [*_list_settings(sources, config, resolved)]
    if model := sources.given.get(("model",)):
        listed.append(Value("model", model.value, model.variable))
    home = "AIGON_STATE_HOME" if env.get("AIGON_STATE_HOME") else DEFAULT
    listed.append(Value("stateHome", str(state_home()), home))
    for check in resolved.checks:
        listed += _list_check_settings(sources, check, by_profile.get(check.name))
    names = {check.name for check in resolved.checks}
    for leaf in list_values(config):  # what is said about checks that this project does not have
        if (
            leaf.keys[0] == "checks"
            and leaf.keys[1:]
            and leaf.keys[1] not in names
            and is_set(sources.merged, leaf.keys)
        ):
            listed.append(sources.make_value(leaf))
    return tuple(listed)


def _list_settings(sources: Sources, config: Config, resolved: ProjectChecks) -> Iterator[Value]:
    """Yield the keys of the configuration in its own order, without those of `checks`."""
    if ("judge", "backend") in sources.given and config.judge is None:
        config = config.update(judge=JudgeConfig())
    file = sources.find_profile_file(resolved.profile)
    has_script = any(check.source == DEFAULT_SCRIPT for check in resolved.checks)
    for leaf in list_values(config):
        key, is_default = format_key(leaf.keys), sources.find_origin(leaf.keys) == DEFAULT
        if leaf.keys[0] == "checks" or (leaf.keys == ("$schema",) and leaf.value is None):
            continue
        if leaf.keys in sources.given:
            value = sources.given[leaf.keys].value
            if isinstance(value, tuple) and len(value) == 1:  # one agent is a name; a run would refuse several
                (value,) = value
            yield sources.make_value(ConfigValue(leaf.keys, convert_to_json(value), leaf.free))
        elif leaf.keys == ("profile",) and is_default:
            yield Value("profile", resolved.profile, f"{DETECTED} ({file})")
        elif leaf.keys == OPTIONS["iteration_timeout"] and resolved.turn and is_default:
            yield Value(key, convert_to_json(resolved.turn), file)
        elif leaf.keys == ("paths",):
            yield from _list_folders(sources, resolved)
        elif key == "ralph.validationScript" and leaf.value is None and has_script:
            yield Value(key, DEFAULT_SCRIPT, DEFAULT)
        else:
            yield sources.make_value(leaf)


def _list_folders(sources: Sources, resolved: ProjectChecks) -> Iterator[Value]:
    """Yield the projects that were found in folders if none are configured."""
    below = {folder: name for folder, name in resolved.folders.items() if folder != "."}
    if not below:
        yield Value("paths", {}, DEFAULT)
    for folder, name in below.items():
        origin = f"{DETECTED} ({sources.find_profile_file(name)})"
        yield Value(format_key(("paths", folder, "profile")), name, origin)


def _list_check_settings(sources: Sources, check: Check, by_profile: Check | None) -> Iterator[Value]:
    """Yield how a check runs: by the project's configuration, else by its profile, else as any check does."""
    usual = dict(_list_settings_of(Check("", check.role, ())))
    source = DEFAULT
    if by_profile:
        source = by_profile.source.replace("--validation-script", "AIGON_VALIDATION_SCRIPT")
    for below, value in _list_settings_of(check):
        keys = ("checks", check.name, *below)
        origin = sources.find_origin(keys)
        if origin == DEFAULT and (below[0] in DECIDED or value != usual.get(below)):
            origin = source
        yield Value(format_key(keys), redact_value(keys, value, free=len(below) > 1), origin)


def _list_settings_of(check: Check) -> Iterator[tuple[KeyPath, object]]:
    yield ("command",), render_command(check)
    for name in ("role", "parser", "timeout", "exclusive", "when", "paths", "reports", "cwd"):
        yield (name,), convert_to_json(getattr(check, name))
    # What aigon itself tells one of its own programs is nobody's setting.
    own = {name: value for name, value in check.env.items() if not name.startswith("AIGON_")}
    yield from ((("env", name), value) for name, value in own.items())
    if not own:
        yield ("env",), {}
