"""What must not be written down or handed on: credentials in the environment and in output."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

_CREDENTIAL = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS|PWD|CREDENTIALS?|AUTH)(?:_|$)|PASSWORD|PASSWD|PASSPHRASE", re.I
)
_PROVIDER = re.compile(
    r"^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_API|MISTRAL|OPENROUTER|CLAUDE|CODEX|AWS|AZURE|GH|GITHUB)_", re.I
)
_HARMLESS = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "PWD"})
_SHAPES = re.compile(
    rb"(?<![A-Za-z0-9])(?:sk-(?:ant-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    rb"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35})"
)
"""Token shapes that providers document."""
_BEGUN = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY = re.compile(_BEGUN.pattern + rb"(?:\s*[A-Za-z-]+: [^\n]*)*[A-Za-z0-9+/=\\\s]*")
"""A private key with its headers, up to the line that ends it."""
SHORTEST = 8
"""A shorter value is as likely a word of the output as a secret."""
SHORTEST_LINE = 16
"""The same for one line of a value that has several."""


def is_credential(name: str) -> bool:
    """Whether a variable of this name looks like a credential or belongs to a model or cloud provider."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name) or _PROVIDER.match(name))


def for_checks(env: Mapping[str, str], allowed: Sequence[str] = ()) -> dict[str, str]:
    """The person's environment for a check: without credentials, but for the names in `allowed`."""
    return {name: value for name, value in env.items() if name in allowed or not is_credential(name)}


def redactor(*environments: Mapping[str, str]) -> Callable[[bytes], bytes]:
    """A function that takes known secret values and token shapes out of output."""
    values = {value for env in environments for value in _values(env)}
    longest_first = sorted(map(re.escape, values), key=len, reverse=True)
    known = re.compile(b"|".join(longest_first)) if values else None

    def redact(chunk: bytes) -> bytes:
        if known:
            chunk = known.sub(b"[redacted]", chunk)
        return _SHAPES.sub(b"[redacted]", _KEY.sub(b"[redacted]", chunk))

    return redact


def _values(env: Mapping[str, str]) -> Iterator[bytes]:
    """The values that credential-shaped variables hold, as they are and as they stand in JSON, and their lines."""
    for name, value in env.items():
        if _CREDENTIAL.search(name) and name not in _HARMLESS and len(value) >= SHORTEST:
            yield os.fsencode(value)
            yield json.dumps(value)[1:-1].encode()
            if "\n" in value:
                yield from (os.fsencode(line) for line in value.splitlines() if len(line) >= SHORTEST_LINE)


def unfinished(output: bytes) -> int:
    """Where a private key begins that has not ended yet; the length of `output` where there is none."""
    last = output.rfind(b"-----BEGIN ")
    begun = _BEGUN.match(output, last) if last >= 0 else None
    return last if begun and b"-----END" not in output[begun.end() :] else len(output)
