"""Files in which programs keep a login: whether one can be in there. Nothing of what they hold is ever shown."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

LARGEST = 1024 * 1024
"""Bytes of such a file that are looked into."""
_EXPIRES = ("expiresAt", "expires_at", "expiry_date", "expires")
_REFRESHES = ("refreshToken", "refresh_token", "refresh")


def is_empty(name: str, content: bytes | None) -> bool:
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


def is_expired(content: bytes, now: float) -> bool:
    """Whether every token that says when it expires has expired by `now`, and none can be renewed without a person."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    found = [(one, when) for one in _objects(document) if (when := _expiry(one)) is not None]
    return bool(found) and all(when < now and not any(one.get(key) for key in _REFRESHES) for one, when in found)


def _objects(document: object) -> Iterator[Mapping[str, Any]]:
    """The document, and the objects that it names."""
    if isinstance(document, dict):
        yield document
        yield from (value for value in document.values() if isinstance(value, dict))


def _expiry(one: Mapping[str, Any]) -> float | None:
    """In seconds since the epoch, of a number of seconds or of milliseconds."""
    value = next((one[key] for key in _EXPIRES if isinstance(one.get(key), int | float)), None)
    return None if value is None else value / 1000 if value > 1e11 else float(value)
