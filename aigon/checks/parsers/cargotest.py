"""`cargo test`: what its binaries printed, or what could not be compiled; and cargo-nextest's report or lines.

Tests of the same name in two binaries are two tests, so an id begins with the binary: `demo src/lib.rs::tests::adds`,
`demo::it::adds` for nextest. nextest is read from its documentation (nexte.st/docs: running, reporting,
machine-readable/junit) and the tests in its repository; it was never tested against the tool.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from aigon.checks.parsers.cargo import find_errors, find_uncompiled
from aigon.checks.parsers.junit import JunitCase, describe_case
from aigon.checks.parsers.junit import read_report as read_junit
from aigon.checks.parsers.libtest import TestBinary, explain_failure, read_binaries
from aigon.checks.parsers.output import LARGEST_REPORT, find_sections, has_gap, parse_number, read_text, sum_words
from aigon.checks.parsers.readings import ResultTally, describe_unknown, keep_distinct, make_problem, summarize_tests
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.amounts import format_count
from aigon.text.patterns import compile_re

_DOC = compile_re(r"^(?P<file>.+?) - (?P<item>.*?) ?\(line (?P<line>\d+)\)$")

_LINE = compile_re(
    # A status stands in a column of twelve: what tests print is further to the right.
    r"^(?=.{12,14} \[) *(?P<status>[A-Z][A-Z0-9 +-]*?)(?: \d+/\d+)? \[ *[\d.]+s\] (?:\( *[\d─]+(?:/\d+)?\) )?"
    r"(?P<binary>\S+) +(?P<test>\S[^\n]*)$",
    re.M,
)
_SUM = compile_re(r"^ {5}Summary \[ *[\d.]+s\] \d+(?:/\d+)? tests? run: (?P<numbers>[^\n]*)$", re.M)
_NUMBER = compile_re(r"(?P<number>\d+) (?P<word>passed|failed|exec failed|timed out|skipped)\b")
_ASIDE = compile_re(r" ?\([^()]*\)")
_NONE = compile_re(r"^(?:error|warning): no tests to run\b", re.M)
_TRY = compile_re(r"^TRY \d+ ")
_INDENT = compile_re(r"^    ", re.M)
_EXPLAINED = compile_re(r"^(?:thread '|Error: )", re.M)
_PASSED = ("PASS", "LEAK", "FLAKY", "SLOW + LEAK", "TIMEOUT-PASS", "SLOW+TMPASS")
_RUNNING = ("SLOW", "TERMINATING", "START")
_SPAN = 20_000
"""Characters of one failure that are read."""
_MOST_LINES = 200_000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts, failures and results by id. A binary that ended before its sum counts as an error, and so does
    a target that does not compile."""
    lines = read_text(output or report or b"", LARGEST_REPORT)
    return _read_lines(lines) or describe_unknown(lines)


