"""Comments and strings told from code, in many languages, in time that grows only with the text.

Not pygments: some of its lexers look to the end of the text at every unclosed comment, so an agent could make them
run for minutes, and they let an apostrophe in JSX text swallow the lines after it. Here a string that does not end on
its line ends with it, and every pattern that may look far consumes what it looked at.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal

from aigon.proof.integrity._languages import LONGEST, Family, extension, family

Kind = Literal["comment", "string"]

_QUOTED = r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_REGEX = (
    r"(?:(?<=[=(,:;!&|?{}\[\n])|(?<=[=(,:;!&|?{}\[] )|(?<=return ))/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/"
)
_PATTERNS: dict[Family, str] = {
    "python": rf"(?P<string>(?P<q>\"\"\"|''')(?:\\.|[^\\])*?(?:(?P=q)|\Z)|{_QUOTED})|(?P<comment>\#[^\n]*)",
    "c": rf"(?P<string>{_QUOTED}|`(?:\\.|[^`\\])*`?|{_REGEX})|(?P<comment>//[^\n]*|{_BLOCK})",
    "hash": rf"(?P<string>{_QUOTED})|(?P<comment>(?<!\S)\#[^\n]*)",
    "dash": rf"(?P<string>{_QUOTED})|(?P<comment>--[^\n]*|{_BLOCK})",
    "markup": r"(?P<string>(?!))|(?P<comment><!--.*?(?:-->|\Z))",
    "text": r"(?P<string>(?!))|(?P<comment>(?!))",
}
_RUST = rf"(?P<string>\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\\n])')|(?P<comment>//[^\n]*|{_BLOCK})"
_PHP = rf"(?P<string>{_QUOTED})|(?P<comment>//[^\n]*|\#(?!\[)[^\n]*|{_BLOCK})"


@lru_cache(maxsize=256)
def pieces(text: str, path: str) -> tuple[tuple[Kind, int, int], ...]:
    """The comments and strings of a text: kind, where it begins, where it ends."""
    found = _pattern(path).finditer(text[:LONGEST])
    return tuple(("comment" if m["comment"] is not None else "string", *m.span()) for m in found)


def without_comments(text: str, path: str) -> str:
    """The text with blanks for its comments; every line and column stays where it was."""
    return _blanked(text, path, ("comment",))


def bare(text: str, path: str) -> str:
    """The text with blanks for its comments and strings."""
    return _blanked(text, path, ("comment", "string"))


def comments(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Line (from 1) and text of each line of each comment."""
    for kind, start, end in pieces(text, path):
        if kind == "comment":
            first = line_at(text, start)
            yield from enumerate(text[start:end].split("\n"), first)


def line_at(text: str, offset: int) -> int:
    """The number of the line, from 1, that a character is on."""
    return bisect_right(_starts(text), offset)


def line_of(text: str, number: int) -> str:
    """One line without its indentation; "" where there is none."""
    starts = _starts(text)
    if not 1 <= number <= len(starts):
        return ""
    end = starts[number] if number < len(starts) else len(text)
    return text[starts[number - 1] : end].strip()


@lru_cache(maxsize=64)
def _starts(text: str) -> tuple[int, ...]:
    return (0, *(m.end() for m in re.finditer("\n", text)))


def _blanked(text: str, path: str, kinds: tuple[Kind, ...]) -> str:
    parts, at = [], 0
    for kind, start, end in pieces(text, path):
        if kind in kinds:
            parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
            at = end
    return "".join([*parts, text[at:LONGEST]])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _pattern(path: str) -> re.Pattern[str]:
    special = {"rs": _RUST, "php": _PHP}.get(extension(path))
    return _compiled(special or _PATTERNS[family(path)])
