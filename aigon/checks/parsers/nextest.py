"""cargo-nextest: its JUnit report, or its lines (`PASS [   0.004s] demo::it adds`) and their sum.

From its documentation: nexte.st/docs/running, /reporting and /machine-readable/junit, and the lines' tests in its
repository.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers import _rustc, cargotest, junit
from aigon.checks.parsers._cases import cases
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._libtest import gaps
from aigon.checks.parsers._panics import told
from aigon.checks.parsers._problems import KEPT, number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import shortened, whole
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.fingerprints import strip_escapes

_LINE = re.compile(
    r"^(?=.{12,14} \[) *(?P<status>[A-Z][A-Z0-9 +-]*?)(?: \d+/\d+)? \[ *[\d.]+s\] (?:\( *[\d─]+(?:/\d+)?\) )?"
    r"(?P<binary>\S+) +(?P<test>\S[^\n]*)$",
    re.M,
)
"""A status stands in a column of twelve: what tests print is further to the right."""
_SUM = re.compile(r"^ {5}Summary \[ *[\d.]+s\] \d+(?:/\d+)? tests? run: (?P<numbers>[^\n]*)$", re.M)
_NUMBER = re.compile(r"(\d+) (passed|failed|exec failed|timed out|skipped)\b")
_ASIDE = re.compile(r" ?\([^()]*\)")
_NONE = re.compile(r"^(?:error|warning): no tests to run\b", re.M)
_TRY = re.compile(r"^TRY \d+ ")
_INDENT = re.compile(r"^    ", re.M)
_SAID = re.compile(r"^(?:thread '|Error: )", re.M)
_PASSED = ("PASS", "LEAK", "FLAKY", "SLOW + LEAK", "TIMEOUT-PASS", "SLOW+TMPASS")
_SPAN = 20_000
"""Characters of one failure that are read."""
_READ = 200_000
"""Lines on tests that are read."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts, failures and results by id (`demo::it::adds`). A test that it could not start or that ran out of time
    counts as an error; one that passed at a later try passed."""
    if report and (reading := _reported(report)).understood:
        return reading
    return printed(lines := shortened(strip_escapes(whole(output)))) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    sums = list(_SUM.finditer(lines))
    if not sums:
        none = _NONE.search(lines)
        return tests(TestCounts()) if none else _uncompiled(lines)
    results = dict(_results(lines[: sums[-1].start()]))
    problems = list(_problems(lines))
    if len(sums) > 1:  # more than one run: their sums are to be added up, their tests may be the same ones
        results = {}
    counts = _counts(sums)
    return replace(tests(counts, problems), tests=_ids(results) if _complete(results, counts, lines) else {})


def _reported(report: bytes) -> ParsedOutput:
    """Its cases name a test's binary as their class."""
    reading = junit.read(b"", report)
    reader, _ = cases(report, KEPT)
    places = {case.test: told(case.detail or case.message) for case in reader.cases}
    return replace(reading, problems=tuple(_with(each, places.get(each.test)) for each in reading.problems))


def _with(found: Problem, place: tuple[str, str, int] | None) -> Problem:
    return problem(*place, test=found.test) if place and place[0] else found


def _counts(sums: list[re.Match[str]]) -> TestCounts:
    """What was cancelled before it ran is in no sum."""
    said = dict.fromkeys(("passed", "failed", "exec failed", "timed out", "skipped"), 0)
    for match in sums:
        for digits, word in _NUMBER.findall(_ASIDE.sub("", match["numbers"])):
            said[word] += number(digits)
    return TestCounts(0, said["passed"], said["failed"], said["skipped"], said["exec failed"] + said["timed out"])


def _results(lines: str) -> Iterator[tuple[str, TestResult]]:
    """The last word on each test: a try before it is none."""
    for match in _LINE.finditer(lines):
        if result := _result(match):
            yield f"{match['binary']}::{match['test']}", result


def _result(line: re.Match[str]) -> TestResult | None:
    status = _status(line)
    if status in _PASSED:
        return "passed"
    if status in ("SLOW", "TERMINATING", "START"):  # of one that runs; `SLOW` in the list at the end says no more
        return None
    return "skipped" if status == "SKIP" else "error" if "TIMEOUT" in status or "TMT" in status else "failed"


def _status(line: re.Match[str]) -> str:
    return _TRY.sub("", line["status"].strip())


def _complete(results: Mapping[str, TestResult], counts: TestCounts, lines: str) -> bool:
    """Whether each test that ran has a line of its own."""
    ran = [result for result in results.values() if result != "skipped"]
    agree = counts.passed + counts.failed + counts.errors == len(ran) and counts.passed == ran.count("passed")
    return agree and not gaps(lines)


def _ids(results: Mapping[str, TestResult]) -> Mapping[str, TestResult]:
    seen = Seen()
    for test, result in results.items():
        seen.add(test, result)
    return seen.results()


def _problems(lines: str) -> Iterator[Problem]:
    """One for each test that failed, as it did first; nextest names them once more below its sum."""
    found: dict[str, Problem] = {}
    begins = list(islice(_LINE.finditer(lines), _READ))
    ends = [match.start() for match in begins[1:]]
    for match, end in zip(begins, [*ends, len(lines)], strict=False):
        test, result = f"{match['binary']}::{match['test']}", _result(match)
        if result == "passed":
            found.pop(test, None)
        elif result in ("failed", "error") and test not in found:
            found[test] = _problem(test, _status(match), lines[match.end() : min(end, match.end() + _SPAN)])
    yield from found.values()


def _problem(test: str, status: str, body: str) -> Problem:
    """nextest indents what a test printed."""
    body = _INDENT.sub("", body)
    said, file, line = told(body) if _SAID.search(body) else ("", "", 0)
    return problem(said or {"TIMEOUT": "timed out", "FAIL": "failed"}.get(status, status), file, line, test=test)


def _uncompiled(lines: str) -> ParsedOutput | None:
    """nextest hands on what cargo says of a build that failed."""
    return cargotest.printed(lines) if _rustc.uncompiled(lines) else None
