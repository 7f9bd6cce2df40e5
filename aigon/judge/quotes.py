"""Evidence that can be quoted, whether a quote is at the place that it names, and more than words.

Evidence is the change as far as it was shown, and what aigon captured of the checks. Words are comments, docstrings
and prose.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field

from aigon.judge.question import ObservedCheck
from aigon.judge.reply import Quote, bound_text
from aigon.judge.selection import asks_documentation, asks_removal, load_words
from aigon.languages import LONGEST, family, is_python, without_words
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

Position = tuple[int, int]
"""A line's number and a column from 0."""
_MARKED = compile_re(r"\s*(#|//|--|;|%|/\*|\*|<!--|\{/\*|REM\b)", re.IGNORECASE)
_SENTENCE = compile_re(r"\W*(?:[^\W\d_]+[,;:]?[ ]+){4,}[^\W\d_]+[.!?]?\W*")
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


def is_prose(path: str) -> bool:
    """Return whether the file is text for people, by its name."""
    known, name = load_words(), path.rpartition("/")[2]
    if re.match(known.code_names, name, re.IGNORECASE):
        return False
    return name.lower().endswith(known.prose_endings) or bool(re.fullmatch(known.prose_names, name, re.IGNORECASE))


def name_words(diff: FileDiff, places: Sequence[Position], *, old: bool) -> str:
    """Return what kind of words the quote is; empty if something of it is code."""
    if is_prose(diff.path):
        return "prose"
    texts = _find_lines_near(diff, places, old=old)
    first = next(iter(texts))
    lines = find_code(diff.path, "\n".join(texts.values())).split("\n")
    code = "".join(lines[line - first][column : column + 1] or " " for line, column in places)
    return "a comment or docstring" if is_trivial(code) else ""


def find_code(path: str, text: str) -> str:
    """Return the text with blanks for its words: comments and docstrings and, in a file of a language that nobody
    knows, lines that begin like a comment or are a sentence."""
    if is_python(path) or family(path) != "text":
        return without_words(text, path) + text[LONGEST:]
    lines = text.split("\n")
    return "\n".join("" if _MARKED.match(line) or _SENTENCE.fullmatch(line) else line for line in lines)


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


TOLERANCE = 3
"""Lines by which the number of a quote may be off: models miscount; the text must be there all the same."""
MOST_QUOTES = 50
"""Quotes of one verdict."""
_COPIED_SIGN = compile_re(r"^[ \t]*(?:\d+[ \t]+)?[+-]|^[ \t]*\d+[ \t]{2,}", re.MULTILINE)


class QuotedEvidence(Struct, frozen=True):
    """Evidence that can be quoted: the files as far as they were shown, and what aigon captured of the checks."""

    files: tuple[FileDiff, ...]
    observed: tuple[ObservedCheck, ...]
    _by_name: dict[str, FileDiff] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name.update({name: diff for diff in self.files for name in (diff.path, diff.name)})

    def find_file(self, path: str) -> FileDiff | None:
        """Return the file of that name, which may have the prefix of a diff."""
        plain_path = path.strip()
        names = (path, plain_path, plain_path.removeprefix("./"), re.sub(r"^[ab]/", "", plain_path))
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def find_output(self, source: str) -> str | None:
        """Return all that is known of the check of that name or title, or None."""
        wanted = source.strip().casefold().removeprefix("check ")
        found = [o for o in self.observed if wanted in (o.finding.check.casefold(), o.finding.title.casefold())]
        texts = [text for o in found for text in (o.output, o.finding.excerpt, o.finding.summary)]
        return strip_escapes("\n".join(texts)) if found else None


class QuoteCheck(Struct, frozen=True):
    """The check of one quote. `shown` is the quote for people; `why` says why it does not count."""

    result: Literal["counts", "idle", "refused"]
    shown: str
    why: str = ""


