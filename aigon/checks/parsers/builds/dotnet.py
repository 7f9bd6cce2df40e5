"""`dotnet`: the .trx reports of its tests, and what MSBuild prints. Written from their documentation, never tested
against the tool.

Each test project writes a report of its own; several may stand one behind the other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

from aigon.checks.parsers.documents import read_xml
from aigon.checks.parsers.readings import (
    KEPT_TESTS,
    READ_MATCHES,
    ResultTally,
    describe_unknown,
    join_lines,
    keep_distinct,
    make_problem,
    merge_readings,
    parse_number,
    read_text,
    sum_groups,
    summarize_tests,
    summarize_types,
)
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml ")
_REPORTS = 2000
_TRACE = 20_000
"""Characters of a stack trace that are read."""
_RESULTS: dict[str, TestResult] = {
    "Passed": "passed", "Completed": "passed", "Warning": "passed", "Failed": "failed", "NotExecuted": "skipped",
    "Inconclusive": "skipped", "NotRunnable": "skipped", "Pending": "skipped",
}  # fmt: skip
"""All others are of tests that did not end: Error, Timeout, Aborted, Disconnected, InProgress, PassedButRunAborted."""
_PLACED = re.compile(
    r"^ *(?P<file>[^\s(:][^(:\n]*)\((?P<line>\d+)(?:,\d+){0,3}\): (?P<severity>error|warning) (?P<rule>\w+): "
    r"(?P<message>[^\n]+)$",
    re.M,
)
_BARE = re.compile(
    r"^ *(?:[^\s:][^:\n]* : )?(?P<severity>error|warning) (?P<rule>[A-Z]{2,}\d+): (?P<message>[^\n]+)$", re.M
)
_TOTAL = re.compile(
    r"^(?:Passed!|Failed!|Skipped!) +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), Skipped: +(?P<skipped>\d+), "
    r"Total: +\d+",
    re.M,
)
_SUMMARY = re.compile(
    r"^ *Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: (?P<skipped>\d+)", re.M
)
_OWN = re.compile(
    r"^ *(?:Build succeeded|Build FAILED|Determining projects to restore|Restore complete|Formatted \d+ of)", re.M
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures of the reports, or of what was printed: the compiler's errors or the tests' sum."""
    if report is None:
        lines = read_text(output)
        return _read_lines(lines) or describe_unknown(lines)
    begins = [match.start() for match in islice(_DECLARATION.finditer(report), _REPORTS)] or [0]
    parts = (report[begin:end] for begin, end in zip(begins, [*begins[1:], len(report)], strict=True))
    readings = [_read_trx(part) for part in parts]
    sound = [reading for reading in readings if reading is not None]
    return merge_readings(sound) if len(sound) == len(readings) else ParsedOutput(understood=False)


def _read_lines(lines: str) -> ParsedOutput | None:
    # MSBuild says each error twice, once more at its end.
    problems = keep_distinct(_find_errors(lines))
    totals = list(_TOTAL.finditer(lines)) or list(_SUMMARY.finditer(lines))[-1:]
    if totals and not any(each.severity == "error" for each in problems):
        numbers = sum_groups(totals)
        return summarize_tests(TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"]))
    if problems:
        return summarize_types(problems)
    return ParsedOutput() if _OWN.search(lines) else None


def _find_errors(lines: str) -> Iterator[Problem]:
    for match in chain.from_iterable(islice(form.finditer(lines), READ_MATCHES) for form in (_PLACED, _BARE)):
        groups = match.groupdict()
        message, project, end = match["message"].rpartition(" [")
        message = message if message and project and end.endswith("]") else match["message"]
        file, line = groups.get("file", ""), parse_number(groups.get("line"))
        yield make_problem(message, file, line, match["rule"], match["severity"])


@dataclass(slots=True)
class _TrxResult:
    """One `UnitTestResult`. If it `has_inner` ones, those are the tests."""

    test: str
    name: str
    outcome: str
    message: str = ""
    trace: str = ""
    has_inner: bool = False

    @property
    def result(self) -> TestResult:
        return _RESULTS.get(self.outcome, "error")

    def identify(self, classes: Mapping[str, str]) -> str:
        """Return the name with its class: MSTest and NUnit name only the method."""
        owner = classes.get(self.test, "")
        return self.name if not owner or self.name.startswith(f"{owner}.") else f"{owner}.{self.name}"


@dataclass(slots=True)
class _Trx:
    """Collects the results of one run of Visual Studio's test platform."""

    results: list[_TrxResult] = field(default_factory=list)
    open: list[_TrxResult] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)
    test: str = ""
    accidents: list[str] = field(default_factory=list)
    run_failed: bool = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        get = attributes.get
        if tag == "UnitTestResult":
            for outer in self.open:
                outer.has_inner = True
            self.open.append(_TrxResult(get("testId", ""), get("testName", ""), get("outcome", "")))
        elif tag == "UnitTest":
            self.test = get("id", "")
        elif tag == "TestMethod" and self.test and len(self.classes) < KEPT_TESTS:
            self.classes[self.test] = get("className", "").partition(",")[0]
        elif tag == "RunInfo":
            self.run_failed = get("outcome") in ("Error", "Failed")

    def end(self, tag: str, text: str) -> None:
        if self.open and tag == "Message":
            self.open[-1].message = text
        elif self.open and tag == "StackTrace":
            self.open[-1].trace = text[:_TRACE]
        elif self.open and tag == "UnitTestResult":
            result = self.open.pop()
            if not result.has_inner and len(self.results) < KEPT_TESTS:
                self.results.append(result)
        elif tag == "Text" and self.run_failed and len(self.accidents) < READ_MATCHES:
            self.accidents.append(text.strip())


def _read_trx(report: bytes) -> ParsedOutput | None:
    trx, tally = _Trx(), ResultTally()
    if read_xml(report, trx.start, trx.end) != "TestRun":
        return None
    for each in trx.results:
        tally.add(each.identify(trx.classes), each.result)
    return tally.read(_find_failures(trx))


def _find_failures(trx: _Trx) -> Iterator[Problem]:
    broken = [each for each in trx.results if each.result in ("failed", "error")]
    for each in broken[:READ_MATCHES]:
        file, line = _find_frame(each.trace)
        message = join_lines(each.message)[:1000] or each.outcome or "failed"
        yield make_problem(message, file, line, test=each.identify(trx.classes))
    if not broken:
        # A crashed host leaves no result of the test that it crashed in.
        yield from map(make_problem, trx.accidents)


def _find_frame(trace: str) -> tuple[str, int]:
    """Return the innermost frame with a source: `   at Tests.Calc.Adds() in /src/Calc.cs:line 9`."""
    for frame in trace.split("\n"):
        before, _, digits = frame.strip().rpartition(":line ")
        _, inside, file = before.partition(" in ")
        if inside and digits.isdecimal():
            return file, parse_number(digits)
    return "", 0
