"""Checkstyle's XML, which detekt, ktlint, SwiftLint, PHP_CodeSniffer and PHPStan write, too; and its own text."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import text
from aigon.checks.parsers._xml import stream
from aigon.model.checks import ParsedOutput, Problem

KEPT = 5000
"""Entries looked at; the others are only counted."""
_LINE = re.compile(
    r"^(?:\[ant:checkstyle\] )?\[(?P<severity>ERROR|WARN|INFO)\] (?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: "
    r"(?P<said>[^\n]+?) \[(?P<rule>\w+)\]$",
    re.M,
)
_DONE = re.compile(r"^Audit done\.$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by rule, file and line. A report wins, also one that is printed."""
    document = report if report is not None else _printed(output)
    reading = _from_xml(document) if document else None
    if reading or report is not None:
        return reading or ParsedOutput(understood=False)
    return printed(lines := text(output)) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What Checkstyle's own text says; None when it is not its."""
    problems = list(from_text(lines))
    return lint(problems) if problems or _DONE.search(lines) else None


def from_text(lines: str) -> Iterator[Problem]:
    """The violations in Checkstyle's own text, as it and Gradle print them."""
    for match in islice(_LINE.finditer(lines), KEPT):
        severity = "error" if match["severity"] == "ERROR" else "warning"
        yield problem(match["said"], match["file"], number(match["line"]), match["rule"], severity)


def _printed(output: bytes) -> bytes:
    """The document in an output, without what a tool says before and after it."""
    begin, end = output.find(b"<checkstyle"), output.rfind(b"</checkstyle>")
    return output[begin : end + len(b"</checkstyle>")] if 0 <= begin < end else b""


def _from_xml(document: bytes) -> ParsedOutput | None:
    found: list[Problem] = []
    seen = {"file": ""}
    total = 0

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        nonlocal total
        if tag == "file":
            seen["file"] = attributes.get("name", "")
        elif tag == "error" and attributes.get("severity") != "ignore":
            total += 1
            if len(found) < KEPT:
                found.append(_problem(attributes, seen["file"]))

    root = stream(document, start, _ignore)
    return lint(found, total) if root == "checkstyle" else None


def _ignore(_tag: str, _said: str) -> None:
    """Nothing stands between the tags."""


def _problem(attributes: Mapping[str, str], file: str) -> Problem:
    get = attributes.get
    line = get("line", "")
    severity = "warning" if get("severity", "error") in ("warning", "info") else "error"
    return problem(
        get("message", ""), file, number(line if line.isdecimal() else None), _rule(get("source", "")), severity
    )


def _rule(source: str) -> str:
    """Of a class the name: `MissingJavadocMethod` of `com.puppycrawl.tools...MissingJavadocMethodCheck`."""
    return source.rpartition(".")[2].removesuffix("Check") if source.startswith("com.puppycrawl.") else source
