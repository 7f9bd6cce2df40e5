"""Decide which environment variables an agent sees, and whether a file holds a usable login."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from aigon.model.agent_types import AgentType, Credentials
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret, is_credential

API_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Of the API of Anthropic; the key goes before the token, as in its SDK."""
_OFF = ("", "0", "false", "no", "off")
_MODEL = "model:"
_SHOWN = 8
LARGEST_LOGIN = 1024 * 1024
"""Bytes of such a file that are looked into."""
_EXPIRES = ("expiresAt", "expires_at", "expiry_date", "expires")
_REFRESHES = ("refreshToken", "refresh_token", "refresh")


def has_api_key(env: Mapping[str, str]) -> bool:
    """Whether a key of Anthropic's API is set. One is a person's word that the API may be paid."""
    return any(env.get(key, "").strip() for key in API_KEYS)


def filter_environment(env: Mapping[str, str], agent: Agent, kind: AgentType) -> dict[str, str]:
    """`env` without what is kept from this agent. What `agents.NAME.env` sets is not in it."""
    kept = frozenset(list_withheld(env, agent, kind))
    return {name: value for name, value in env.items() if name not in kept}


def list_withheld(env: Mapping[str, str], agent: Agent, kind: AgentType) -> tuple[str, ...]:
    """Return the names of the variables that are kept from this agent, those that hold secrets first."""
    known = (*_own_globs(kind.credentials, {**env, **agent.env}, agent.model),)
    kept = [name for name in env if is_credential(name) and name not in agent.passed and not _matches_any(known, name)]
    return tuple(sorted(kept, key=lambda name: (not holds_secret(name), name)))


def _own_globs(own: Credentials, env: Mapping[str, str], model: str) -> Iterator[str]:
    """Globs on the names of what is this agent's own, as things are switched on."""
    yield from own.env
    yield from own.more
    for when, names in own.when.items():
        if when.startswith(_MODEL):
            switched = fnmatchcase(model, when.removeprefix(_MODEL))
        else:
            switched = env.get(when, "").strip().lower() not in _OFF
        if switched:
            yield from (when, *names)


def _matches_any(globs: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, each) for each in globs)


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence: the first few, and how many more."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def is_login_empty(name: str, content: bytes | None) -> bool:
    """Whether a file of this name holds no login: nothing, an empty document, or no JSON where only logins are kept.

    Settings, which may hold a key as well, may have comments that JSON does not know. Of a file that cannot be read
    (None) nothing is known.
    """
    if content is None:
        return False
    if not name.endswith(".json"):
        return not content.strip()
    try:
        return not json.loads(content)
    except (ValueError, RecursionError):
        base = name.rpartition("/")[2]
        return not content.strip() or "auth" in base or "cred" in base


def is_login_expired(content: bytes, now: float) -> bool:
    """Whether every token that says when it expires has expired by `now`, and none can be renewed without a person."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    found = [(one, when) for one in _objects(document) if (when := _find_expiry(one)) is not None]
    return bool(found) and all(when < now and not any(one.get(key) for key in _REFRESHES) for one, when in found)


def _objects(document: object) -> Iterator[Mapping[str, Any]]:
    """Yield the document, and the objects that it names."""
    if isinstance(document, dict):
        yield document
        yield from (value for value in document.values() if isinstance(value, dict))


def _find_expiry(one: Mapping[str, Any]) -> float | None:
    """In seconds since the epoch, of a number of seconds or of milliseconds."""
    value = next((one[key] for key in _EXPIRES if isinstance(one.get(key), int | float)), None)
    return None if value is None else value / 1000 if value > 1e11 else float(value)
