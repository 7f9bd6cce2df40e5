"""jest: its JSON report, or the text that ends with `Tests: 1 failed, 2 passed, 3 total`."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from aigon.core.model import Counts, Problem, Reading
from aigon.parsers._expected import said
from aigon.parsers._jestjson import reported
from aigon.parsers._places import place
from aigon.parsers._problems import number, problem
from aigon.parsers._readings import foreign, tests
from aigon.parsers._text import text

_TESTS = re.compile(r"^Tests: +(?P<numbers>(?:\d+ [a-z]+, ){0,6}\d+ total)$", re.M)
_NUMBER = re.compile(r"(\d+) ([a-z]+)")
_NONE = re.compile(r"^No tests found", re.M)
_BEGIN = re.compile(r"^(?:FAIL (?P<file>[^\n]+)|  ● (?P<test>[^\n]+))$", re.M)
_NOT_RUN = "Test suite failed to run"
_SPAN = 20_000
"""Characters of one failure that are read."""
_READ = 5000
"""Failures that are read: far more than are kept."""


def read(output: bytes, report: bytes | None) -> Reading:
    """Counts and failures. A test file that cannot be loaded counts as an error."""
    reading = reported(output, report)
    return reading or printed(lines := text(output)) or foreign(lines)


def printed(lines: str) -> Reading | None:
    """What the text says; None when it is not of this runner."""
    numbers = Counter[str]()
    for match in _TESTS.finditer(lines):
        numbers.update({word: number(digits) for digits, word in _NUMBER.findall(match["numbers"])})
    if not numbers and not _NONE.search(lines):
        return None
    problems = list(_problems(lines))
    errors = len({each.file for each in problems if each.test == each.file})
    counts = Counts(0, numbers["passed"], numbers["failed"], numbers["skipped"] + numbers["todo"], errors)
    return tests(counts, problems)


def _problems(lines: str) -> Iterator[Problem]:
    begins = list(islice(_BEGIN.finditer(lines), _READ))
    ends = [match.start() for match in begins[1:]]
    ends.append(len(lines))
    file = ""
    for match, end in zip(begins, ends, strict=False):
        if match["file"]:
            file = match["file"].split(" (")[0].removeprefix("./")
        elif match["test"] and file:
            yield _problem(file, match["test"], lines[match.end() : min(end, match.end() + _SPAN)])


def _problem(file: str, test: str, body: str) -> Problem:
    found, line = place(body)
    if test == _NOT_RUN:
        return problem(said(body), file, line if found == file else 0, test=file)
    return problem(said(body), found or file, line, test=f"{file}::{test.replace(' › ', ' > ')}")
