"""An opaque `npm run lint`: ESLint, Biome, Prettier, tsc, or several of them, one after the other.

Others are read where they name file, line and column before the message, as `standard` and `oxlint -f unix` do.
"""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers import biome, eslint, prettier, tsc
from aigon.checks.parsers._packages import by_prefix
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_STANDARD = re.compile(
    r"^ *(?P<file>[^\s:][^\n:]{0,500}\.[cm]?[jt]sx?):(?P<line>\d{1,9}):\d{1,9}: "
    r"(?P<said>[^\n]*?)(?: \((?P<rule>[\w@/-]+)\))?$",
    re.M,
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by rule, file and line, of every linter that is recognised."""
    lines = text(report or output)
    found = _reading(lines)
    if found is None and (parts := by_prefix(lines)):
        found = _reading("\n".join(parts))
    return found or foreign(lines)


def _reading(lines: str) -> ParsedOutput | None:
    found = list(_problems(lines))
    known = found or silent(lines) or biome.recognised(lines) or prettier.recognised(lines) or eslint.stated(lines)
    # Of the same line, several linters may complain: what each says there is, is the least that there is.
    return lint(found, eslint.stated(lines) + biome.stated(lines)) if known else None


def _problems(lines: str) -> Iterator[Problem]:
    if eslint.stated(lines):
        yield from eslint.problems(lines)
    if biome.recognised(lines):
        yield from biome.problems(lines)
    yield from prettier.problems(lines)
    yield from tsc.problems(lines)
    for match in islice(_STANDARD.finditer(lines), 5000):
        yield problem(match["said"], match["file"], number(match["line"]), match["rule"] or "")
