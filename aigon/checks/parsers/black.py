"""black --check: the files that it would change, and those that it cannot read."""

import re
from collections.abc import Iterator

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_WOULD = re.compile(r"^would reformat (?P<file>\S[^\n]*)$", re.M)
_CANNOT = re.compile(
    r"^error: (?:cannot format (?P<file>\S[^:\n]*)|cannot parse): (?P<said>[^\n]*)$",
    re.M,
)
_PLACE = re.compile(r"(?P<file>\S[^:\n]*\.\w+):(?P<line>\d+):\d+")
_LINE = re.compile(r"Cannot parse[^:\n]{0,100}: (?P<line>\d+):\d+")
_SUMMARY = re.compile(
    r"^\d+ files? would (?:be (?:reformatted|left unchanged)|fail to reformat)[^\n]*\.$"
    r"|^No Python files are present to be formatted\.",
    re.M,
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by file. With `--quiet` it prints nothing, whatever it finds."""
    lines = text(report or output)
    reading = lint(_problems(lines))
    return reading if reading.problems or _SUMMARY.search(lines) or silent(lines) else foreign(lines)


def _problems(lines: str) -> Iterator[Problem]:
    for match in _WOULD.finditer(lines):
        yield problem("File would be reformatted", match["file"], 0, "unformatted")
    for match in _CANNOT.finditer(lines):
        said = match["said"]
        # `cannot parse: FILE:1:11` from version 26 on, `cannot format FILE: Cannot parse: 1:11` before.
        place = _PLACE.match(said) if not match["file"] else _LINE.match(said)
        file = match["file"] or (place["file"] if place else "")
        yield problem(f"cannot be parsed: {said}", file, number(place["line"]) if place else 0, "invalid-syntax")
