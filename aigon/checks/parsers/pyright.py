"""pyright and basedpyright: `--outputjson`, or the lines that they print for people. Information is no problem."""

import re
from collections.abc import Iterator
from dataclasses import replace

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^ *(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+ - (?P<severity>error|warning): (?P<message>[^\n]+)$"
    # A message goes on in lines that are indented further; the rule stands at the end of the last.
    r"(?P<more>(?:\n[ \xa0]{4,}[^\s-][^\n]*){0,30})",
    re.M,
)
_RULE = re.compile(r" +\((?P<rule>report\w+)\)$")
_TOTAL = re.compile(r"^(?P<number>\d+) errors?, \d+ warnings?, \d+ (?:informations?|notes?) *$", re.M)
_SEVERITIES = ("error", "warning")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors and warnings by rule, file and line."""
    found = _json.document(report) if report else _json.embedded(output, dict)
    if isinstance(found, dict) and isinstance(found.get("generalDiagnostics"), list) and "summary" in found:
        reading = types(_from_json(found["generalDiagnostics"]), _number(found["summary"], "errorCount"))
        nothing = reading.summary == "clean" and _number(found["summary"], "filesAnalyzed") == 0
        return replace(reading, summary="no files checked") if nothing else reading
    lines = text(report or output)
    totals = [number(match["number"]) for match in _TOTAL.finditer(lines)]
    return types(_problems(lines), sum(totals)) if totals else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in _LINE.finditer(lines):
        message, rule = _split(" ".join(f"{match['message']}{match['more']}".split()))
        yield problem(message, match["file"], number(match["line"]), rule, match["severity"])


def _split(message: str) -> tuple[str, str]:
    """The message without its rule, and the rule. Only the end is searched: a message can be any length."""
    match = _RULE.search(message, max(0, len(message) - 100))
    return (message[: match.start()], match["rule"]) if match else (message, "")


def _number(summary: object, key: str) -> int:
    return _json.integer(summary.get(key)) if isinstance(summary, dict) else 0


def _from_json(found: object) -> Iterator[Problem]:
    get = _json.string
    for row in _json.rows(found):
        if (severity := get(row.get("severity"))) in _SEVERITIES:
            yield problem(get(row.get("message")), get(row.get("file")), _row(row), get(row.get("rule")), severity)


def _row(row: _json.Row) -> int:
    """Rows count from 0 in its JSON, and from 1 in what it prints."""
    at = row.get("range")
    start = at.get("start") if isinstance(at, dict) else None
    line = start.get("line") if isinstance(start, dict) else None
    return _json.integer(line + 1) if isinstance(line, int) else 0
