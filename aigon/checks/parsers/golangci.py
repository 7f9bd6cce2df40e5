"""golangci-lint: its JSON report, or its text (`file.go:12:5: message (linter)`).

From its documentation: golangci-lint.run, configuration of the output in versions 1 and 2.
"""

import re
from collections.abc import Iterator

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*\.\w+):(?P<line>\d+)(?::\d+)?: (?P<message>[^\n]+?) \((?P<rule>[a-zA-Z][\w-]*)\)$", re.M
)
_TOTAL = re.compile(r"^(?P<number>\d+) issues?[.:]$", re.M)
_ERROR = re.compile(
    r'^(?:level=error msg="(?P<said>[^\n]*)"|Error: (?P<plain>[^\n]+)|(?P<cannot>can\'t load config: [^\n]+))$', re.M
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by linter, file and line."""
    found = _json.document(report) if report else _json.embedded(output, dict)
    if isinstance(found, dict) and "Issues" in found:
        return lint(map(_from_json, _json.rows(found["Issues"])))
    return _from_text(text(output))


def _from_text(lines: str) -> ParsedOutput:
    totals = [number(match["number"]) for match in _TOTAL.finditer(lines)]
    problems = list(_problems(lines))
    if totals or problems:
        return lint(problems, sum(totals))
    errors = tuple(problem(m["said"] or m["plain"] or m["cannot"]) for m in _ERROR.finditer(lines))
    return ParsedOutput(problems=errors[:5], understood=False) if errors else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in _LINE.finditer(lines):
        yield problem(match["message"], match["file"], number(match["line"]), match["rule"])


def _from_json(row: _json.Row) -> Problem:
    """A severity is there only where the project configures some."""
    place, get = row.get("Pos"), _json.string
    file, line = (get(place.get("Filename")), _json.integer(place.get("Line"))) if isinstance(place, dict) else ("", 0)
    return problem(get(row.get("Text")), file, line, get(row.get("FromLinter")), get(row.get("Severity")) or "error")
