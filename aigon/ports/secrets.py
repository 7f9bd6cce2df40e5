"""What must not be written down or handed on: credentials in the environment and in output."""

import re
from collections.abc import Callable, Mapping, Sequence

_CREDENTIAL = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(?:_|$)", re.I
)
_PROVIDER = re.compile(
    r"^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_API|MISTRAL|OPENROUTER|CLAUDE|CODEX|AWS|AZURE|GH|GITHUB)_", re.I
)
_HARMLESS = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY"})
_SHAPES = re.compile(
    rb"sk-(?:ant-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    rb"|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*"
)
SHORTEST = 8
"""A shorter value is as likely a word of the output as a secret."""


def is_credential(name: str) -> bool:
    """Whether a variable of this name looks like a credential or belongs to a model or cloud provider."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name) or _PROVIDER.match(name))


def for_checks(env: Mapping[str, str], allowed: Sequence[str] = ()) -> dict[str, str]:
    """The person's environment for a check: without credentials, but for the names in `allowed`."""
    return {name: value for name, value in env.items() if name in allowed or not is_credential(name)}


def redactor(env: Mapping[str, str]) -> Callable[[bytes], bytes]:
    """A function that takes known secret values and token shapes out of output."""
    values = {v for k, v in env.items() if _CREDENTIAL.search(k) and k not in _HARMLESS and len(v) >= SHORTEST}
    known = (
        re.compile(b"|".join(re.escape(v.encode()) for v in sorted(values, key=len, reverse=True))) if values else None
    )

    def redact(chunk: bytes) -> bytes:
        if known:
            chunk = known.sub(b"[redacted]", chunk)
        return _SHAPES.sub(b"[redacted]", chunk)

    return redact
