"""pylint: its `text` format, and its `json` and `json2`."""

import re
from collections.abc import Iterator

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(r"^(?P<file>[^\s:*][^:\n]*):(?P<line>\d+):\d+: (?P<rule>[A-Z]\d{4}): (?P<message>\S[^\n]*)$", re.M)
_RATED = re.compile(r"^Your code has been rated at -?\d", re.M)
_ERRORS = ("E", "F")
"""First letters of what is an error; conventions, refactorings and warnings are not."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by message number, file and line. Without a score, pylint prints nothing when it is content."""
    for found in (_json.document(report), _json.embedded(output, dict), _json.embedded(output, list)):
        if (rows := _rows(found)) is not None:
            return lint(map(_from_json, rows))
    lines = text(report or output)
    reading = lint(_problems(lines))
    return reading if reading.problems or _RATED.search(lines) or silent(lines) else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in _LINE.finditer(lines):
        yield _problem(match["message"], match["file"], number(match["line"]), match["rule"])


def _rows(found: object) -> list[_json.Row] | None:
    """The messages of `json2`, which states what it looked at, or of `json`; None for another document."""
    if isinstance(found, dict):
        return _json.rows(found.get("messages")) if isinstance(found.get("statistics"), dict) else None
    if isinstance(found, list) and all(isinstance(row, dict) and "message-id" in row for row in found):
        return _json.rows(found)
    return None


def _from_json(row: _json.Row) -> Problem:
    get = _json.string
    rule = get(row.get("messageId")) or get(row.get("message-id"))
    said = f"{get(row.get('message'))} ({get(row.get('symbol'))})"
    return _problem(said, get(row.get("path")), _json.integer(row.get("line")), rule)


def _problem(message: str, file: str, line: int, rule: str) -> Problem:
    return problem(message, file.removeprefix("./"), line, rule, "error" if rule.startswith(_ERRORS) else "warning")
