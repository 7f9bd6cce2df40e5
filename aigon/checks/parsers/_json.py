"""JSON of unknown make: found in noise, and read without trusting a single type."""

import json
import re

from aigon.checks.parsers._text import LIMIT, whole

_BEGIN = re.compile(r"^[ \t]*(?=[\[{])", re.M)
_TRIES = 8
Row = dict[str, object]


def document(report: bytes | None) -> object:
    """What a report file holds, or None when it is absent, too large (a part of JSON is no JSON) or broken."""
    if report is None or len(report) > LIMIT:
        return None
    try:
        return json.loads(report.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def embedded(output: bytes, kind: type[dict[str, object]] | type[list[object]]) -> object:
    """The first dict or list that begins a line of `output`, whatever stands before and after it; None without one."""
    lines = whole(output)
    opening = "{" if kind is dict else "["
    begins = (m.end() for m in _BEGIN.finditer(lines) if lines[m.end()] == opening)
    for _, begin in zip(range(_TRIES), begins, strict=False):
        try:
            return json.JSONDecoder().raw_decode(lines, begin)[0]
        except (ValueError, RecursionError):
            continue
    return None


def line(text: str) -> Row:
    """One JSON object on a line; empty for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Row]:
    """The dicts in a list; none for anything that is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def string(value: object) -> str:
    """A string as it is, anything else as ''."""
    return value if isinstance(value, str) else ""


def strings(value: object) -> list[str]:
    """The strings in a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def integer(value: object) -> int:
    """A line number; 0 for anything that cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0
