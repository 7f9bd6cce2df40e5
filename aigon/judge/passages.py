"""Find quotes in the text of a change, and tell code from mere words (comments, docstrings, prose)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from aigon.judge.selection import load_words
from aigon.model.changes import FileDiff
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Position = tuple[int, int]
"""A line's number and a column from 0."""
_MARKED = compile_re(r"\s*(#|//|--|;|%|/\*|\*|<!--|\{/\*|REM\b)", re.IGNORECASE)
_SENTENCE = compile_re(r"\W*(?:[^\W\d_]+[,;:]?[ ]+){4,}[^\W\d_]+[.!?]?\W*")
_LONGEST = 300_000
"""Characters that a lexer is given; of a longer text what comes before the place in question."""
_BLOCKS = ("def", "class", "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "async")
_SHORTEST_QUOTE = 6
"""Characters, white space aside, below which a quote says nothing."""
_NEAR = 2_000
"""Lines before a quote that a lexer sees of a very large file."""
_LARGE = 200_000
"""Characters from which a file is very large."""


class Passage(Struct, frozen=True):
    """Lines that follow one another, and the number of the first."""

    first: int
    text: str

    def find_all(self, needle: str) -> Iterator[tuple[Position, ...]]:
        """Yield the places of each occurrence of `needle`, whatever white space parts its words.

        A part of a word is no occurrence.
        """
        words = r"\s+".join(map(re.escape, needle.split()))
        # Occurrences may overlap, so each is looked at from its beginning.
        for match in re.finditer(rf"(?!(?<=\w)\w)(?=({words})(?!(?<=\w)\w))", self.text) if words else ():
            line = self.first + self.text.count("\n", 0, match.start())
            column = match.start() - self.text.rfind("\n", 0, match.start()) - 1
            places: list[Position] = []
            for character in match[1]:
                places.append((line, column))
                line, column = (line + 1, 0) if character == "\n" else (line, column + 1)
            yield tuple(places)


@lru_cache(maxsize=256)
def find_passages(diff: FileDiff, signs: str, *, old: bool = False) -> tuple[Passage, ...]:
    """Return the runs of lines with one of these signs, by their numbers in the later or the `old` file."""
    lines = (line for hunk in diff.hunks for line in hunk.lines if line.sign in signs)
    runs: list[tuple[int, list[str]]] = []
    for number, text in sorted((line.old if old else line.new, line.text) for line in lines):
        if not runs or runs[-1][0] + len(runs[-1][1]) != number:
            runs.append((number, []))
        runs[-1][1].append(text)
    return tuple(Passage(first, "\n".join(texts)) for first, texts in runs)


class CommentMap(Struct, frozen=True):
    """`flags` has one byte for each character of `lines` joined by line ends: 1 for comment or docstring."""

    starts: tuple[int, ...]
    flags: bytes

    def at(self, line: int, column: int) -> bool:
        """Return whether the character in this column (from 0) of this line (from 1) is comment or docstring."""
        place = self.starts[line - 1] + column if 0 < line <= len(self.starts) else -1
        return 0 <= place < len(self.flags) and bool(self.flags[place])


def is_prose(path: str) -> bool:
    """Return whether the file is text for people, by its name."""
    known, name = load_words(), path.rpartition("/")[2]
    if re.match(known.code_names, name, re.IGNORECASE):
        return False
    return name.lower().endswith(known.prose_endings) or bool(re.fullmatch(known.prose_names, name, re.IGNORECASE))


@lru_cache(maxsize=64)
def find_comments(path: str, text: str) -> CommentMap:
    """Return the comments of a file; its text begins at line 1."""
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    lexer = _find_lexer(path.rpartition("/")[2])
    flags = bytearray(len(text))
    for begin, end in _spans_by_lexer(lexer, text[:_LONGEST]) if lexer else _spans_by_marks(text):
        flags[begin:end] = b"\1" * (end - begin)
    return CommentMap(tuple(starts), bytes(flags))


@lru_cache(maxsize=64)
def _find_lexer(name: str) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename

    found: Any = find_lexer_class_for_filename(name)
    return found() if found else None


def _spans_by_marks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that begin like a comment or are a sentence, for a file whose lexer is unknown."""
    at = 0
    for line in text.split("\n"):
        if _MARKED.match(line) or _SENTENCE.fullmatch(line):
            yield at, at + len(line)
        at += len(line) + 1


def _spans_by_lexer(lexer: "Lexer", text: str) -> Iterator[tuple[int, int]]:
    from pygments.token import Comment, String

    # Not get_tokens: it strips and replaces characters, and places would be others then.
    tokens: list[tuple[int, Any, str]] = list(lexer.get_tokens_unprocessed(text))
    # What pygments calls a comment although it does something: `#include`, `<?php`, a shebang.
    directives = (Comment.Preproc, Comment.PreprocFile, Comment.Hashbang)
    for at, kind, value in tokens:
        if kind in Comment and not any(kind in directive for directive in directives):
            yield at, at + len(value)
    if lexer.name.startswith(("Python", "Cython")):
        yield from _bare_strings(tokens)
    else:
        yield from ((at, at + len(value)) for at, kind, value in tokens if kind in String.Doc)


def _bare_strings(tokens: Iterable[tuple[int, Any, str]]) -> Iterator[tuple[int, int]]:
    """Yield Python's strings that are a statement of their own, docstrings among them, however they are quoted."""
    from pygments.token import Comment, Keyword, Punctuation, String

    depth, inside, first, last = 0, 0, "", "\n"
    run: list[tuple[int, int]] = []
    for at, kind, value in tokens:
        if kind in String or (run and inside):
            inside += _count_opened(value) if kind in String.Interpol else 0
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
        depth = max(0, depth + _count_opened(value)) if kind in Punctuation else depth
        first = first or (value.strip() if kind in Keyword else "-")
        last = value.strip()
    yield from run


def _count_opened(value: str) -> int:
    return sum(value.count(c) for c in "([{") - sum(value.count(c) for c in ")]}")


def name_words(diff: FileDiff, places: Sequence[Position], *, old: bool) -> str:
    """Return what kind of words the quote is; empty if something of it is code."""
    if is_prose(diff.path):
        return "prose"
    texts = _find_lines_near(diff, places, old=old)
    first = next(iter(texts))
    marked = find_comments(diff.path, "\n".join(texts.values()))
    code = "".join(
        " " if marked.at(line - first + 1, column) else (texts.get(line, "")[column : column + 1] or " ")
        for line, column in places
    )
    return "a comment or docstring" if is_trivial(code) else ""


def _find_lines_near(diff: FileDiff, places: Sequence[Position], *, old: bool) -> dict[int, str]:
    """Return numbered lines for a lexer, without a gap: the whole file if it is known and not very large."""
    first, last = places[0][0], places[-1][0]
    if diff.content and not old:
        lines = diff.content.split("\n")
        begin = max(0, first - _NEAR) if len(diff.content) > _LARGE else 0
        end = min(len(lines), last + _NEAR) if len(diff.content) > _LARGE else len(lines)
        return dict(enumerate(lines[begin:end], begin + 1))
    known = {(line.old if old else line.new): line.text for hunk in diff.hunks for line in hunk.lines}
    begin = first
    while begin - 1 in known and begin > 1:
        begin -= 1
    return {number: known.get(number, "") for number in range(begin, last + 1)}


def is_trivial(text: str) -> bool:
    """Return whether it is too short, or nothing but punctuation and words of any code (`}`, `return None`)."""
    words = {word.casefold() for word in re.findall(r"\w+", text)}
    only_numbers = all(word.isdecimal() for word in words)
    return len("".join(text.split())) < _SHORTEST_QUOTE or words <= load_words().keywords or only_numbers
