"""jest: its JSON report, or the text that ends with `Tests: 1 failed, 2 passed, 3 total`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers._coverage import thresholds
from aigon.checks.parsers._expected import said
from aigon.checks.parsers._jestjson import reported
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.checks.parsers._unloaded import unloaded
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_TESTS = re.compile(r"^Tests: +(?P<numbers>(?:\d+ [a-z]+, ){0,6}\d+ total)$", re.M)
_NUMBER = re.compile(r"(\d+) ([a-z]+)")
_NONE = re.compile(r"^No tests found", re.M)
_BEGIN = re.compile(r"^(?:FAIL (?P<file>[^\n]+)|  ● (?P<test>[^\n]+))$", re.M)
_PRINTED = re.compile(r"\n{1,3} +console\.\w+\n")
"""What a test printed stands under a bullet of its own, `● Console`."""
_PROJECT = re.compile(r"^\S+ +(?=[^\s/]*[/.])")
_NOT_RUN = "Test suite failed to run"
_SPAN = 20_000
"""Characters of one failure that are read."""
_READ = 5000
"""Failures that are read: far more than are kept."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. A test file that cannot be loaded counts as an error."""
    lines = text(output)
    reading = reported(output, report)
    if reading and not reading.problems:
        return replace(reading, problems=tuple(thresholds(lines)))
    return reading or printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    numbers = Counter[str]()
    for match in _TESTS.finditer(lines):
        numbers.update({word: number(digits) for digits, word in _NUMBER.findall(match["numbers"])})
    if not numbers and not _NONE.search(lines):
        return None
    problems = [*_problems(lines), *thresholds(lines)]
    errors = len({each.test for each in problems if each.test and each.test.count("::") == 0})
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"] + numbers["todo"], errors)
    return tests(counts, problems)


def _problems(lines: str) -> Iterator[Problem]:
    begins = list(islice(_BEGIN.finditer(lines), _READ))
    ends = [match.start() for match in begins[1:]]
    ends.append(len(lines))
    file = ""
    for match, end in zip(begins, ends, strict=False):
        if match["file"]:
            file = _file(match["file"])
        elif match["test"] and file and not _PRINTED.match(lines, match.end()):
            yield _problem(file, match["test"], lines[match.end() : min(end, match.end() + _SPAN)])


def _file(named: str) -> str:
    """The file on a FAIL line: behind the name of its project, before how long it took."""
    file = named.split(" (")[0].strip()
    return _PROJECT.sub("", file).removeprefix("./")


def _problem(file: str, test: str, body: str) -> Problem:
    if test == _NOT_RUN:
        return problem(*unloaded(body, file), test=file)
    found, line = place(body)
    return problem(said(body), found or file, line, test=f"{file}::{test.replace(' › ', ' > ')}")
