"""What must not be written down or handed on: credentials in the environment and in output."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from aigon.secrets.names import holds_secret, is_credential
from aigon.secrets.redaction import BEGUN, GONE, redacted
from aigon.secrets.spellings import spellings
from aigon.secrets.token_shapes import is_stand_in

__all__ = ["for_checks", "is_credential", "redactor", "unfinished", "worth_finding"]

SHORTEST = 8
"""A shorter value is as likely a word of the output as a secret."""
SHORTEST_LINE = 16
"""The same for one line of a value that has several."""
Redact = Callable[[bytes], bytes]


def for_checks(env: Mapping[str, str], allowed: Sequence[str] = ()) -> dict[str, str]:
    """The person's environment for a check: without credentials, but for the names in `allowed`."""
    return {name: value for name, value in env.items() if name in allowed or not is_credential(name)}


def redactor(*environments: Mapping[str, str]) -> Redact:
    """A function that takes known secret values and token shapes out of output, inside base64 too."""
    values = {value for env in environments for value in _values(env)}
    spelled = {each for value in values for each in spellings(value) if len(each) >= SHORTEST}
    longest_first = sorted(spelled, key=len, reverse=True)

    def redact(chunk: bytes) -> bytes:
        for value in longest_first:
            if value in chunk:
                chunk = chunk.replace(value, GONE)
        return redacted(chunk)

    return redact


def _values(env: Mapping[str, str]) -> Iterator[bytes]:
    """The values that credential-shaped variables hold, as they are and as they stand in JSON, and their lines."""
    for name, value in env.items():
        if holds_secret(name) and len(value) >= SHORTEST:
            yield os.fsencode(value)
            yield json.dumps(value)[1:-1].encode()
            if "\n" in value:
                yield from (os.fsencode(line) for line in value.splitlines() if len(line) >= SHORTEST_LINE)


def worth_finding(env: Mapping[str, str]) -> dict[bytes, str]:
    """Values of secret variables that are nothing else wherever they stand, with the names of the variables.

    Also as they stand in base64 and in addresses.
    """
    values = {os.fsencode(value): name for name, value in env.items() if holds_secret(name) and "\n" not in value}
    told = {value: f"${name}" for value, name in values.items() if _telling(value)}
    return {each: name for value, name in told.items() for each in spellings(value) if len(each) >= SHORTEST_LINE}


def _telling(value: bytes) -> bool:
    """Long, of letters and digits, and no stand-in: not `postgres`, not a path."""
    mixed = any(48 <= byte < 58 for byte in value) and any(byte > 64 for byte in value)
    return len(value) >= SHORTEST_LINE and mixed and value[:1] not in (b"/", b"~") and not is_stand_in(value)


def unfinished(output: bytes) -> int:
    """Where a private key begins that has not ended yet; the length of `output` where there is none."""
    last = output.rfind(b"-----BEGIN ")
    begun = BEGUN.match(output, last) if last >= 0 else None
    return last if begun and b"-----END" not in output[begun.end() :] else len(output)
