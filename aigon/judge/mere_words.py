"""Whether a quote is more than words: long enough to say something, and not all comment, docstring or prose."""

import re
from collections.abc import Sequence

from aigon.judge.comments import comments, is_prose
from aigon.judge.passage import Place
from aigon.model.changes import FileDiff

_LEAST = 6
"""Characters, white space aside, below which a quote says nothing."""
_NEAR = 2_000
"""Lines before a quote that a lexer sees of a very large file."""
_LARGE = 200_000
"""Characters from which a file is very large."""
_KEYWORDS = (
    "return else pass break continue end begin try finally done fi esac then do none null nil true false undefined "
    "void self this import from export default def class function func fn const let var public private static "
    "except catch if elif elsif for while async await with new in is not and or"
)
_EMPTY_WORDS = frozenset(_KEYWORDS.split())


def words_only(diff: FileDiff, places: Sequence[Place], *, old: bool) -> str:
    """What kind of words the quote is, where nothing of it is code; else empty."""
    if is_prose(diff.path):
        return "prose"
    lines = _lines_near(diff, places, old=old)
    first = lines[0][0]
    texts = dict(lines)
    marked = comments(diff.path, "\n".join(text for _, text in lines))
    code = "".join(
        " " if marked.at(line - first + 1, column) else (texts.get(line, "")[column : column + 1] or " ")
        for line, column in places
    )
    return "a comment or docstring" if says_little(code) else ""


def _lines_near(diff: FileDiff, places: Sequence[Place], *, old: bool) -> list[tuple[int, str]]:
    """Numbered lines for a lexer, without a gap: the whole file where it is known and not very large."""
    first, last = places[0][0], places[-1][0]
    if diff.content and not old:
        lines = diff.content.split("\n")
        begin = max(0, first - _NEAR) if len(diff.content) > _LARGE else 0
        end = min(len(lines), last + _NEAR) if len(diff.content) > _LARGE else len(lines)
        return list(enumerate(lines[begin:end], begin + 1))
    own = {(line.old if old else line.new): line.text for hunk in diff.hunks for line in hunk.lines}
    begin = first
    while begin - 1 in own and begin > 1:
        begin -= 1
    return [(number, own.get(number, "")) for number in range(begin, last + 1)]


def says_little(text: str) -> bool:
    """Too short, or nothing but punctuation and words that stand in any code (`}`, `return None`)."""
    words = {word.casefold() for word in re.findall(r"\w+", text)}
    only_numbers = all(word.isdecimal() for word in words)
    return len("".join(text.split())) < _LEAST or not words - _EMPTY_WORDS or only_numbers
