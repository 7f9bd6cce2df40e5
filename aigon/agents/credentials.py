"""Decide which environment variables an agent sees, and whether a file holds a usable login."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from aigon.model.agents import AgentType
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret, is_credential

API_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Of the API of Anthropic; the key goes before the token, as in its SDK."""
_OFF = ("", "0", "false", "no", "off")
_MODEL = "model:"
_SHOWN = 8
LARGEST_LOGIN = 1024 * 1024
"""Bytes of a file with a login that are read."""
_EXPIRES = ("expiresAt", "expires_at", "expiry_date", "expires")
_REFRESHES = ("refreshToken", "refresh_token", "refresh")


def has_api_key(env: Mapping[str, str]) -> bool:
    """Return whether a key of Anthropic's API is set. One is a person's word that the API may be paid."""
    return any(env.get(key, "").strip() for key in API_KEYS)


def filter_environment(env: Mapping[str, str], agent: Agent, kind: AgentType) -> dict[str, str]:
    """Return `env` without what is kept from this agent. What `agents.NAME.env` sets is not in it."""
    kept = frozenset(list_withheld(env, agent, kind))
    return {name: value for name, value in env.items() if name not in kept}


def list_withheld(env: Mapping[str, str], agent: Agent, kind: AgentType) -> tuple[str, ...]:
    """Return the names of the variables that are kept from this agent, those that hold secrets first."""
    own = tuple(_iterate_own_globs(kind, {**env, **agent.env}, agent.model))
    kept = [name for name in env if is_credential(name) and name not in agent.passed]
    kept = [name for name in kept if not any(fnmatchcase(name, glob) for glob in own)]
    return tuple(sorted(kept, key=lambda name: (not holds_secret(name), name)))


def list_withheld_secrets(env: Mapping[str, str], agent: Agent, kind: AgentType) -> tuple[str, ...]:
    """Return the names of the variables that hold secrets and are kept from this agent."""
    return tuple(filter(holds_secret, list_withheld(env, agent, kind)))


def describe_withheld(agent: Agent, names: Sequence[str]) -> str:
    """Say which variables are kept from an agent, and what lets one through."""
    return f"kept from it: {join_names(names)} (agents.{agent.name}.pass lets one through)"


def _iterate_own_globs(kind: AgentType, env: Mapping[str, str], model: str) -> Iterator[str]:
    """Yield globs on the names of what is this agent's own, as things are switched on."""
    yield from (*kind.credentials.env, *kind.credentials.more)
    for when, names in kind.credentials.when.items():
        if when.startswith(_MODEL):
            switched = fnmatchcase(model, when.removeprefix(_MODEL))
        else:
            switched = env.get(when, "").strip().lower() not in _OFF
        if switched:
            yield from (when, *names)


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence: the first few, and how many more."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def is_login_empty(name: str, content: bytes | None) -> bool:
    """Return whether a file of this name holds no login: nothing, an empty document, or no JSON in a file for logins.

    Settings, which may hold a key as well, may have comments that JSON does not know. Nothing is known of a file that
    cannot be read (None).
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
    """Return whether every token with an expiry has expired by `now`, and none can be renewed without a person.

    Tokens are in the document or in the objects that it names; times are in seconds or in milliseconds.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(document, dict):
        return False
    expiring = False
    for token in (document, *(value for value in document.values() if isinstance(value, dict))):
        expires = next((token[key] for key in _EXPIRES if isinstance(token.get(key), int | float)), None)
        if expires is not None:
            expiring = True
            seconds = expires / 1000 if expires > 1e11 else expires
            if seconds >= now or any(token.get(key) for key in _REFRESHES):
                return False
    return expiring
