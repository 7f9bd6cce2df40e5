"""A configuration as single values under dotted keys, without what must not be shown."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from aigon.config.sections import KeyPath, Section, list_fields, write_value
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
