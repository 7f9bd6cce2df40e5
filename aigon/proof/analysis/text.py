"""Comments and strings told from code, in many languages, in time that grows only with the text.

Not pygments: some of its lexers look to the end of the text at every unclosed comment, so an agent could make them
run for minutes, and they let an apostrophe in JSX text swallow the lines after it. Here a string that does not end on
its line ends with it, and every pattern that may look far consumes what it looked at.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache

from aigon.proof.analysis.languages import LONGEST, extension, family

_QUOTED = r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_REGEX = (
    r"(?:(?<=[=(,:;!&|?{}\[\n])|(?<=[=(,:;!&|?{}\[] )|(?<=return ))/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/"
)
_PATTERNS = {
    "python": rf"(?P<string>(?P<q>\"\"\"|''')(?:\\.|[^\\])*?(?:(?P=q)|\Z)|{_QUOTED})|(?P<comment>\#[^\n]*)",
    "c": rf"(?P<string>{_QUOTED}|`(?:\\.|[^`\\])*`?|{_REGEX})|(?P<comment>//[^\n]*|{_BLOCK})",
    "hash": rf"(?P<string>{_QUOTED})|(?P<comment>(?<!\S)\#[^\n]*)",
    "dash": rf"(?P<string>{_QUOTED})|(?P<comment>--[^\n]*|{_BLOCK})",
    "markup": r"(?P<string>(?!))|(?P<comment><!--.*?(?:-->|\Z))",
    "text": r"(?P<string>(?!))|(?P<comment>(?!))",
    "rs": rf"(?P<string>\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\\n])')|(?P<comment>//[^\n]*|{_BLOCK})",
    "php": rf"(?P<string>{_QUOTED})|(?P<comment>//[^\n]*|\#(?!\[)[^\n]*|{_BLOCK})",
}
"""By family, and by extension for languages that differ from theirs."""


def without_comments(text: str, path: str) -> str:
    """Return the text with blanks for its comments. Every line and column stays where it was."""
    return _blank(text, path, strings=False)


def bare(text: str, path: str) -> str:
    """Return the text with blanks for its comments and strings."""
    return _blank(text, path, strings=True)


def comments(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield line (from 1) and text of each line of each comment."""
    for is_comment, start, end in _pieces(text, path):
        if is_comment:
            yield from enumerate(text[start:end].split("\n"), line_at(text, start))


def line_at(text: str, offset: int) -> int:
    """Return the number of the line, from 1, that a character is on."""
    return bisect_right(_starts(text), offset)


def line_of(text: str, number: int) -> str:
    """Return one line without its indentation; "" if there is no such line."""
    starts = _starts(text)
    if not 1 <= number <= len(starts):
        return ""
    end = starts[number] if number < len(starts) else len(text)
    return text[starts[number - 1] : end].strip()


@lru_cache(maxsize=64)
def _starts(text: str) -> tuple[int, ...]:
    return (0, *(m.end() for m in re.finditer("\n", text)))


@lru_cache(maxsize=256)
def _pieces(text: str, path: str) -> tuple[tuple[bool, int, int], ...]:
    """Return the comments and strings of a text: whether it is a comment, where it begins, where it ends."""
    end = extension(path)
    found = _compile(end if end in ("rs", "php") else family(path)).finditer(text[:LONGEST])
    return tuple((m["comment"] is not None, *m.span()) for m in found)


@cache
def _compile(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name], re.DOTALL)


def _blank(text: str, path: str, *, strings: bool) -> str:
    parts, at = [], 0
    for is_comment, start, end in _pieces(text, path):
        if is_comment or strings:
            parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
            at = end
    return "".join([*parts, text[at:LONGEST]])