def read_cargodoc(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return the result of `cargo test --doc`, run next to a runner without doc-tests; no counts without examples."""
    reading = read(output, report)
    is_empty = reading.counts is not None and not reading.counts.total
    return replace(reading, counts=None, summary="no doc-tests") if is_empty else reading


def _read_lines(lines: str) -> ParsedOutput | None:
    if lines.lstrip()[:1] in ("<", "["):  # another runner's report, with this one's words inside
        return None
    binaries, titles = list[tuple[str, TestBinary]](), Counter[str]()
    for binary in read_binaries(lines):  # two packages can both have a `tests/it.rs`
        titles[binary.title] += 1
        number = titles[binary.title]
        binaries.append((f"{binary.title} ({number})" if number > 1 else binary.title, binary))
    uncompiled = find_uncompiled(lines)
    if not binaries and not uncompiled:
        return None
    if not binaries:
        reading = summarize_tests(TestCounts(errors=len(uncompiled)), find_errors(lines))
        errors = f": {format_count(len(reading.problems), 'error')}" if reading.problems else ""
        return replace(reading, summary=f"does not compile{errors}")
    problems = [problem for title, binary in binaries for problem in _find_problems(title, binary)]
    if has_gap(lines):
        # With a part of the output gone any number would be made up.
        return ParsedOutput(problems=keep_distinct(problems), understood=False)
    # With --keep-going some targets run although others do not compile.
    sums = [binary.counted or binary.sum_of_results for _, binary in binaries]
    passed, failed, ignored = (sum(each[place] for each in sums) for place in range(3))
    counts = TestCounts(0, passed, failed, ignored, sum(binary.counted is None for _, binary in binaries))
    reading = summarize_tests(counts, (*problems, *(find_errors(lines) if uncompiled else ())))
    return replace(reading, tests=_collect_results(binaries))


def _collect_results(binaries: Sequence[tuple[str, TestBinary]]) -> Mapping[str, TestResult]:
    """Return none if one result was missed (a test wrote into the line of another) or a binary has no name."""
    tally = ResultTally()
    for title, binary in binaries:
        is_named = title or not binary.results
        if binary.counted is not None and (binary.sum_of_results != binary.counted or not is_named):
            return {}
        for name, result in binary.results:
            tally.record(_identify(title, name), result)
    return tally.results()


def _identify(title: str, name: str) -> str:
    """Return an id without the line of a doc-test, which an edit anywhere above it changes."""
    doc = _DOC.match(name)
    name = f"{doc['file']} - {doc['item']}".removesuffix(" - ") if doc else name
    return f"{title}::{name}" if title else name


def _find_problems(title: str, binary: TestBinary) -> Iterator[Problem]:
    for name in binary.failed:
        output = "\n".join(binary.details.get(name, ()))
        message, file, line = explain_failure(output) if output else ("failed", "", 0)
        if doc := _DOC.match(name):  # a panic in it names a line of the program that was made of it
            file, line = doc["file"], parse_number(doc["line"])
        yield make_problem(message, file, line, test=_identify(title, name))
    if binary.counted is None:
        # It crashed, or a test ended the process: `cargo test` takes an early exit with 0 for a pass.
        message = f"it ended after {len(binary.results)} of {format_count(binary.announced, 'test')}"
        yield make_problem(f"{message}: {binary.crash}" if binary.crash else message, test=title)


def read_nextest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts, failures and results by id. A test that could not be started or that ran out of time counts as an
    error; one that passed at a later try passed."""
    if reading := read_junit(report, _describe_nextest_case):
        return reading
    lines = read_text(output, LARGEST_REPORT)
    return _read_nextest_lines(lines) or describe_unknown(lines)


def _describe_nextest_case(case: JunitCase) -> Problem:
    place = explain_failure(case.detail or case.message)
    return make_problem(*place, test=case.test) if place[0] else describe_case(case)


def _read_nextest_lines(lines: str) -> ParsedOutput | None:
    sums = list(_SUM.finditer(lines))
    if not sums:
        if _NONE.search(lines):
            return summarize_tests(TestCounts())
        # nextest hands on what cargo says of a build that failed.
        return _read_lines(lines) if find_uncompiled(lines) else None
    # What was cancelled before it ran is in no sum.
    numbers = sum_words(each for match in sums for each in _NUMBER.finditer(_ASIDE.sub("", match["numbers"])))
    errors = numbers["exec failed"] + numbers["timed out"]
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], errors)
    reading = summarize_tests(counts, _find_nextest_problems(lines))
    results: dict[str, TestResult] = {}
    for match in _LINE.finditer(lines, 0, sums[-1].start()):
        if result := _rate_nextest(match):  # the last word on each test: a try before it is none
            results[f"{match['binary']}::{match['test']}"] = result
    ran = [result for result in results.values() if result != "skipped"]
    # Of several runs the sums add up, and the tests may be the same ones.
    is_complete = counts.passed + counts.failed + counts.errors == len(ran) and counts.passed == ran.count("passed")
    if len(sums) > 1 or not is_complete or has_gap(lines):
        return reading
    tally = ResultTally()
    for test, result in results.items():
        tally.record(test, result)
    return replace(reading, tests=tally.results())


def _rate_nextest(line: re.Match[str]) -> TestResult | None:
    status = _TRY.sub("", line["status"].strip())
    if status in _PASSED:
        return "passed"
    if status in _RUNNING:  # `SLOW` in the list at the end says no more
        return None
    return "skipped" if status == "SKIP" else "error" if "TIMEOUT" in status or "TMT" in status else "failed"


def _find_nextest_problems(lines: str) -> Iterator[Problem]:
    """Yield each test that failed, as it did first; nextest names them once more below its sum."""
    found: dict[str, Problem] = {}
    for match, body in find_sections(_LINE, lines, _MOST_LINES, _SPAN):
        test, result = f"{match['binary']}::{match['test']}", _rate_nextest(match)
        if result == "passed":
            found.pop(test, None)
        elif result in ("failed", "error") and test not in found:
            body, status = _INDENT.sub("", body), _TRY.sub("", match["status"].strip())
            message, file, line = explain_failure(body) if _EXPLAINED.search(body) else ("", "", 0)
            message = message or {"TIMEOUT": "timed out", "FAIL": "failed"}.get(status, status)
            found[test] = make_problem(message, file, line, test=test)
    yield from found.values()
