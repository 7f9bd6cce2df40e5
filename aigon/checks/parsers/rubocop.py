"""RuboCop and Standard: `--format json`, or the text `lib/a.rb:1:1: C: Style/Documentation: ...`."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^ {0,2}(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?P<severity>[ICRWEF]): (?:\[Correctable\] )?"
    r"(?:(?P<rule>[A-Z]\w*(?:/\w+)+): )?(?P<said>[^\n]+)$",
    re.M,
)
_TOTAL = re.compile(r"^\d+ files? inspected, (?:no|(?P<number>\d+)) offenses? detected", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Offences by cop, file and line. All but information make RuboCop fail, so they are errors."""
    found = _json.document(report) if report is not None else _json.embedded(output, dict)
    if isinstance(found, dict) and isinstance(found.get("files"), list) and isinstance(found.get("summary"), dict):
        return lint(_from_json(_json.rows(found["files"])))
    lines = text(output)
    totals = list(_TOTAL.finditer(lines))[-1:]
    return lint(_from_text(lines), number(totals[0]["number"])) if totals else foreign(lines)


def _from_json(files: list[_json.Row]) -> Iterator[Problem]:
    for file in files:
        for row in _json.rows(file.get("offenses")):
            at = row.get("location")
            line = _json.integer(at.get("line")) if isinstance(at, dict) else 0
            severity = "warning" if row.get("severity") == "info" else "error"
            get = _json.string
            yield problem(get(row.get("message")), get(file.get("path")), line, get(row.get("cop_name")), severity)


def _from_text(lines: str) -> Iterator[Problem]:
    for match in islice(_LINE.finditer(lines), 5000):
        severity = "warning" if match["severity"] == "I" else "error"
        yield problem(match["said"], match["file"], number(match["line"]), match["rule"] or "", severity)
