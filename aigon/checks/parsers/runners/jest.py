"""jest and vitest: the JSON report that they share, or the text of either."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.parsers.documents import Row, as_rows, as_string, as_strings, read_documents
from aigon.checks.parsers.output import find_sections, parse_number, read_text, sum_words
from aigon.checks.parsers.readings import ResultTally, describe_unknown, keep_distinct, make_problem, summarize_tests
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import describe_failure, explain_unloaded, find_frame, find_thresholds
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.fingerprints import strip_escapes
from aigon.text.patterns import compile_re

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other words (pending, todo, skipped, disabled) are all of tests that did not run."""
_NUMBER = compile_re(r"(?P<number>\d+) (?P<word>[a-z]+)")
_SPAN = 20_000
"""Characters of one failure that are read."""

_JEST_TESTS = compile_re(r"^Tests: +(?P<numbers>(?:\d+ [a-z]+, ){0,6}\d+ total)$", re.M)
_JEST_NONE = compile_re(r"^No tests found", re.M)
_JEST_FAILURE = compile_re(r"^(?:FAIL (?P<file>[^\n]+)|  ● (?P<test>[^\n]+))$", re.M)
_CONSOLE = compile_re(r"\n{1,3} +console\.\w+\n")
"""What a test printed stands under a bullet of its own, `● Console`."""
_PROJECT = compile_re(r"^\S+ +(?=[^\s/]*[/.])")
_NOT_RUN = "Test suite failed to run"

_VITEST_TESTS = compile_re(
    r"^ Test Files  [^\n]+\n +Tests  (?P<numbers>no tests|[^\n]{1,300})(?:\n +Errors  (?P<errors>\d{1,9}) errors?)?$",
    re.M,
)
_VITEST_NONE = compile_re(r"^No test files found", re.M)
_SUITES = compile_re(r"^⎯+ Failed Suites (?P<number>\d{1,9}) ⎯", re.M)
_VITEST_FAILURE = compile_re(
    r"^(?: FAIL  (?P<test>[^\n]+)|⎯+ (?P<beside>(?:Uncaught|Unhandled) (?!Errors)[^\n⎯]*?) ⎯+)$", re.M
)
_STACK_ONLY = "STACK_TRACE_ERROR"
"""What the JSON report has in place of the message of a test that ran out of time."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A test file that cannot be loaded counts as an error."""
    lines = read_text(output)
    reading = read_report(output, report)
    if reading and not reading.problems:
        return replace(reading, problems=tuple(find_thresholds(lines)))
    return reading or read_jest_text(lines) or describe_unknown(lines)


def read_jest_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not jest's."""
    totals = list(_JEST_TESTS.finditer(lines))
    if not totals and not _JEST_NONE.search(lines):
        return None
    numbers = sum_words(match for total in totals for match in _NUMBER.finditer(total["numbers"]))
    problems = [*_find_jest_failures(lines), *find_thresholds(lines)]
    errors = len({each.test for each in problems if each.test and "::" not in each.test})
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"] + numbers["todo"], errors)
    return summarize_tests(counts, problems)


def _find_jest_failures(lines: str) -> Iterator[Problem]:
    file = ""
    for match, body in find_sections(_JEST_FAILURE, lines, span=_SPAN):
        test = match["test"]
        if match["file"]:  # behind the name of its project, before how long it took
            file = _PROJECT.sub("", match["file"].split(" (")[0].strip()).removeprefix("./")
        elif file and test == _NOT_RUN:
            yield make_problem(*explain_unloaded(body, file), test=file)
        elif file and not _CONSOLE.match(body):
            found, line = find_frame(body)
            name = f"{file}::{test.replace(' › ', ' > ')}"
            yield make_problem(describe_failure(body), found or file, line, test=name)


