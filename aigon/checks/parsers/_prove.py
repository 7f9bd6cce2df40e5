"""What Perl's `prove` prints: the tests' own words on what failed, then a report of files and their numbers."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import KEPT, number, problem
from aigon.checks.parsers._readings import tests
from aigon.checks.parsers._tapdiag import diagnosis
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_TOTAL = re.compile(r"^Files=\d{1,9}, Tests=(?P<tests>\d{1,9}),[^\n]*\nResult: (?:PASS|FAIL|NOTESTS)$", re.M)
_FILE = re.compile(r"^(?P<file>\S{1,300}) +\(Wstat: [^\n]*Tests: \d{1,9} Failed: (?P<failed>\d{1,9})\)$", re.M)
_WRONG = re.compile(r"^  (?:Parse errors: (?P<said>[^\n]+)|(?P<exit>Non-zero (?:exit|wait) status: \d+))$", re.M)
_SKIPPED = re.compile(r"^\s\(less (?P<number>\d{1,9}) skipped subtests?: ", re.M)
_FAILED = re.compile(
    r"^ {0,64}#   Failed test(?: '(?P<test>[^\n]*)')?\n(?P<block>(?: {0,64}#   [^\n]*\n?){1,12})", re.M
)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when `prove` did not sum anything up."""
    totals = list(_TOTAL.finditer(lines))
    if not totals:
        return None
    number_of = sum(number(total["tests"]) for total in totals)
    failed = min(number_of, sum(number(match["failed"]) for match in _FILE.finditer(lines)))
    skipped = min(number_of - failed, sum(number(match["number"]) for match in _SKIPPED.finditer(lines)))
    errors = list(_unsound(lines))
    counts = TestCounts(0, number_of - failed - skipped, failed, skipped, len(errors))
    return tests(counts, (*_failures(lines), *errors))


def _failures(lines: str) -> Iterator[Problem]:
    for match in islice(_FAILED.finditer(lines), 25 * KEPT):
        message, file, line = diagnosis(match["block"].split("\n"))
        name = match["test"] or "a test without a name"
        yield problem(message or "failed", file, line, test=f"{file}::{name}" if file else name)


def _unsound(lines: str) -> Iterator[Problem]:
    """Files that are wrong beyond the tests that failed in them: no plan, another plan, a program that died."""
    files = list(islice(_FILE.finditer(lines), KEPT))
    ends = [*(match.start() for match in files[1:]), len(lines)]
    for match, after in zip(files, ends, strict=False):
        said = {
            name: text
            for m in _WRONG.finditer(lines, match.end(), after)
            for name, text in m.groupdict().items()
            if text
        }
        if "said" in said or not number(match["failed"]):
            yield problem(said.get("said") or said.get("exit", "failed"), match["file"], test=match["file"])
