"""Android Lint's XML report (`lint-results-debug.xml`). From its documentation: `<issues>` with an `<issue>` each."""

from collections.abc import Mapping

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import text
from aigon.checks.parsers._xml import stream
from aigon.model.checks import ParsedOutput, Problem

_KEPT = 5000
"""Issues looked at; the others are only counted."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by rule, file and line; fatal issues are errors, informational ones warnings."""
    return reported(output if report is None else report) or foreign(text(output))


def reported(report: bytes) -> ParsedOutput | None:
    """What a report says; None when it is not Lint's."""
    found: list[Problem] = []
    issue: dict[str, str] = {}
    total = 0

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "issue":
            issue.update(attributes, file="", line="")
        elif tag == "location" and issue and not issue["file"]:  # later ones only say what else is to do with it
            issue.update(file=attributes.get("file", ""), line=attributes.get("line", ""))

    def end(tag: str, _: str) -> None:
        nonlocal total
        if tag == "issue" and issue:
            total += 1
            if len(found) < _KEPT:
                found.append(_problem(issue))
            issue.clear()

    return lint(found, total) if stream(report, start, end) == "issues" else None


def _problem(issue: Mapping[str, str]) -> Problem:
    get = issue.get
    line = get("line", "")
    severity = "error" if get("severity") in ("Fatal", "Error") else "warning"
    return problem(
        get("message", ""), get("file", ""), number(line if line.isdecimal() else None), get("id", ""), severity
    )
