"""One .trx report: the results of a run of Visual Studio's test platform."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from aigon.checks.parsers._ids import MOST, Seen
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import tests
from aigon.checks.parsers._xml import stream
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

_RESULTS: dict[str, TestResult] = {
    "Passed": "passed",
    "Completed": "passed",
    "Warning": "passed",
    "Failed": "failed",
    "NotExecuted": "skipped",
    "Inconclusive": "skipped",
    "NotRunnable": "skipped",
    "Pending": "skipped",
}
"""All others are of tests that did not end: Error, Timeout, Aborted, Disconnected, InProgress, PassedButRunAborted."""
_KEPT = 5000
_TRACE = 20_000
"""Characters of a stack trace that are read."""


@dataclass(slots=True)
class _Result:
    """One `UnitTestResult`; `inner` is whether it holds others, which are the tests then."""

    test: str = ""
    name: str = ""
    outcome: str = ""
    message: str = ""
    trace: str = ""
    inner: bool = False


@dataclass(slots=True)
class _Document:
    results: list[_Result] = field(default_factory=list)
    open: list[_Result] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)
    test: str = ""
    failed_runs: list[str] = field(default_factory=list)
    run: bool = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        get = attributes.get
        if tag == "UnitTestResult":
            for outer in self.open:
                outer.inner = True
            self.open.append(_Result(get("testId", ""), get("testName", ""), get("outcome", "")))
        elif tag == "UnitTest":
            self.test = get("id", "")
        elif tag == "TestMethod" and self.test and len(self.classes) < MOST:
            self.classes[self.test] = get("className", "").partition(",")[0]
        elif tag == "RunInfo":
            self.run = get("outcome") in ("Error", "Failed")

    def end(self, tag: str, said: str) -> None:
        if tag == "Message" and self.open:
            self.open[-1].message = said
        elif tag == "StackTrace" and self.open:
            self.open[-1].trace = said
        elif tag == "UnitTestResult" and self.open:
            self._close(self.open.pop())
        elif tag == "Text" and self.run and len(self.failed_runs) < _KEPT:
            self.failed_runs.append(said.strip())

    def _close(self, result: _Result) -> None:
        if not result.inner and len(self.results) < MOST:
            self.results.append(result)


def reading(report: bytes) -> ParsedOutput | None:
    """What a report says; None when it is none, or was not read to its end."""
    document = _Document()
    if stream(report, document.start, document.end) != "TestRun":
        return None
    numbers, seen = Counter[TestResult](), Seen()
    for each in document.results:
        numbers[_result(each)] += 1
        seen.add(_name(each, document.classes), _result(each))
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], numbers["error"])
    return replace(tests(counts, _problems(document)), tests=seen.results())


def _result(result: _Result) -> TestResult:
    return _RESULTS.get(result.outcome, "error")


def _name(result: _Result, classes: Mapping[str, str]) -> str:
    """With its class: MSTest and NUnit name only the method."""
    owner = classes.get(result.test, "")
    return result.name if not owner or result.name.startswith(f"{owner}.") else f"{owner}.{result.name}"


def _problems(document: _Document) -> Iterator[Problem]:
    broken = [each for each in document.results if _result(each) in ("failed", "error")]
    for each in broken[:_KEPT]:
        file, line = _place(each.trace)
        said = " ".join(part.strip() for part in each.message.split("\n") if part.strip())
        yield problem(said[:1000] or each.outcome or "failed", file, line, test=_name(each, document.classes))
    if not broken:
        # A crashed host leaves no result of the test that it crashed in.
        yield from map(problem, document.failed_runs)


def _place(trace: str) -> tuple[str, int]:
    """The innermost frame with a source: `   at Tests.Calc.Adds() in /src/Calc.cs:line 9`."""
    for frame in trace[:_TRACE].split("\n"):
        before, found, digits = frame.strip().rpartition(":line ")
        _, inside, file = before.partition(" in ")
        if found and inside and digits.isdecimal():
            return file, number(digits)
    return "", 0
