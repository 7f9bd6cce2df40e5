"""Which variables hold credentials, or belong to a provider, by their names alone."""

import re

_CREDENTIAL = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS|PWD|CREDENTIALS?|AUTH)(?:_|$)|PASSWORD|PASSWD|PASSPHRASE", re.I
)
_PROVIDER = re.compile(
    r"^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_(?:API|GENAI|CLOUD|VERTEX|GEMINI)|VERTEX(?:AI)?|MISTRAL|OPENROUTER|CLAUDE|CODEX"
    r"|COPILOT|CURSOR|DASHSCOPE|DEEPSEEK|AWS|AZURE|GH|GITHUB)_",
    re.I,
)
_HARMLESS = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "PWD", "OLDPWD"})


def holds_secret(name: str) -> bool:
    """Whether what a variable of this name holds is a secret."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name))


def is_credential(name: str) -> bool:
    """Whether a variable of this name looks like a credential or belongs to a model or cloud provider."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name) or _PROVIDER.match(name))
