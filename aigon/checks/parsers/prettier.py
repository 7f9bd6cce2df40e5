"""Prettier: what `prettier --check` says of files that it would write otherwise, or that it cannot read."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_BEGIN = re.compile(r"^Checking formatting\.\.\.", re.M)
_UNFORMATTED = re.compile(r"^\[warn\] (?!Code style issues|Ignored unknown|jsonc? |No )(?P<file>\S[^\n]*)$", re.M)
_BROKEN = re.compile(
    r"^\[error\] (?P<file>[^\s>|][^\n:]{0,500}): (?P<said>\w*Error: [^\n]*?)(?: \((?P<line>\d{1,9}):\d+\))?$", re.M
)
_OTHER = re.compile(r"^\[error\] (?P<said>(?:No |Cannot |Invalid |Couldn't |Could not )[^\n]*)$", re.M)
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Files, each with what is wrong with it. Prettier names no lines but those of syntax errors."""
    lines = text(report or output)
    found = list(problems(lines))
    return lint(found) if found or recognised(lines) or silent(lines) else foreign(lines)


def recognised(lines: str) -> bool:
    """Whether it is Prettier's check, whatever that found."""
    return bool(_BEGIN.search(lines))


def problems(lines: str) -> Iterator[Problem]:
    """Every file that it complains about."""
    for match in islice(_UNFORMATTED.finditer(lines), _READ):
        yield problem("File would be reformatted", match["file"], 0, "unformatted")
    for match in islice(_BROKEN.finditer(lines), _READ):
        yield problem(match["said"], match["file"], number(match["line"]))
    for match in islice(_OTHER.finditer(lines), _READ):
        yield problem(match["said"])
