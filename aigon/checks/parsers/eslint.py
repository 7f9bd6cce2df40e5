"""ESLint: its `json` and `stylish` formats."""

import re
from collections.abc import Iterator

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^(?: +(?P<line>\d+):\d+ +(?P<severity>error|warning) +(?P<said>\S[^\n]*)|(?P<file>[^\s✖][^\n]*))$", re.M
)
_TOTAL = re.compile(r"^✖ (?P<number>\d+) problems? \(", re.M)
_CRASH = re.compile(r"^ESLint: \d[^\n]*\n\n(?P<said>[^\n]+)$", re.M)
_RULE = re.compile(r"[\w@/.-]+")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by rule, file and line. ESLint prints nothing when it is content."""
    found = _json.document(report) if report else _json.embedded(output, list)
    if isinstance(found, list) and all(isinstance(row, dict) and "messages" in row for row in found):
        return lint(each for row in _json.rows(found) for each in _from_json(row))
    return _from_text(text(output), report)


def _from_text(lines: str, report: bytes | None) -> ParsedOutput:
    # Beside a report that is none, silence says nothing.
    if stated(lines) or (silent(lines) and not report):
        return lint(problems(lines), stated(lines))
    crash = _CRASH.search(lines)
    return ParsedOutput(problems=(problem(crash["said"]),), understood=False) if crash else foreign(lines)


def stated(lines: str) -> int:
    """How many problems it says there are; 0 where it says nothing, which it does when it is content."""
    return sum(number(match["number"]) for match in _TOTAL.finditer(lines))


def problems(lines: str) -> Iterator[Problem]:
    """The problems in its `stylish` format."""
    file = ""
    for match in _LINE.finditer(lines):
        if match["file"]:
            file = match["file"]
        else:
            message, rule = _split(match["said"])
            yield problem(message, file, number(match["line"]), rule, match["severity"])


def _split(said: str) -> tuple[str, str]:
    """Message and rule stand in columns, at least two spaces apart; a syntax error has no rule."""
    message, separator, rule = said.rstrip().rpartition("  ")
    return (message, rule) if separator and _RULE.fullmatch(rule) else (said, "")


def _from_json(row: _json.Row) -> Iterator[Problem]:
    get, file = _json.string, _json.string(row.get("filePath"))
    for each in _json.rows(row.get("messages")):
        severity = "warning" if each.get("severity") == 1 else "error"
        yield problem(
            get(each.get("message")), file, _json.integer(each.get("line")), get(each.get("ruleId")), severity
        )
