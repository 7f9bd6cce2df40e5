"""Every value of the configuration as it holds for a repository, and its origin, without what must not be shown."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from aigon.config.sections import KeyPath, Section, list_fields, rename_key, write_value
from aigon.files.home import state_home
from aigon.files.resources import read_profiles
from aigon.job.options import LIMITS, Options, resolve_limits
from aigon.model.checks import Check
from aigon.secrets import redaction
from aigon.text.patterns import compile_re

REDACTED = "[redacted]"
_SECRET_HEADERS = ("AUTHORIZATION", "PROXY_AUTHORIZATION", "COOKIE", "SET_COOKIE")
_OPTION = compile_re(r"--?([A-Za-z][\w-]*)")
_ASSIGNMENT = compile_re(
    r"(?P<name>(?<!\S)--?[A-Za-z][\w-]*(?=[= ])|\b[A-Za-z_]\w*(?==))(?P<sign>[= ])"
    r"(?P<value>(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|])+)"
)
"""NAME=VALUE, --name=VALUE or --name VALUE in a line for a shell."""
_ADDRESS = compile_re(r"(\w[\w+.-]*://)([^\s/@]*@)?([^\s/?#\"']+)([^\s\"']*)")
OPTIONS: Mapping[str, KeyPath] = {
    "profile": ("profile",),
    "agents": ("defaultAgent",),
    "validation_script": ("ralph", "validationScript"),
    "judge": ("judge", "backend"),
    "sandbox": ("sandbox", "mode"),
    "model": ("model",),
    **{name: (section, rename_key(key)) for name, (section, key) in LIMITS.items()},
}
"""The options of `feature-implement` that a variable may replace, by the key that they override.

The model of the agent has no key of its own: each agent has one.
"""
DEFAULT, DETECTED = "default", "detected"
DECIDED = ("command", "role", "parser", "timeout")
"""What a profile decides of each check, even if it equals the default."""


class ConfigValue(Struct, frozen=True):
    """A value under its keys. `free`: the last key is a name that the person chose, such as that of a variable."""

    keys: KeyPath
    value: object
    free: bool = False


def list_values(section: Section, at: KeyPath = ()) -> Iterator[ConfigValue]:
    """Yield every value in the order of the fields. Lists and empty objects are values themselves."""
    for key, field in list_fields(type(section)).items():
        yield from _list_below(getattr(section, field.name), (*at, key), free=False)


def _list_below(value: object, at: KeyPath, *, free: bool) -> Iterator[ConfigValue]:
    if isinstance(value, Section):
        yield from list_values(value, at)
    elif isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _list_below(each, (*at, str(key)), free=True)
    else:
        yield ConfigValue(at, convert_to_json(value), free)


def convert_to_json(value: object) -> object:
    """Return a value as it is shown: of an object in a list only what was set, a whole number without its `.0`."""
    if isinstance(value, list | tuple):
        return [convert_to_json(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else write_value(value)


def is_set(document: object, keys: KeyPath) -> bool:
    """Return whether a configuration, as `write_value` writes it, sets the value under `keys`."""
    if not keys:
        return True
    return isinstance(document, Mapping) and keys[0] in document and is_set(document[keys[0]], keys[1:])


def format_key(keys: KeyPath) -> str:
    """Return `ralph.maxIterations`; a key with anything but letters, digits, `_`, `-` and `$` is quoted."""
    return ".".join(key if key.replace("_", "").replace("-", "").lstrip("$").isalnum() else f'"{key}"' for key in keys)


def redact_value(keys: KeyPath, value: object, free: bool) -> object:
    """Return `value` without credentials: those with a telling name, words after such options, and token shapes.

    `free` says that the last key is a name that the person chose, not one of aigon's own.
    """
    if keys[:1] == ("agents",) and keys[2:3] == ("env",) and free:
        return REDACTED
    if free and keys and _is_secret_name(keys[-1]) and value not in ("", None, True, False):
        return REDACTED
    return _redact(keys[-1] if keys else "", value)


def _redact(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {k: REDACTED if _is_secret_name(str(k)) and each else _redact(str(k), each) for k, each in value.items()}
    if isinstance(value, str):
        return _redact_webhook(value) if name in ("webhook", "to") else _redact_line(value)
    if isinstance(value, Sequence):
        return _redact_words(name, value)
    return value


def _redact_words(name: str, words: Sequence[object]) -> list[object]:
    """Redact the words of a command, including the one after an option that takes a credential."""
    redacted: list[object] = []
    for before, word in zip(("", *words), words, strict=False):
        option = _OPTION.fullmatch(before) if isinstance(before, str) else None
        is_secret = option and _is_secret_name(option[1]) and isinstance(word, str) and not word.startswith("-")
        redacted.append(REDACTED if is_secret else _redact(name, word))
    return redacted


def _redact_line(text: str) -> str:
    """Redact a text that may be a command: token shapes, assignments, and what an address has before its host."""
    text = redaction.make_redactor()(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    text = _ADDRESS.sub(lambda m: m[0].replace(m[2], f"{REDACTED}@", 1) if m[2] else m[0], text)
    return _ASSIGNMENT.sub(_redact_assignment, text)


def _redact_assignment(match: "re.Match[str]") -> str:
    """Return NAME=[redacted] if the name is one of a credential and the value is no variable or option."""
    is_secret = _is_secret_name(match["name"].lstrip("-")) and not match["value"].startswith(("$", "-"))
    return f"{match['name']}{match['sign']}{REDACTED}" if is_secret else match[0]


def _redact_webhook(text: str) -> str:
    """Keep what is before the host, and of http the host: the whole address is all that it takes to post there."""
    scheme, is_address, _ = text.partition("://")
    if not is_address or text.startswith("$"):
        return text
    return _ADDRESS.sub(rf"\1\3/{REDACTED}", text) if scheme.startswith("http") else f"{scheme}://{REDACTED}"


def _is_secret_name(name: str) -> bool:
    """Return whether a name is one of a credential: `API_KEY`, `apiKey`, `X-Api-Key`, `Authorization`."""
    upper = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").upper()
    return upper in _SECRET_HEADERS or redaction.is_credential(upper)


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


def list_configuration(root: Path, env: Mapping[str, str], given: Mapping[str, Given]) -> tuple[Value, ...]:
    """Return everything that holds in the repository at `root`, without credentials.

    `given` is what variables say, by the option that each replaces. Raises AigonError (exit 2) for what is malformed,
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
