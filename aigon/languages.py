"""Languages of files: by their path, and comments and strings told from code.

They are told by the language's grammar, by patterns for languages without a grammar here. Not by pygments: some of its
lexers look to the end of the text at every unclosed comment, so an agent could make them run for minutes, and they let
an apostrophe in JSX text swallow the lines after it. In the patterns a string that does not end on its line ends with
it, and each that may look far consumes what it looked at: time grows only with the text.
"""

import base64
import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import accumulate
from typing import Literal

from aigon.syntax import Source, parse
from aigon.text.patterns import compile_re

Family = Literal["python", "c", "hash", "dash", "markup", "text"]
"""How comments and strings are written: `#` and triple quotes, `//` and `/* */`, `#`, `--`, `<!-- -->`, not at all."""

LONGEST = 300_000
"""Characters of a text that are read. A longer source file is a concern of its own (executables)."""
_QUOTED = r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
_BLOCK = r"/\*.*?(?:\*/|\Z)|^\#[ \t]*if 0\b.*?(?:^\#[ \t]*endif\b|\Z)"
_PATTERNS = {
    "python": rf"(?P<string>(?P<q>\"\"\"|''')(?:\\.|[^\\])*?(?:(?P=q)|\Z)|{_QUOTED})|(?P<comment>\#[^\n]*)",
    "c": rf"(?P<string>{_QUOTED}|`(?:\\.|[^`\\])*`?)|(?P<comment>//[^\n]*|{_BLOCK})",
    "hash": rf"(?P<string>{_QUOTED})|(?P<comment>(?<!\S)\#[^\n]*)",
    "dash": rf"(?P<string>{_QUOTED})|(?P<comment>--[^\n]*|{_BLOCK})",
    "markup": r"(?P<string>(?!))|(?P<comment><!--.*?(?:-->|\Z))",
    "text": r"(?P<string>(?!))|(?P<comment>(?!))",
    "php": rf"(?P<string>{_QUOTED})|(?P<comment>//[^\n]*|\#(?!\[)[^\n]*|{_BLOCK})",
    "rb": rf"(?P<string>{_QUOTED})|(?P<comment>(?<!\S)\#[^\n]*|^=begin\b.*?(?:^=end\b|\Z))",
}
"""By family, and by extension for languages that differ from theirs; for Python that no Python can read, too."""
_COMMENTS = ("comment", "line_comment", "block_comment")
_STRINGS = (
    *("JoinedStr", "string", "template_string", "regex", "string_literal", "raw_string_literal", "char_literal"),
    *("interpreted_string_literal", "rune_literal"),
)
_IS_QUOTED = compile_re(r"\w{0,3}[\"']")


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


_JAVASCRIPT = words("js jsx ts tsx mjs cjs mts cts vue svelte")
_BRACES = words("go rs java kt kts c h cc cpp cxx hpp m mm cs swift scala php dart groovy gradle zig v")
_SCRIPTED = words("rb sh bash zsh fish r pl pm ps1 ex exs jl tcl awk")
_DASH = words("sql lua hs elm")
_PYTHON = words("py pyi pyw pyx")
_CODE = _PYTHON | _JAVASCRIPT | _BRACES | _SCRIPTED | _DASH
_FAMILIES: dict[Family, frozenset[str]] = {
    "python": _PYTHON,
    "c": _JAVASCRIPT | _BRACES | words("proto css scss less"),
    "dash": _DASH,
    "markup": words("html htm xml md svg xhtml"),
    "hash": _SCRIPTED | words("yaml yml toml ini cfg conf mk nix tf cmake gemspec"),
}


def extension(path: str) -> str:
    """Return what follows the last dot of a file's name, in lower case."""
    return posixpath.splitext(path)[1][1:].lower()


def family(path: str) -> Family:
    """Return how the file's comments and strings are written."""
    end = extension(path)
    plain: Family = "hash" if posixpath.basename(path) in ("Makefile", "Dockerfile", "Rakefile") else "text"
    return next((family for family, ends in _FAMILIES.items() if end in ends), plain)


def is_python(path: str) -> bool:
    """Return whether Python would import or run it."""
    return extension(path) in ("py", "pyw", "pyi")


def is_javascript(path: str) -> bool:
    """Return whether it is JavaScript or TypeScript, alone or in a component file."""
    return extension(path) in _JAVASCRIPT


def is_code(path: str) -> bool:
    """Return whether the file is written in a programming language."""
    return extension(path) in _CODE


def without_comments(text: str, path: str) -> str:
    """Return the text with blanks for its comments. Every line and column stays where it was."""
    return _blank(text, path, "comment")


