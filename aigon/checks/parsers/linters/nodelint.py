"""An opaque `npm run lint`: ESLint, Biome, Prettier, tsc, or several of them, one after the other.

Others are read if they name file, line and column before the message, as `standard` and `oxlint -f unix` do.
"""

import re
from collections.abc import Iterator

from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import is_silent, read_text
from aigon.checks.parsers.readings import describe_unknown, find_problems, summarize_lint
from aigon.checks.parsers.runners.opaque import split_by_prefix
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.patterns import compile_re

_LINTERS = ("eslint", "biome", "prettier", "tsc")
_STANDARD = compile_re(
    r"^ *(?P<file>[^\s:][^\n:]{0,500}\.[cm]?[jt]sx?):(?P<line>\d{1,9}):\d{1,9}: "
    r"(?P<message>[^\n]*?)(?: \((?P<rule>[\w@/-]+)\))?$",
    re.M,
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line, of every linter that is recognised."""
    lines = read_text(report or output)
    reading = _read_lines(lines)
    if reading is None and (parts := split_by_prefix(lines)):
        reading = _read_lines("\n".join(parts))
    return reading or describe_unknown(lines)


def _read_lines(lines: str) -> ParsedOutput | None:
    problems = list(_find_problems(lines))
    counting = [load_matcher(name) for name in ("eslint", "biome")]
    known = (*counting, load_matcher("prettier"))
    if not (problems or is_silent(lines) or any(matcher.recognises(lines) for matcher in known)):
        return None
    # Several linters may complain of one line: what each says there is, is the least that there is.
    return summarize_lint(problems, sum(matcher.count_stated(lines) for matcher in counting))


def _find_problems(lines: str) -> Iterator[Problem]:
    for matcher in map(load_matcher, _LINTERS):
        if not matcher.strict or matcher.recognises(lines):
            yield from matcher.find_problems(lines)
    yield from find_problems(_STANDARD, lines, message="")
