"""Which characters of a file are comment or docstring: words about the code, which prove nothing of what it does.

By pygments, which is told the file's name. What it has no lexer for is told by the usual marks at a line's beginning.
Nothing of the file is run or compiled.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_PROSE = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org", ".textile", ".rdoc", ".rtf", ".tex")
_PROSE_NAMES = re.compile(
    r"(readme|changelog|changes|history|news|licen[cs]e|authors|contributors|contributing|notice|todo|notes?|copying"
    r"|security|code_of_conduct)",
    re.IGNORECASE,
)
_CODE_NAMES = re.compile(r"(.*requirements.*|constraints.*|cmakelists|robots|manifest)\.txt$", re.IGNORECASE)
_MARKED = re.compile(r"\s*(#|//|--|;|%|/\*|\*|<!--|\{/\*|REM\b)", re.IGNORECASE)
_SENTENCE = re.compile(r"\W*(?:[^\W\d_]+[,;:]?[ ]+){4,}[^\W\d_]+[.!?]?\W*")
_LONGEST = 300_000
"""Characters that a lexer is given; of a longer text what comes before the place in question."""
_BLOCKS = ("def", "class", "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "async")


@dataclass(frozen=True, slots=True)
class Comments:
    """`flags` has one byte for each character of `lines` joined by line ends: 1 for comment or docstring."""

    starts: tuple[int, ...]
    flags: bytes

    def at(self, line: int, column: int) -> bool:
        """Whether the character in this column (from 0) of this line (from 1) is comment or docstring."""
        place = self.starts[line - 1] + column if 0 < line <= len(self.starts) else -1
        return 0 <= place < len(self.flags) and bool(self.flags[place])


def is_prose(path: str) -> bool:
    """Whether the file is text for people, by its name."""
    name = path.rpartition("/")[2]
    if _CODE_NAMES.match(name):
        return False
    return name.lower().endswith(_PROSE) or bool(_PROSE_NAMES.fullmatch(name))


@lru_cache(maxsize=64)
def comments(path: str, text: str) -> Comments:
    """The comments of a file; its text begins at line 1."""
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    lexer = _lexer(path.rpartition("/")[2])
    flags = bytearray(len(text))
    for begin, end in _spans(lexer, text[:_LONGEST]) if lexer else _marked(text):
        flags[begin:end] = b"\1" * (end - begin)
    return Comments(tuple(starts), bytes(flags))


@lru_cache(maxsize=64)
def _lexer(name: str) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename

    found: Any = find_lexer_class_for_filename(name)
    return found() if found else None


def _marked(text: str) -> Iterator[tuple[int, int]]:
    """Where no lexer is known: lines that begin like a comment, and lines that are a sentence."""
    at = 0
    for line in text.split("\n"):
        if _MARKED.match(line) or _SENTENCE.fullmatch(line):
            yield at, at + len(line)
        at += len(line) + 1


def _spans(lexer: "Lexer", text: str) -> Iterator[tuple[int, int]]:
    from pygments.token import Comment, String

    tokens: list[tuple[int, Any, str]]
    # Not get_tokens: it strips and replaces characters, and places would be others then.
    tokens = list(lexer.get_tokens_unprocessed(text))
    yield from ((at, at + len(v)) for at, kind, v in tokens if kind in Comment and not _directive(kind))
    if lexer.name.startswith(("Python", "Cython")):
        yield from _bare_strings(tokens)
    else:
        yield from ((at, at + len(value)) for at, kind, value in tokens if kind in String.Doc)


def _directive(kind: Any) -> bool:
    """What pygments files under comments although it does something: `#include`, `<?php`, a shebang."""
    from pygments.token import Comment

    return kind in Comment.Preproc or kind in Comment.PreprocFile or kind in Comment.Hashbang


def _bare_strings(tokens: Iterable[tuple[int, Any, str]]) -> Iterator[tuple[int, int]]:
    """Python's strings that are a statement of their own, docstrings among them, however they are quoted."""
    from pygments.token import Comment, Keyword, Punctuation, String

    depth, inside, first, last = 0, 0, "", "\n"
    run: list[tuple[int, int]] = []
    for at, kind, value in tokens:
        if kind in String or (run and inside):
            inside += _opened(value) if kind in String.Interpol else 0
            if run or (depth == 0 and (last == "\n" or (last == ":" and first in _BLOCKS))):
                run.append((at, at + len(value)))
            last = "string"
            continue
        ends = "\n" in value and depth == 0 and not value.startswith("\\")
        if (kind in Comment and not ends) or (not value.strip() and not ends):
            continue
        if run and (ends or value.strip() == ";"):
            yield from run
        run, inside = [], 0
        if ends or value.strip() == ";":
            first, last = "", "\n"
            continue
        depth = max(0, depth + _opened(value)) if kind in Punctuation else depth
        first = first or (value.strip() if kind in Keyword else "-")
        last = value.strip()
    yield from run


def _opened(value: str) -> int:
    return sum(value.count(c) for c in "([{") - sum(value.count(c) for c in ")]}")