def bare(text: str, path: str) -> str:
    """Return the text with blanks for its comments and strings."""
    return _blank(text, path, "comment", "string", "bare")


def list_comments(text: str, path: str) -> Iterator[tuple[int, int]]:
    """Yield where each comment begins and ends."""
    yield from ((start, end) for kind, start, end in _pieces(text, path) if kind == "comment")


_BARE_BEFORE, _BARE_AFTER = compile_re(r"^[ \t]*\Z", re.MULTILINE), compile_re(r"[ \t]*(?:$|;|\#)", re.MULTILINE)


def without_words(text: str, path: str) -> str:
    """Return the text with blanks for its comments and for strings that are a statement of their own: docstrings.

    Of a part of a file in Python, which no grammar reads, that is what a string on lines of its own is taken for.
    """
    return _blank(text, path, "comment", "bare")


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


_GLUED = compile_re(r"(['\"`])[ \t]*\+[ \t]*(['\"`])")
_JOINED = compile_re(r"\[([^\[\]\n]{1,300})\]\s{0,9}\.join\(\s{0,9}(?:'([^'\n]{0,9})'|\"([^\"\n]{0,9})\")\s{0,9}\)")
_ENCODED = compile_re(r"(?:atob\(|Buffer\.from\()\s{0,9}['\"]([A-Za-z0-9+/=]{4,400})['\"]")
_INDEXED = compile_re(r"(?<=[\w)\]])\[\s{0,5}['\"`]([A-Za-z_]\w{0,40})['\"`]\s{0,5}\]")


def join_strings(line: str) -> str:
    """Return a line with its strings put together as it would put them together when it runs, and `a["b"]` as `a.b`."""
    line = _JOINED.sub(lambda m: _join(m[1], m[2] or m[3] or ""), line)
    line = _ENCODED.sub(lambda m: f"'{_decode(m[1])}'", line)
    line = _GLUED.sub(lambda m: "" if m[1] == m[2] else m[0], line)
    return _INDEXED.sub(r".\1", line)


def _join(items: str, separator: str) -> str:
    texts = re.findall(r"'([^'\n]*)'|\"([^\"\n]*)\"", items)
    return "'" + separator.join(a or b for a, b in texts) + "'"


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except ValueError:
        return text


@lru_cache(maxsize=64)
def _starts(text: str) -> tuple[int, ...]:
    return (0, *(m.end() for m in re.finditer("\n", text)))


@lru_cache(maxsize=256)
def _pieces(text: str, path: str) -> tuple[tuple[str, int, int], ...]:
    """Return comments, strings, and "bare" strings of Python that are a statement: what each is, its begin and end."""
    source = parse(path, text[:LONGEST])
    if source and source.root.children:
        return tuple(_list_parsed(source))
    found = _compile(end if (end := extension(path)) in _PATTERNS else family(path)).finditer(text[:LONGEST])
    return tuple((_classify(match, is_python(path)), *match.span()) for match in found)


def _classify(match: re.Match[str], is_python: bool) -> str:
    if match["comment"] is not None:
        return "comment"
    is_alone = _BARE_BEFORE.search(match.string[: match.start()]) and _BARE_AFTER.match(match.string, match.end())
    return "bare" if is_python and is_alone else "string"


def _list_parsed(source: Source) -> Iterator[tuple[str, int, int]]:
    text = source.data.decode("utf-8", "surrogateescape")
    widths = (len(each.encode("utf-8", "surrogateescape")) for each in text)
    starts = None if text.isascii() else [*accumulate(widths, initial=0)]
    done, statement = 0, (-1, -1)
    for node in source.root.walk():
        if node.kind == "Expr":
            statement = (node.start, node.end)
        is_string = node.kind in _STRINGS or (node.kind == "Constant" and _IS_QUOTED.match(source.text(node)))
        if node.start >= done and (node.kind in _COMMENTS or is_string):
            done = node.end
            first, last = (bisect_left(starts, at) if starts else at for at in (node.start, node.end))
            of_string = "bare" if (node.start, node.end) == statement else "string"
            yield "comment" if node.kind in _COMMENTS else of_string, first, last


@cache
def _compile(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name], re.DOTALL | re.MULTILINE)


def _blank(text: str, path: str, *kinds: str) -> str:
    parts, at = [], 0
    for kind, start, end in _pieces(text, path):
        is_shebang = start == 0 and text.startswith("#!")
        if kind in kinds and not is_shebang:
            parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
            at = end
    return "".join([*parts, text[at:LONGEST]])
