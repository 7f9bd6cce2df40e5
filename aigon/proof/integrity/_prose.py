"""The words that a change adds, as they would be read: wrapped lines joined, look-alikes and hidden signs undone."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aigon.model.changes import Edit

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
