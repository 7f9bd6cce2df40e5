"""mypy: `file:line: error: message  [code]` lines, or one JSON object per line. Notes are no problems."""

import re
from collections.abc import Iterator

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^(?P<file>[^\s:{][^:\n]*)(?::(?P<line>\d+)(?::\d+){0,3})?: (?P<severity>error|warning): (?P<message>[^\n]+)$"
    # --pretty wraps a message and then shows the source, indented by four.
    r"(?P<more>(?:\n(?![^\n]*: (?:error|warning|note): )\S[^\n]*){1,9}(?=\n {4}))?",
    re.M,
)
_JSON_LINE = re.compile(r'^\{"file":[^\n]*\}$', re.M)
_CODE = re.compile(r" +\[(?P<rule>[\w-]+)\]$")
_FOUND = re.compile(r"^Found (?P<number>\d+) errors? in ", re.M)
_CLEAN = re.compile(r"^Success: no issues found", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors and warnings by code, file and line. A report file, if any, holds the same lines."""
    lines = text(report or output)
    reading = types(_problems(lines), sum(number(match["number"]) for match in _FOUND.finditer(lines)))
    recognised = reading.summary != "clean" or _CLEAN.search(lines) or silent(lines)
    return reading if recognised else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in _LINE.finditer(lines):
        message, rule = _code(match["message"] + (match["more"] or "").replace("\n", " "))
        yield problem(message, match["file"], number(match["line"]), rule, match["severity"])
    for match in _JSON_LINE.finditer(lines):
        row = _json.line(match[0])
        if row.get("severity") in ("error", "warning"):
            yield _from_json(row)


def _code(message: str) -> tuple[str, str]:
    """The message without its code, and the code. Only the end is searched: a message can be any length."""
    match = _CODE.search(message, max(0, len(message) - 100))
    return (message[: match.start()], match["rule"]) if match else (message, "")


def _from_json(row: _json.Row) -> Problem:
    get = _json.string
    line = _json.integer(row.get("line"))
    return problem(get(row.get("message")), get(row.get("file")), line, get(row.get("code")), get(row.get("severity")))
