"""Regular expressions that are compiled when they are first used, and globs of paths: `*`, `**`, `?` and `{a,b}`.

A start compiles no expression that it does not need.
"""

import re
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import Any, AnyStr, cast

from msgspec import Struct


class _LazyPattern:
    """A compiled pattern, as `re.compile` returns it, that is compiled at its first use."""

    def __init__(self, source: Any, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # no pattern has such attributes: copies and debuggers ask
            raise AttributeError(name)
        made = re.compile(*self._given)
        vars(self).update({each: getattr(made, each) for each in dir(made) if not each.startswith("_")})
        return getattr(made, name)


def compile_re(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern, to be used like one of `re.compile`; it raises re.error only when it is used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


_TOKEN = compile_re(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|.", re.DOTALL)
_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@cache
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression that matches a whole relative path with `/`."""
    return re.compile(_regex(pattern), re.DOTALL)


@cache
def compile_globs(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Return what tells whether any of the patterns matches a path."""
    match = re.compile("|".join(map(_regex, dict.fromkeys(patterns))) or "(?!)", re.DOTALL).fullmatch
    return lambda path: match(path) is not None


def is_match(pattern: str, path: str) -> bool:
    """Return whether the pattern matches this path."""
    return _find_needed(pattern).there(path) and compile_glob(pattern).fullmatch(path) is not None


class _Needed(Struct, frozen=True):
    """Text that every matching path contains. Most patterns match no file of a project, and to compile them all would
    take longer than all that a run does with them.
    """

    head: str
    tails: tuple[str, ...]
    within: str

    def there(self, path: str) -> bool:
        return path.startswith(self.head) and path.endswith(self.tails) and self.within in path


@cache
def _find_needed(pattern: str) -> _Needed:
    tokens = _TOKEN.findall(pattern)
    head = "".join(takewhile(_literal, tokens))
    tail = "".join(takewhile(_literal, reversed(tokens)))[::-1]
    runs = "".join(token if _literal(token) else "\0" for token in tokens).split("\0")
    last = "".join(tokens[: len(tokens) - len(tail)][-1:])  # in braces it says what `tail` comes after
    words = last[1:-1].split(",") if last.startswith("{") and not re.search(r"[*?]", last) else [""]
    return _Needed(head, tuple(word + tail for word in words), max(runs, key=len))


def _literal(token: str) -> bool:
    return token not in _GLOB and not (token.startswith("{") and token.endswith("}"))


def is_covered(pattern: str, path: str) -> bool:
    """Return whether a pattern that permits something covers the path: a folder's name covers all that is below it."""
    plain = pattern.removeprefix("./").rstrip("/")
    return path == plain or path.startswith(f"{plain}/") or is_match(plain, path)


def _regex(pattern: str) -> str:
    parts = []
    for token in _TOKEN.findall(pattern):
        if token.startswith("{") and token.endswith("}"):
            parts.append(f"(?:{'|'.join(_regex(each) for each in token[1:-1].split(','))})")
        else:
            parts.append(_GLOB.get(token) or re.escape(token))
    return "".join(parts)
