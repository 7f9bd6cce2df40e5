"""ruff: `--output-format json`, `json-lines`, `concise`, `full`, `pylint`; what `ruff format` would change."""

import re
from collections.abc import Iterator
from itertools import chain

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_RULE = r"(?P<rule>[A-Z]+[0-9]+|[a-z]+(?:-[a-z]+)*)"
_CONCISE = re.compile(
    rf"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?:{_RULE}:? )(?:\[\*\] )?(?P<message>[^\n]+)$", re.M
)
_FULL = re.compile(rf"^{_RULE}:? (?:\[\*\] )?(?P<message>[^\n]+)\n *--> (?P<file>[^\n]*?):(?P<line>\d+):\d+$", re.M)
_PYLINT = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): \[(?P<rule>[A-Za-z][\w-]*)\] (?P<message>[^\n]+)$", re.M)
_UNFORMATTED = re.compile(r"^Would reformat: (?P<file>[^\n]+)$", re.M)
_DIFF = re.compile(r"^--- (?P<file>[^\n]+)\n\+\+\+ [^\n]+\n@@ -(?P<line>\d+)", re.M)
_UNREAD = re.compile(r"^error: Failed to parse (?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?P<message>[^\n]+)$", re.M)
_JSON_LINE = re.compile(r'^\{"cell":[^\n]*\}$', re.M)
_FOUND = re.compile(r"^Found (?P<number>\d+) errors?\b", re.M)
_CLEAN = re.compile(r"^All checks passed!|^\d+ files? (?:already formatted|left unchanged)", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by rule, file and line."""
    found = _json.document(report) if report else _json.embedded(output, list)
    if isinstance(found, list) and all(isinstance(row, dict) and "filename" in row for row in found):
        return lint(map(_from_json, _json.rows(found)))
    return _from_text(text(report or output))


def _from_text(lines: str) -> ParsedOutput:
    stated = sum(number(match["number"]) for match in _FOUND.finditer(lines))
    reading = lint(_problems(lines), stated)
    recognised = reading.summary != "clean" or _CLEAN.search(lines) or silent(lines)
    return reading if recognised else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in chain(*(form.finditer(lines) for form in (_CONCISE, _FULL, _PYLINT))):
        yield problem(match["message"], match["file"], number(match["line"]), match["rule"])
    for match in _UNREAD.finditer(lines):
        yield problem(match["message"], match["file"], number(match["line"]), "invalid-syntax")
    for match in _DIFF.finditer(lines):
        yield problem("File would be changed", match["file"], number(match["line"]), "unformatted")
    for match in _UNFORMATTED.finditer(lines):
        yield problem("File would be reformatted", match["file"], 0, "unformatted")
    for match in _JSON_LINE.finditer(lines):
        yield _from_json(_json.line(match[0]))


def _from_json(row: _json.Row) -> Problem:
    at = row.get("location")
    line = _json.integer(at.get("row")) if isinstance(at, dict) else 0
    get = _json.string
    return problem(
        get(row.get("message")), get(row.get("filename")), line, get(row.get("code")), get(row.get("severity"))
    )
