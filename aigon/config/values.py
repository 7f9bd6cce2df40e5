"""A configuration as single values under dotted keys, without what must not be shown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from aigon.secrets import redaction

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A value under its keys. `free`: the last key is a name of the person's choice, of a variable for one."""

    keys: KeyPath
    value: object
    free: bool = False


def list_values(section: BaseModel, at: KeyPath = ()) -> Iterator[ConfigValue]:
    """Every value in the order of the model. Lists and what is empty are values themselves."""
    for name, field in type(section).model_fields.items():
        yield from _list_below(getattr(section, name), (*at, field.alias or name), free=False)


def _list_below(value: object, at: KeyPath, *, free: bool) -> Iterator[ConfigValue]:
    if isinstance(value, BaseModel):
        yield from list_values(value, at)
    elif isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _list_below(each, (*at, str(key)), free=True)
    else:
        yield ConfigValue(at, convert_to_json(value), free)


def convert_to_json(value: object) -> object:
    """A value as JSON has it; of the objects in a list what they say."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list | tuple):
        return [convert_to_json(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_set(section: object, keys: KeyPath) -> bool:
    """Whether a configuration says something about the value under `keys`, whatever it says."""
    here: Any = section
    for key in keys:
        if isinstance(here, BaseModel):
            names = {field.alias or name: name for name, field in type(here).model_fields.items()}
            if names.get(key) not in here.model_fields_set:
                return False
            here = getattr(here, names[key])
        elif isinstance(here, Mapping) and key in here:
            here = here[key]
        else:
            return False
    return True


def format_key(keys: KeyPath) -> str:
    """`ralph.maxIterations`; a key that has something else than letters, digits, `_`, `-` or `$` in it is quoted."""
    return ".".join(key if key.replace("_", "").replace("-", "").lstrip("$").isalnum() else f'"{key}"' for key in keys)


REDACTED = "[redacted]"
_HEADERS = ("AUTHORIZATION", "PROXY_AUTHORIZATION", "COOKIE", "SET_COOKIE")
_OPTION = re.compile(r"--?([A-Za-z][\w-]*)")
_ASSIGNED = re.compile(
    r"(?P<name>(?<!\S)--?[A-Za-z][\w-]*(?=[= ])|\b[A-Za-z_]\w*(?==))(?P<sign>[= ])"
    r"(?P<value>(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|])+)"
)
"""NAME=VALUE, --name=VALUE, --name VALUE in a line for a shell."""
_ADDRESS = re.compile(r"(\w[\w+.-]*://)([^\s/@]*@)?([^\s/?#\"']+)([^\s\"']*)")
_WEBHOOK = "webhook"


def redact_value(keys: KeyPath, value: object, free: bool) -> object:
    """`value` without what is nobody else's. `free` says that the last of `keys` is a name of the person's choice, not
    one of aigon's own: of a variable, a header."""
    if keys[:1] == ("agents",) and keys[2:3] == ("env",) and free:
        return REDACTED
    if free and keys and _is_secret_name(keys[-1]) and value not in ("", None, True, False):
        return REDACTED
    return _redact(keys[-1] if keys else "", value)


def _redact(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: REDACTED if _is_secret_name(str(key)) and each else _redact(str(key), each)
            for key, each in value.items()
        }
    if isinstance(value, str):
        return _redact_address(value) if name == _WEBHOOK else _redact_line(value)
    if isinstance(value, Sequence):
        return _redact_words(name, value)
    return value


def _redact_words(name: str, words: Sequence[object]) -> list[object]:
    """The words of a command: what follows an option that takes a credential is one."""
    shown: list[object] = []
    for before, word in zip(("", *words), words, strict=False):
        option = _OPTION.fullmatch(before) if isinstance(before, str) else None
        follows = (
            option is not None and _is_secret_name(option[1]) and isinstance(word, str) and not word.startswith("-")
        )
        shown.append(REDACTED if follows else _redact(name, word))
    return shown


def _redact_line(text: str) -> str:
    """A text, which may be a command: token shapes, NAME=VALUE, and what an address says before its host."""
    text = redaction.make_redactor()(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    text = _ADDRESS.sub(lambda m: m[0].replace(m[2], f"{REDACTED}@", 1) if m[2] else m[0], text)
    return _ASSIGNED.sub(_redact_assignment, text)


def _redact_assignment(found: "re.Match[str]") -> str:
    """NAME=[redacted] where the name is one of a credential, and what is given is no variable or option."""
    tells = _is_secret_name(found["name"].lstrip("-")) and not found["value"].startswith(("$", "-"))
    return f"{found['name']}{found['sign']}{REDACTED}" if tells else found[0]


def _redact_address(text: str) -> str:
    """Whoever knows the whole address of a webhook may post to it."""
    return text if text.startswith("$") else _ADDRESS.sub(rf"\1\3/{REDACTED}", text)


def _is_secret_name(name: str) -> bool:
    """`API_KEY`, `apiKey`, `X-Api-Key`, `Authorization`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").upper()
    return plain in _HEADERS or redaction.is_credential(plain)
