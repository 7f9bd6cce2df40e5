"""`dotnet`: the .trx reports of its tests; a matcher reads what is printed. Written from their documentation, never
tested against the tool.

Each test project writes a report of its own; several may follow one another.
"""

from collections.abc import Mapping
from itertools import islice

from msgspec import Struct

from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import READ_MATCHES, join_lines, parse_number, read_xml
from aigon.checks.parsers.readings import KEPT_TESTS, ResultTally, make_problem, merge_readings
from aigon.model.checks import ParsedOutput, Problem, TestResult
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


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures of the reports, or of what was printed: the compiler's errors or the tests' sum."""
    if report is None:
        return load_matcher("dotnet").read(output, None)
    begins = [match.start() for match in islice(_DECLARATION.finditer(report), _REPORTS)] or [0]
    parts = (report[begin:end] for begin, end in zip(begins, [*begins[1:], len(report)], strict=True))
    readings = [_Trx().read(part) for part in parts]
    sound = [reading for reading in readings if reading is not None]
    return merge_readings(sound) if len(sound) == len(readings) else ParsedOutput(understood=False)


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
