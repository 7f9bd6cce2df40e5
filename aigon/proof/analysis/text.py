"""Comments and strings told from code, in many languages, in time that grows only with the text.

Not pygments: some of its lexers look to the end of the text at every unclosed comment, so an agent could make them
run for minutes, and they let an apostrophe in JSX text swallow the lines after it. Here a string that does not end on
its line ends with it, and every pattern that may look far consumes what it looked at.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from aigon.model.changes import Edit
from aigon.proof.analysis.languages import LONGEST, Family, extension, family

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


_MOST = 300_000
"""Characters of one file that are read."""
_MARKS = re.compile(r"^(?:<!--|[\s#*/;%!>|\-\"'`+])+")
_UNSEEN = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u00ad\U000e0000-\U000e007f]")
_ALIKE = str.maketrans("АВЕКМНОРСТХІЅЈаеорсухіјѕԁɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιν", "ABEKMHOPCTXISJaeopcyxijsdgABEZHIKMNOPTYXoiv")


@dataclass(frozen=True, slots=True)
class Prose:
    """Added text: `words` on one line, `starts` the offset in it at which each of the `lines` (numbers) begins."""

    path: str
    words: str
    raw: str
    starts: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()

    def line(self, offset: int) -> int:
        """The number of the line that a word is on; 0 for what is no line of a file."""
        return next((n for s, n in zip(reversed(self.starts), reversed(self.lines), strict=True) if s <= offset), 0)


def added(edits: Sequence[Edit]) -> list[Prose]:
    """What each file has more of than before; lines that only moved from one file to another are left out."""
    lost: Counter[str] = Counter()
    for edit in edits:
        lost += Counter(_lines(edit.before)) - Counter(_lines(edit.after))
    return [_of(edit, lost) for edit in edits if edit.after]


def plain(path: str, text: str) -> Prose:
    """A text that is no file: a name, a message."""
    return Prose(path, _joined([text]), text)


def read(text: str) -> str:
    """A text as words on one line."""
    return _joined(_lines(text))


def _of(edit: Edit, lost: Counter[str]) -> Prose:
    known = Counter(_lines(edit.before)) + lost
    taken, lines = [], []
    for number, line in enumerate(_lines(edit.after), 1):
        if known[line] > 0:
            known[line] -= 1
        elif line:
            taken.append(line)
            lines.append(number)
    starts, at = [], 0
    words = [_joined([line]) for line in taken]
    for each in words:
        starts.append(at)
        at += len(each) + 1
    return Prose(edit.path, " ".join(words), "\n".join(taken), tuple(starts), tuple(lines))


def _lines(text: str | None) -> list[str]:
    return [line.strip() for line in (text or "")[:_MOST].split("\n")]


def _joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(_seen(_MARKS.sub("", line)).split()) for line in lines)


@lru_cache(maxsize=4096)
def _seen(line: str) -> str:
    if line.isascii():
        return line
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", line)).translate(_ALIKE)
