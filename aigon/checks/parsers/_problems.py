"""Making problems: cleaned, bounded, and lines of free text that look like errors."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from aigon.checks.parsers._text import clean
from aigon.model.checks import Problem

KEPT = 200
"""Problems kept of one output: more than any digest shows, few enough for every journal record."""

_ERROR_LINE = re.compile(
    r"^(?=[^\n]*?(?:\b(?:error|ERROR|fatal|FATAL|panic|Error)\b(?:\(\w+\))?[:!\])]"
    r"|\w(?:Error|Exception)\b(?: \[\w+\])?(?::|$)|\berror [A-Z]{1,6}\d{1,6}:"
    r"|command not found|No such file or directory))"
    r"(?P<line>[^\n]*)$|^(?P<head>(?:npm )?(?:error|ERROR|ERR!|Error|FAILED|fatal)\b[^\n]*)$",
    re.M,
)
_CHATTER = re.compile(
    r"npm (?:error|ERR!)(?: (?:code|path|command|errno|syscall|workspace|location|lifecycle|A complete log|To see)\b"
    r"| {2,}|\s*$)|.*\b0 errors?\b",
    re.I,
)
_PLACE = re.compile(r"(?P<file>[^\s:(][^:(\n]*\.\w+)(?::(?P<line>\d+)(?::\d+)?|\((?P<row>\d+),\d+\)): ")


def problem(
    message: str,
    file: str = "",
    line: int = 0,
    rule: str = "",
    severity: str = "error",
    test: str = "",
) -> Problem:
    """A problem with every text cleaned. Any severity but `warning` is an error: what is unknown is not harmless."""
    kind: Literal["error", "warning"] = "warning" if severity == "warning" else "error"
    return Problem(clean(message), clean(file), line, clean(rule, 100), kind, clean(test))


def number(digits: str | None) -> int:
    """A line number out of a match; 0 for none, and for what is no line number of any real file."""
    return int(digits) if digits and digits.isascii() and digits.isdecimal() and len(digits) < 10 else 0


def errorlike(lines: str, limit: int) -> tuple[Problem, ...]:
    """The last `limit` distinct lines that look like errors, in their order: the cause stands near the end."""
    found = deque(dict.fromkeys(_error_lines(lines)), maxlen=limit)
    return tuple(_from_line(line) for line in found)


def capped(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The first KEPT distinct ones (some tools print their failures twice) out of the first 5000."""
    kept: dict[Problem, None] = {}
    for each in islice(problems, 25 * KEPT):
        kept[each] = None
        if len(kept) == KEPT:
            break
    return tuple(kept)


def _error_lines(lines: str) -> Iterator[str]:
    for match in _ERROR_LINE.finditer(lines):
        line = (match["line"] or match["head"]).strip()
        if not _CHATTER.match(line):
            yield line


def _from_line(line: str) -> Problem:
    place = _PLACE.match(line)
    if place is None:
        return problem(line)
    return problem(line[place.end() :], place["file"], number(place["line"] or place["row"]))
