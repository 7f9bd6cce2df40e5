"""Minitest and test-unit, alone, under rake or Rails: text that ends with `4 runs, 2 assertions, 1 failures, ...`."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_FINISHED = re.compile(r"^Finished in \d", re.M)
_TOTAL = re.compile(
    r"^(?P<runs>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors, "
    r"(?:(?P<skips>\d+) skips|(?P<pendings>\d+) pendings, (?P<omissions>\d+) omissions, \d+ notifications)$",
    re.M,
)
_BROKEN = re.compile(
    r"^ +\d+\) (?:Failure|Error):\n(?P<test>[^\s\[]{1,300})(?: \[(?P<file>[^\]:\n]+):(?P<line>\d+)\])?:?\n"
    r"(?P<said>(?:[^\n]+\n){0,40})",
    re.M,
)
_FRAME = re.compile(r"^[ \t]+(?P<file>[^\s:/<][^:\n]*\.rb):(?P<line>\d+):in ", re.M)
_ANY_FRAME = re.compile(r"[ \t]+\S[^:\n]*:\d+:in ")
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures; of several runs (rake may start some) all of them."""
    lines = text(output or report or b"")
    return printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is neither's. A total counts behind `Finished in`: a test can print others."""
    begins = [match.end() for match in islice(_FINISHED.finditer(lines), _READ)]
    totals = [_TOTAL.search(lines, begin, end) for begin, end in zip(begins, [*begins[1:], len(lines)], strict=False)]
    numbers, found = Counter[str](), False
    for match in filter(None, totals):
        found = True
        numbers.update({word: number(digits) for word, digits in match.groupdict().items()})
    if not found:
        return None
    skipped = numbers["skips"] + numbers["pendings"] + numbers["omissions"]
    passed = max(0, numbers["runs"] - numbers["failed"] - numbers["errors"] - skipped)
    return tests(TestCounts(0, passed, numbers["failed"], skipped, numbers["errors"]), _problems(lines))


def _problems(lines: str) -> Iterator[Problem]:
    for match in islice(_BROKEN.finditer(lines), _READ):
        frame = _FRAME.search(match["said"])
        said = " ".join(
            line.strip() for line in match["said"].split("\n") if line.strip() and not _ANY_FRAME.match(line)
        )
        file, line = (
            (match["file"], match["line"]) if match["file"] else (frame["file"], frame["line"]) if frame else ("", "")
        )
        yield problem(said[:300], file, number(line), test=match["test"].removesuffix(":"))
