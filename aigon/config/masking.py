"""What must not be seen of a configuration: values under names of credentials, words behind such options, tokens."""

import re
from collections.abc import Mapping, Sequence

from aigon.config.keys import Keys
from aigon.secrets import environment

HIDDEN = "[redacted]"
_HEADERS = ("AUTHORIZATION", "PROXY_AUTHORIZATION", "COOKIE", "SET_COOKIE")
_OPTION = re.compile(r"--?([A-Za-z][\w-]*)")
_ASSIGNED = re.compile(
    r"(?P<name>(?<!\S)--?[A-Za-z][\w-]*(?=[= ])|\b[A-Za-z_]\w*(?==))(?P<sign>[= ])"
    r"(?P<value>(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|])+)"
)
"""NAME=VALUE, --name=VALUE, --name VALUE in a line for a shell."""
_ADDRESS = re.compile(r"(\w[\w+.-]*://)([^\s/@]*@)?([^\s/?#\"']+)([^\s\"']*)")
_WEBHOOK = "webhook"


def hidden(keys: Keys, value: object, free: bool) -> object:
    """`value` without what is nobody else's. `free` says that the last of `keys` is a name of the person's choice, not
    one of aigon's own: of a variable, a header."""
    if keys[:1] == ("agents",) and keys[2:3] == ("env",) and free:
        return HIDDEN
    if free and keys and _is_secret(keys[-1]) and value not in ("", None, True, False):
        return HIDDEN
    return _without(keys[-1] if keys else "", value)


def _without(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if _is_secret(str(key)) and each else _without(str(key), each) for key, each in value.items()
        }
    if isinstance(value, str):
        return _address(value) if name == _WEBHOOK else _line(value)
    if isinstance(value, Sequence):
        return _words(name, value)
    return value


def _words(name: str, words: Sequence[object]) -> list[object]:
    """The words of a command: what follows an option that takes a credential is one."""
    shown: list[object] = []
    for before, word in zip(("", *words), words, strict=False):
        option = _OPTION.fullmatch(before) if isinstance(before, str) else None
        follows = option is not None and _is_secret(option[1]) and isinstance(word, str) and not word.startswith("-")
        shown.append(HIDDEN if follows else _without(name, word))
    return shown


def _line(text: str) -> str:
    """A text, which may be a command: token shapes, NAME=VALUE, and what an address says before its host."""
    text = environment.redactor()(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    text = _ADDRESS.sub(lambda m: m[0].replace(m[2], f"{HIDDEN}@", 1) if m[2] else m[0], text)
    return _ASSIGNED.sub(_unassigned, text)


def _unassigned(found: "re.Match[str]") -> str:
    """NAME=[redacted] where the name is one of a credential, and what is given is no variable or option."""
    tells = _is_secret(found["name"].lstrip("-")) and not found["value"].startswith(("$", "-"))
    return f"{found['name']}{found['sign']}{HIDDEN}" if tells else found[0]


def _address(text: str) -> str:
    """Whoever knows the whole address of a webhook may post to it."""
    return text if text.startswith("$") else _ADDRESS.sub(rf"\1\3/{HIDDEN}", text)


def _is_secret(name: str) -> bool:
    """`API_KEY`, `apiKey`, `X-Api-Key`, `Authorization`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").upper()
    return plain in _HEADERS or environment.is_credential(plain)
