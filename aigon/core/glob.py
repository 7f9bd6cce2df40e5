"""Patterns of paths: `*`, `**`, `?` and `{a,b}`, as profiles and rules write them."""

import re
from functools import cache

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|.", re.DOTALL)
_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression that matches a whole path, given with `/` and relative, where `pattern` does."""
    return re.compile(_regex(pattern), re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether `pattern` means this path."""
    return compiled(pattern).fullmatch(path) is not None


def covers(pattern: str, path: str) -> bool:
    """The same for patterns that people write to permit something: a folder's name covers all that is below it."""
    plain = pattern.removeprefix("./").rstrip("/")
    return path == plain or path.startswith(f"{plain}/") or matches(plain, path)


def _regex(pattern: str) -> str:
    return "".join(_token(token) for token in _TOKEN.findall(pattern))


def _token(token: str) -> str:
    if token in _GLOB:
        return _GLOB[token]
    if token.startswith("{") and token.endswith("}"):
        return f"(?:{'|'.join(_regex(each) for each in token[1:-1].split(','))})"
    return re.escape(token)
