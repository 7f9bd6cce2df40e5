"""flake8: its `default` and `pylint` formats, with whatever plugins' codes. It prints nothing when it is content."""

import re
from collections.abc import Iterator

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

# Up to three letters and three digits, which is what flake8 lets plugins register.
_LINE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:\[(?P<code>[A-Z]{1,3}\d{0,3})\]|(?P<rule>[A-Z]{1,3}\d{0,3}))"
    r" (?P<message>\S[^\n]*)$",
    re.M,
)
_COUNT = re.compile(r"\s*\d+\s*")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by code, file and line."""
    lines = text(report or output)
    reading = lint(_problems(lines))
    # With --count there is a number and nothing else.
    return reading if reading.problems or silent(lines) or _COUNT.fullmatch(lines[:100]) else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in _LINE.finditer(lines):
        file, rule = match["file"].removeprefix("./"), match["code"] or match["rule"]
        yield problem(match["message"], file, number(match["line"]), rule)
