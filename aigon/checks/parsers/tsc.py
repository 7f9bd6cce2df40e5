"""tsc: `file(line,column): error TS2322: message`, or its pretty form `file:line:column - error TS2322: message`."""

import re
from collections.abc import Iterator

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_LINE = re.compile(
    r"^(?:(?P<file>[^\s(][^(\n]*)\((?P<line>\d+),\d+\): |(?P<path>[^\s:][^:\n]*):(?P<row>\d+):\d+ - )?"
    r"(?P<severity>error|warning) (?P<rule>TS\d+): (?P<message>[^\n]+)$",
    re.M,
)
_FOUND = re.compile(r"^Found (?P<number>\d+) errors?\b", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors by code, file and line. tsc says nothing at all when it is content."""
    return printed(lines := text(report or output)) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not tsc's."""
    found = [number(match["number"]) for match in _FOUND.finditer(lines)]
    reading = types(problems(lines), sum(found))
    return reading if reading.problems or found or silent(lines) else None


def problems(lines: str) -> Iterator[Problem]:
    """The errors in either form."""
    for match in _LINE.finditer(lines):
        file, line = match["file"] or match["path"] or "", match["line"] or match["row"]
        yield problem(match["message"], file, number(line), match["rule"], match["severity"])
