"""Reports in XML: Checkstyle's, which detekt, ktlint, SwiftLint, PHP_CodeSniffer and PHPStan write, too, and Android
Lint's. The latter is written from its documentation and was never tested against the tool."""

import re
from collections.abc import Mapping

from aigon.checks.parsers.documents import read_xml
from aigon.checks.parsers.output import READ_MATCHES, read_text
from aigon.checks.parsers.readings import describe_unknown, find_problems, make_problem, summarize_lint
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.patterns import compile_re

LINE = compile_re(
    r"^(?:\[ant:checkstyle\] )?\[(?P<severity>ERROR|WARN|INFO)\] (?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: "
    r"(?P<message>[^\n]+?) \[(?P<rule>\w+)\]$",
    re.M,
)
"""A violation in Checkstyle's own text, as it and Gradle print it."""
_DONE = compile_re(r"^Audit done\.$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line: of the report, of a report that is printed, or of Checkstyle's text."""
    if report is not None:
        return read_report(report) or ParsedOutput(understood=False)
    begin, end = output.find(b"<checkstyle"), output.rfind(b"</checkstyle>")
    printed = output[begin : end + len(b"</checkstyle>")] if 0 <= begin < end else b""
    if printed and (reading := read_report(printed)):
        return reading
    lines = read_text(output)
    problems = list(find_problems(LINE, lines))
    return summarize_lint(problems) if problems or _DONE.search(lines) else describe_unknown(lines)


def read_androidlint(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line; fatal issues are errors, informational ones warnings."""
    return read_lint_report(output if report is None else report) or describe_unknown(read_text(output))


class _Violations:
    """The elements that name a violation, in either format, with the file and line that stand around or inside."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.total = 0
        self._file = ""
        self._issue: dict[str, str] = {}

    def start_checkstyle(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "file":
            self._file = attributes.get("name", "")
        elif tag == "error" and attributes.get("severity") != "ignore":
            rule = attributes.get("source", "")
            if rule.startswith("com.puppycrawl."):  # of a class the name
                rule = rule.rpartition(".")[2].removesuffix("Check")
            self._add({**attributes, "file": self._file}, rule, attributes.get("severity", ""))

    def start_lint(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "issue":
            self._issue = {**attributes, "file": "", "line": ""}
        elif tag == "location" and self._issue and not self._issue["file"]:  # later ones are only related
            self._issue |= {"file": attributes.get("file", ""), "line": attributes.get("line", "")}

    def end_lint(self, tag: str, _: str) -> None:
        if tag == "issue" and self._issue:
            severity = "error" if self._issue.get("severity") in ("Fatal", "Error") else "warning"
            self._add(self._issue, self._issue.get("id", ""), severity)
            self._issue = {}

    def _add(self, attributes: Mapping[str, str], rule: str, severity: str) -> None:
        self.total += 1
        if len(self.problems) < READ_MATCHES:
            message, line = attributes.get("message", ""), attributes.get("line", "")
            self.problems.append(make_problem(message, attributes["file"], line, rule, severity))


def read_report(report: bytes) -> ParsedOutput | None:
    """Return what Checkstyle's XML says; None for another document."""
    found = _Violations()
    is_checkstyle = read_xml(report, found.start_checkstyle) == "checkstyle"
    return summarize_lint(found.problems, found.total) if is_checkstyle else None


def read_lint_report(report: bytes) -> ParsedOutput | None:
    """Return what Android Lint's XML says (`lint-results-debug.xml`); None for another document."""
    found = _Violations()
    is_lint = read_xml(report, found.start_lint, found.end_lint) == "issues"
    return summarize_lint(found.problems, found.total) if is_lint else None
