"""Reports in XML: Checkstyle's, which detekt, ktlint, SwiftLint, PHP_CodeSniffer and PHPStan write, too, and Android
Lint's. The latter is written from its documentation and was never tested against the tool."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from aigon.checks.parsers.documents import read_xml
from aigon.checks.parsers.readings import READ_MATCHES, describe_unknown, make_problem, read_text, summarize_lint
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^(?:\[ant:checkstyle\] )?\[(?P<severity>ERROR|WARN|INFO)\] (?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: "
    r"(?P<message>[^\n]+?) \[(?P<rule>\w+)\]$",
    re.M,
)
_DONE = re.compile(r"^Audit done\.$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line: of the report, of a report that is printed, or of Checkstyle's text."""
    if report is not None:
        return read_report(report) or ParsedOutput(understood=False)
    begin, end = output.find(b"<checkstyle"), output.rfind(b"</checkstyle>")
    printed = output[begin : end + len(b"</checkstyle>")] if 0 <= begin < end else b""
    if printed and (reading := read_report(printed)):
        return reading
    lines = read_text(output)
    problems = list(find_violations(lines))
    return summarize_lint(problems) if problems or _DONE.search(lines) else describe_unknown(lines)


def find_violations(lines: str) -> Iterator[Problem]:
    """Yield the violations in Checkstyle's own text, as it and Gradle print them."""
    for match in islice(_LINE.finditer(lines), READ_MATCHES):
        severity = "error" if match["severity"] == "ERROR" else "warning"
        yield make_problem(match["message"], match["file"], match["line"], match["rule"], severity)


def read_report(report: bytes) -> ParsedOutput | None:
    """Return what Checkstyle's XML says; None for another document."""
    problems: list[Problem] = []
    file, total = "", 0

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        nonlocal file, total
        if tag == "file":
            file = attributes.get("name", "")
        elif tag == "error" and attributes.get("severity") != "ignore":
            total += 1
            if len(problems) < READ_MATCHES:
                severity = "warning" if attributes.get("severity") in ("warning", "info") else "error"
                rule = attributes.get("source", "")
                if rule.startswith("com.puppycrawl."):  # of a class the name
                    rule = rule.rpartition(".")[2].removesuffix("Check")
                problems.append(_make_problem(attributes, file, attributes.get("line", ""), rule, severity))

    return summarize_lint(problems, total) if read_xml(report, start) == "checkstyle" else None


def read_androidlint(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line; fatal issues are errors, informational ones warnings."""
    return read_androidlint_report(output if report is None else report) or describe_unknown(read_text(output))


def read_androidlint_report(report: bytes) -> ParsedOutput | None:
    """Return what Android Lint's XML says (`lint-results-debug.xml`); None for another document."""
    problems: list[Problem] = []
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
            severity = "error" if issue.get("severity") in ("Fatal", "Error") else "warning"
            if len(problems) < READ_MATCHES:
                problems.append(_make_problem(issue, issue["file"], issue["line"], issue.get("id", ""), severity))
            issue.clear()

    return summarize_lint(problems, total) if read_xml(report, start, end) == "issues" else None


def _make_problem(attributes: Mapping[str, str], file: str, line: str, rule: str, severity: str) -> Problem:
    return make_problem(attributes.get("message", ""), file, line, rule, severity)
