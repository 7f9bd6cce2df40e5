"""vitest: its JSON report, or the text that ends with `Tests  1 failed | 2 passed (3)`."""

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

_TESTS = re.compile(
    r"^ +Tests  (?P<numbers>no tests|\d+ [a-z ]+(?: \| \d+ [a-z ]+){0,6}) *\(\d+\)$|^ +Tests  no tests$", re.M
)
_NUMBER = re.compile(r"(\d+) ([a-z]+)")
_NONE = re.compile(r"^No test files found", re.M)
_SUITES = re.compile(r"^⎯+ Failed Suites (?P<number>\d+) ⎯", re.M)
_BEGIN = re.compile(r"^ FAIL  (?P<test>[^\n]+)$", re.M)
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
    summaries = list(_TESTS.finditer(lines))
    if not summaries and not _NONE.search(lines):
        return None
    numbers = Counter[str]()
    for match in summaries:
        numbers.update({word: number(digits) for digits, word in _NUMBER.findall(match["numbers"] or "")})
    errors = sum(number(match["number"]) for match in _SUITES.finditer(lines))
    counts = Counts(0, numbers["passed"], numbers["failed"], numbers["skipped"] + numbers["todo"], errors)
    return tests(counts, _problems(lines))


def _problems(lines: str) -> Iterator[Problem]:
    begins = list(islice(_BEGIN.finditer(lines), _READ))
    ends = [match.start() for match in begins[1:]]
    ends.append(len(lines))
    for match, end in zip(begins, ends, strict=False):
        yield _problem(match["test"], lines[match.end() : min(end, match.end() + _SPAN)])


def _problem(name: str, body: str) -> Problem:
    file, _, test = name.partition(" > ")
    file = file.split(" [")[0].rpartition("| ")[2]
    found, line = place(body)
    return problem(said(body), found or file, line, test=f"{file}::{test}" if test else file)
