"""Reports of runners that are no JUnit XML: RSpec's JSON, and the .trx of `dotnet`. Matchers read what they print.

The latter is written from its documentation, never tested against the tool. Each of its test projects writes a report
of its own; several may follow one another.
"""

import re
from collections.abc import Mapping
from itertools import islice

from msgspec import Struct

from aigon.checks.parsers.matchers import load_matcher, load_tests
from aigon.checks.parsers.output import READ_MATCHES, Row, join_lines, load_json, parse_number, read_xml
from aigon.checks.parsers.readings import KEPT_TESTS, ResultTally, make_problem, merge_readings
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, object_at, objects_at, text_at, texts_at

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other word, pending, is also of an example that is known to fail."""
_FRAME = compile_re(r"^(?:# )?(?:\./)?(?P<file>[^\s:][^:\n]*\.rb):(?P<line>\d+):in ", re.M)
_ERROR = compile_re(r"^(?P<what>[A-Z][\w:]{0,200}):\n[ \t]*(?P<why>[^\n]+)", re.M)
_FOREIGN = ("/", "<", "vendor/", "../")


def read_rspec(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Errors outside of examples (a file that cannot be loaded) count as errors."""
    document = object_at(load_json(report))
    if isinstance(document.get("examples"), list) and isinstance(document.get("summary"), dict):
        return _read_document(document)
    return load_tests("rspec").read(output, None)


def _read_document(document: Row) -> ParsedOutput:
    examples = objects_at(document, "examples")
    tally = ResultTally((_name_example(each), _RESULTS.get(text_at(each, "status"), "skipped")) for each in examples)
    errors = count_at(document, "summary", "errors_outside_of_examples_count")
    messages = texts_at(document, "messages")[:READ_MATCHES] if errors else []
    outside = (_describe_error(message) for message in messages if "error occurred" in message)
    failed = (_describe_example(each) for each in examples if each.get("status") == "failed")
    return tally.read((*outside, *failed), errors)


def _describe_error(message: str) -> Problem:
    """`An error occurred while loading ./spec/a_spec.rb.`, what failed, the error, and where it came from."""
    frames = _FRAME.finditer(message[:20_000])
    own = next((match for match in frames if match[0][0] == "#" and not match["file"].startswith(_FOREIGN)), None)
    place = (own["file"], parse_number(own["line"])) if own else ("", 0)
    error = _ERROR.search(message[:20_000])
    first = next((each for each in message.split("\n") if each.strip()), "")
    loaded = first.rpartition("while loading ")[2].strip().removesuffix(".") if "loading" in first else ""
    text = f"{error['what']}: {error['why']}" if error else first
    return make_problem(text, *place, test=loaded.removeprefix("./"))


def _describe_example(example: Row) -> Problem:
    exception = object_at(example, "exception")
    place = (text_at(example, "file_path").removeprefix("./"), count_at(example, "line_number"))
    # The innermost frame of the project; paths in it are relative by now, those of gems are not.
    for frame in texts_at(exception, "backtrace")[:1000]:
        match = _FRAME.match(frame[:1000])
        if match and not match["file"].startswith(_FOREIGN):
            place = (match["file"], parse_number(match["line"]))
            break
    message = " ".join(text_at(exception, "message")[:1000].replace("(compared using ==)", "").split())
    name = text_at(exception, "class")
    if not name.startswith("RSpec::"):
        message = f"{name}: {message}" if name else message or "failed"
    return make_problem(message, *place, test=_name_example(example))


def _name_example(example: Row) -> str:
    file = text_at(example, "file_path").removeprefix("./")
    return f"{file}::{text_at(example, 'full_description') or text_at(example, 'id')}"


_DECLARATION = compile_re(rb"(?:\xef\xbb\xbf)?<\?xml ")
_REPORTS = 2000
_TRACE = 20_000
"""Characters of a stack trace that are read."""
_OUTCOMES: dict[str, TestResult] = {
    "Passed": "passed", "Completed": "passed", "Warning": "passed", "Failed": "failed", "NotExecuted": "skipped",
    "Inconclusive": "skipped", "NotRunnable": "skipped", "Pending": "skipped",
}  # fmt: skip
"""All others are of tests that did not end: Error, Timeout, Aborted, Disconnected, InProgress, PassedButRunAborted."""


def read_dotnet(output: bytes, report: bytes | None) -> ParsedOutput:
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
        results = [(self._identify(each), _OUTCOMES.get(each.outcome, "error"), each) for each in self._results]
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