def check_supporting(quotes: Sequence[Quote], criterion: Criterion, evidence: QuotedEvidence) -> tuple[QuoteCheck, ...]:
    """Check each quote of a "met"."""
    if len(quotes) > MOST_QUOTES:
        return (QuoteCheck("refused", f"{len(quotes)} quotes", f"more than {MOST_QUOTES} are not read"),)
    return tuple(_check_quote(quote, evidence, criterion.text) for quote in quotes)


def check_countering(quotes: Sequence[Quote], evidence: QuotedEvidence) -> tuple[QuoteCheck, ...]:
    """Check each quote against a claim: any shown line and any output count, comments too."""
    return tuple(_check_quote(quote, evidence, None) for quote in quotes[:MOST_QUOTES])


def _check_quote(quote: Quote, evidence: QuotedEvidence, criterion: str | None) -> QuoteCheck:
    """Check a quote that supports the text of a criterion, or that speaks against one (None)."""
    if quote.source.strip() != "diff":
        return _check_output_quote(quote, evidence, supports=criterion is not None)
    diff = evidence.find_file(quote.path)
    if diff is None:
        return _refuse(quote, "the shown diff has no such file")
    new, old = ("+ ", "- ") if criterion is None else ("+", "-" if asks_removal(criterion) else "")
    places = _find_near(quote, diff, new)
    removed = places is None
    if removed and old:
        places = _find_near(quote, diff, old, old=True)
    if places is None:
        return _refuse(quote, _explain_absence(quote, diff))
    if is_trivial(quote.text):
        return QuoteCheck("idle", _render_quote(quote), "it says too little")
    is_code_due = criterion is not None and not asks_documentation(criterion)
    if is_code_due and (words := name_words(diff, places, old=removed)):
        return _refuse(quote, f"it is {words}, which proves nothing of what the code does")
    return QuoteCheck("counts", _render_quote(quote, places[0][0]))


def _check_output_quote(quote: Quote, evidence: QuotedEvidence, *, supports: bool) -> QuoteCheck:
    """Check a quote from a check's output. What the change holds literally is its own word, which supports nothing."""
    output = evidence.find_output(quote.source)
    if output is None:
        return _refuse(quote, "there is no check of that name")
    if not any(Passage(1, output).find_all(quote.text)):
        return _refuse(quote, "the output of that check does not hold it")
    if is_trivial(quote.text):
        return QuoteCheck("idle", _render_quote(quote), "it says too little")
    if supports and any(any(p.find_all(quote.text)) for diff in evidence.files for p in find_passages(diff, "+")):
        return QuoteCheck("idle", _render_quote(quote), "the change itself prints it")
    return QuoteCheck("counts", _render_quote(quote))


def _find_near(quote: Quote, diff: FileDiff, signs: str, *, old: bool = False) -> tuple[Position, ...] | None:
    """Return the place of the quote among the lines with these signs, at most `TOLERANCE` lines off."""
    near = [p for p in _find_anywhere(quote, diff, signs, old=old) if abs(p[0][0] - quote.line) <= TOLERANCE]
    return min(near, key=lambda places: abs(places[0][0] - quote.line), default=None)


def _find_anywhere(quote: Quote, diff: FileDiff, signs: str, *, old: bool = False) -> list[tuple[Position, ...]]:
    for needle in (quote.text, _COPIED_SIGN.sub("", quote.text)):
        if found := [places for p in find_passages(diff, signs, old=old) for places in p.find_all(needle)]:
            return found
    return []


def _explain_absence(quote: Quote, diff: FileDiff) -> str:
    if found := _find_anywhere(quote, diff, "+"):
        return f"it is in line {found[0][0][0]}, not in line {quote.line}"
    if _find_anywhere(quote, diff, "-", old=True):
        return "the change removed it"
    if _find_anywhere(quote, diff, "+ "):
        return "it is not among the changed lines"
    return "it is not there"


def _refuse(quote: Quote, why: str) -> QuoteCheck:
    return QuoteCheck("refused", _render_quote(quote), why)


def _render_quote(quote: Quote, line: int | None = None) -> str:
    where = f"{quote.path}:{quote.line if line is None else line}" if quote.source.strip() == "diff" else quote.source
    return bound_text(f"{where}: {quote.text}", 240)
