"""vitest: its JSON report, or the text that ends with `Tests  1 failed | 2 passed (3)`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers._coverage import thresholds
from aigon.checks.parsers._expected import said
from aigon.checks.parsers._jestjson import reported
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import capped, number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.checks.parsers._unloaded import unloaded
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_SUMMARY = re.compile(
    r"^ Test Files  [^\n]+\n +Tests  (?P<numbers>no tests|[^\n]{1,300})(?:\n +Errors  (?P<errors>\d{1,9}) errors?)?$",
    re.M,
)
_NUMBER = re.compile(r"(\d+) ([a-z]+)")
_NONE = re.compile(r"^No test files found", re.M)
_SUITES = re.compile(r"^⎯+ Failed Suites (?P<number>\d{1,9}) ⎯", re.M)
_BEGIN = re.compile(r"^(?: FAIL  (?P<test>[^\n]+)|⎯+ (?P<beside>(?:Uncaught|Unhandled) (?!Errors)[^\n⎯]*?) ⎯+)$", re.M)
_STACK_ONLY = "STACK_TRACE_ERROR"
"""What the JSON report has in place of the message of a test that ran out of time."""
_SPAN = 20_000
"""Characters of one failure that are read."""
_READ = 5000
"""Failures that are read: far more than are kept."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. A file that cannot be loaded, and an error that no test caught, count as errors."""
    reading = reported(output, report)
    lines = text(output)
    if reading is None:
        return printed(lines) or foreign(lines)
    return _completed(reading, lines)


def _completed(reading: ParsedOutput, lines: str) -> ParsedOutput:
    """The report, with what only the output says: errors that no test caught, places, thresholds."""
    said_too = list(_problems(lines))
    by_test = {each.test: each for each in said_too}
    problems = [_better(each, by_test.get(each.test)) for each in reading.problems]
    beside = [each for each in said_too if not each.test]
    return replace(reading, problems=capped([*problems, *beside, *thresholds(lines)]))


def _better(reported: Problem, printed: Problem | None) -> Problem:
    if printed is None or (reported.line and _STACK_ONLY not in reported.message):
        return reported
    if _STACK_ONLY in reported.message:
        return replace(printed, file=reported.file, line=reported.line or printed.line)
    return replace(reported, file=printed.file, line=printed.line)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    summaries = list(_SUMMARY.finditer(lines))
    if not summaries and not _NONE.search(lines):
        return None
    numbers = Counter[str]()
    for match in summaries:
        numbers.update({word: number(digits) for digits, word in _NUMBER.findall(match["numbers"])})
    errors = sum(number(match["number"]) for match in _SUITES.finditer(lines))
    errors += sum(number(match["errors"]) for match in summaries)
    passed = numbers["passed"] + numbers["expected"]  # `1 expected fail` is of a test that is meant to
    counts = TestCounts(0, passed, numbers["failed"], numbers["skipped"] + numbers["todo"], errors)
    return tests(counts, (*_problems(lines), *thresholds(lines)))


def _problems(lines: str) -> Iterator[Problem]:
    begins = list(islice(_BEGIN.finditer(lines), _READ))
    ends = [match.start() for match in begins[1:]]
    ends.append(len(lines))
    for match, end in zip(begins, ends, strict=False):
        body = lines[match.end() : min(end, match.end() + _SPAN)]
        if match["beside"]:
            yield problem(f"{match['beside']}: {said(body)}", *place(body))
        else:
            yield _problem(match["test"], body)


def _problem(name: str, body: str) -> Problem:
    file, _, test = name.partition(" > ")
    file = file.split(" [")[0].rpartition("| ")[2]
    if not test:
        return problem(*unloaded(body, file), test=file)
    found, line = place(body)
    return problem(said(body), found or file, line, test=f"{file}::{test}")
