"""`dotnet`: the .trx reports of its tests, and what MSBuild prints. Written from their documentation, never tested
against the tool.

Each test project writes a report of its own; several may follow one another.
"""

import re
from collections.abc import Mapping
from itertools import chain, islice

from msgspec import Struct

from aigon.checks.parsers.output import READ_MATCHES, join_lines, parse_number, read_text, read_xml, sum_groups
from aigon.checks.parsers.readings import (
    KEPT_TESTS,
    ResultTally,
    describe_unknown,
    find_problems,
    keep_distinct,
    make_problem,
    merge_readings,
    summarize_tests,
    summarize_types,
)
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re

_DECLARATION = compile_re(rb"(?:\xef\xbb\xbf)?<\?xml ")
_REPORTS = 2000
_TRACE = 20_000
"""Characters of a stack trace that are read."""
_RESULTS: dict[str, TestResult] = {
    "Passed": "passed", "Completed": "passed", "Warning": "passed", "Failed": "failed", "NotExecuted": "skipped",
    "Inconclusive": "skipped", "NotRunnable": "skipped", "Pending": "skipped",
}  # fmt: skip
"""All others are of tests that did not end: Error, Timeout, Aborted, Disconnected, InProgress, PassedButRunAborted."""
_PLACED = compile_re(
    r"^ *(?P<file>[^\s(:][^(:\n]*)\((?P<line>\d+)(?:,\d+){0,3}\): (?P<severity>error|warning) (?P<rule>\w+): "
    r"(?P<message>[^\n]+?)(?: \[[^\[\]\n]*\])?$",
    re.M,
)
_BARE = compile_re(
    r"^ *(?:[^\s:][^:\n]* : )?(?P<severity>error|warning) (?P<rule>[A-Z]{2,}\d+): "
    r"(?P<message>[^\n]+?)(?: \[[^\[\]\n]*\])?$",
    re.M,
)
_TOTAL = compile_re(
    r"^(?:Passed!|Failed!|Skipped!) +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), Skipped: +(?P<skipped>\d+), "
    r"Total: +\d+",
    re.M,
)
_SUMMARY = compile_re(
    r"^ *Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: (?P<skipped>\d+)", re.M
)
_OWN = compile_re(
    r"^ *(?:Build succeeded|Build FAILED|Determining projects to restore|Restore complete|Formatted \d+ of)", re.M
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures of the reports, or of what was printed: the compiler's errors or the tests' sum."""
    if report is None:
        lines = read_text(output)
        return _read_lines(lines) or describe_unknown(lines)
    begins = [match.start() for match in islice(_DECLARATION.finditer(report), _REPORTS)] or [0]
    parts = (report[begin:end] for begin, end in zip(begins, [*begins[1:], len(report)], strict=True))
    readings = [_Trx().read(part) for part in parts]
    sound = [reading for reading in readings if reading is not None]
    return merge_readings(sound) if len(sound) == len(readings) else ParsedOutput(understood=False)


def _read_lines(lines: str) -> ParsedOutput | None:
    # MSBuild says each error twice, once more at its end. The project is in brackets behind the message.
    problems = keep_distinct(chain(find_problems(_PLACED, lines), find_problems(_BARE, lines)))
    totals = list(_TOTAL.finditer(lines)) or list(_SUMMARY.finditer(lines))[-1:]
    if totals and not any(each.severity == "error" for each in problems):
        numbers = sum_groups(totals)
        return summarize_tests(TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"]))
    if problems:
        return summarize_types(problems)
    return ParsedOutput() if _OWN.search(lines) else None


class _TrxResult(Struct):
    """One `UnitTestResult`. If it `has_inner` ones, those are the tests."""

    test: str
    name: str
    outcome: str
    message: str = ""
    trace: str = ""
    has_inner: bool = False


class _Trx:
    """One run of Visual Studio's test platform."""

    def __init__(self) -> None:
        self._results: list[_TrxResult] = []
        self._open: list[_TrxResult] = []
        self._classes: dict[str, str] = {}
        self._test = ""
        self._accidents: list[str] = []
        self._has_run_failed = False

    def read(self, report: bytes) -> ParsedOutput | None:
        if read_xml(report, self._start, self._end) != "TestRun":
            return None
        results = [(self._identify(each), _RESULTS.get(each.outcome, "error"), each) for each in self._results]
        tally = ResultTally((test, result) for test, result, _ in results)
        broken = (_describe_failure(test, each) for test, result, each in results if result in ("failed", "error"))
        # A crashed host leaves no result of the test that it crashed in.
        return tally.read(tuple(islice(broken, READ_MATCHES)) or map(make_problem, self._accidents))

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        get = attributes.get
        if tag == "UnitTestResult":
            for outer in self._open:
                outer.has_inner = True
            self._open.append(_TrxResult(get("testId", ""), get("testName", ""), get("outcome", "")))
        elif tag == "UnitTest":
            self._test = get("id", "")
        elif tag == "TestMethod" and self._test and len(self._classes) < KEPT_TESTS:
            self._classes[self._test] = get("className", "").partition(",")[0]
        elif tag == "RunInfo":
            self._has_run_failed = get("outcome") in ("Error", "Failed")

    def _end(self, tag: str, text: str) -> None:
        if self._open and tag == "Message":
            self._open[-1].message = text
        elif self._open and tag == "StackTrace":
            self._open[-1].trace = text[:_TRACE]
        elif self._open and tag == "UnitTestResult":
            result = self._open.pop()
            if not result.has_inner and len(self._results) < KEPT_TESTS:
                self._results.append(result)
        elif tag == "Text" and self._has_run_failed and len(self._accidents) < READ_MATCHES:
            self._accidents.append(text.strip())

    def _identify(self, result: _TrxResult) -> str:
        """Return the name with its class: MSTest and NUnit name only the method."""
        owner = self._classes.get(result.test, "")
        return result.name if not owner or result.name.startswith(f"{owner}.") else f"{owner}.{result.name}"


def _describe_failure(test: str, result: _TrxResult) -> Problem:
    """Return it at the innermost frame with a source: `   at Tests.Calc.Adds() in /src/Calc.cs:line 9`."""
    frames = (frame.strip().rpartition(":line ") for frame in result.trace.split("\n"))
    places = ((before.partition(" in "), parse_number(digits)) for before, _, digits in frames if digits.isdecimal())
    file, line = next(((parts[2], line) for parts, line in places if parts[1]), ("", 0))
    return make_problem(join_lines(result.message)[:1000] or result.outcome or "failed", file, line, test=test)