def read_vitest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Test files that cannot be loaded, and errors that no test caught, count as errors."""
    lines = read_text(output)
    reading = read_report(output, report)
    if reading is None:
        return read_vitest_text(lines) or describe_unknown(lines)
    # Only the output says places, thresholds, and errors that no test caught.
    printed = list(_find_vitest_failures(lines))
    by_test = {each.test: each for each in printed}
    problems = [_complete(each, by_test.get(each.test)) for each in reading.problems]
    beside = [each for each in printed if not each.test]
    return replace(reading, problems=keep_distinct([*problems, *beside, *find_thresholds(lines)]))


def _complete(reported: Problem, printed: Problem | None) -> Problem:
    if printed is None or (reported.line and _STACK_ONLY not in reported.message):
        return reported
    if _STACK_ONLY in reported.message:
        return replace(printed, file=reported.file, line=reported.line or printed.line)
    return replace(reported, file=printed.file, line=printed.line)


def read_vitest_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not vitest's."""
    totals = list(_VITEST_TESTS.finditer(lines))
    if not totals and not _VITEST_NONE.search(lines):
        return None
    numbers = sum_words(match for total in totals for match in _NUMBER.finditer(total["numbers"]))
    errors = sum(parse_number(match["number"]) for match in _SUITES.finditer(lines))
    errors += sum(parse_number(match["errors"]) for match in totals)
    passed = numbers["passed"] + numbers["expected"]  # `1 expected fail` is of a test that is meant to
    counts = TestCounts(0, passed, numbers["failed"], numbers["skipped"] + numbers["todo"], errors)
    return summarize_tests(counts, (*_find_vitest_failures(lines), *find_thresholds(lines)))


def _find_vitest_failures(lines: str) -> Iterator[Problem]:
    for match, body in find_sections(_VITEST_FAILURE, lines, span=_SPAN):
        found, line = find_frame(body)
        if match["beside"]:
            yield make_problem(f"{match['beside']}: {describe_failure(body)}", found, line)
            continue
        file, _, test = match["test"].partition(" > ")
        file = file.split(" [")[0].rpartition("| ")[2]
        if test:
            yield make_problem(describe_failure(body), found or file, line, test=f"{file}::{test}")
        else:
            yield make_problem(*explain_unloaded(body, file), test=file)


def read_report(output: bytes, report: bytes | None) -> ParsedOutput | None:
    """Return what the report says, JSON or JUnit XML, from its file or printed; None if neither holds one."""
    return junit.read_report(report) or read_documents(output, report, _read_document)


def _read_document(document: Row) -> ParsedOutput | None:
    if not isinstance(document.get("testResults"), list) or "numTotalTests" not in document:
        return None
    files, tally = as_rows(document["testResults"]), ResultTally()
    for file in files:
        for case in as_rows(file.get("assertionResults")):
            tally.add(_name_case(case, file), _RESULTS.get(as_string(case.get("status")), "skipped"))
    problems = (problem for file in files for problem in _find_problems(file))
    return tally.read(problems, errors=sum(map(_has_not_run, files)))


def _has_not_run(file: Row) -> bool:
    """Return whether a test file failed itself: it could not be loaded, a hook failed, or snapshots have no test.

    If tests failed too, jest puts these into the file's message, each behind a bullet; vitest puts there only what is
    wrong with the file.
    """
    if file.get("status") != "failed":
        return False
    message = strip_escapes(as_string(file.get("message"))[:1000]).strip()
    failed = any(case.get("status") == "failed" for case in as_rows(file.get("assertionResults")))
    return bool(message and message[0] != "●") or not failed


def _find_problems(file: Row) -> Iterator[Problem]:
    name = as_string(file.get("name"))
    if _has_not_run(file):
        yield make_problem(*explain_unloaded(as_string(file.get("message")), name), test=name)
    for case in as_rows(file.get("assertionResults")):
        if case.get("status") == "failed":
            message = "\n".join(as_strings(case.get("failureMessages")))
            found, line = find_frame(message[:100_000])
            place = (found or name, line if found else 0)
            yield make_problem(describe_failure(message), *place, test=_name_case(case, file))


def _name_case(case: Row, file: Row) -> str:
    titles = (*as_strings(case.get("ancestorTitles")), as_string(case.get("title")))
    return f"{as_string(file.get('name'))}::{' > '.join(filter(None, titles))}"  # vitest 1 begins with an empty one
