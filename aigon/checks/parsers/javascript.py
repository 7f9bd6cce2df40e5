"""Runners of JavaScript: their reports, or their text.

node:test writes JUnit XML, TAP or the text of the `spec` reporter, mocha JSON, bun JUnit XML, and jest and vitest share
a JSON report. Matchers read the text of mocha, bun, jest and vitest.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.parsers import junit
from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.output import Row, read_documents, read_text
from aigon.checks.parsers.readings import ResultTally, describe_unknown, keep_distinct, make_problem
from aigon.checks.parsers.stacks import (
    describe_failure,
    describe_script,
    explain_failures,
    explain_unloaded,
    find_crashes,
    find_frame,
    find_thresholds,
    read_crash,
)
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import object_at, objects_at, text_at, texts_at

_ANNOUNCEMENT = compile_re(r":$|^failed running \w+ hook$")
_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other words (pending, todo, skipped, disabled) are all of tests that did not run."""
_STACK_ONLY = "STACK_TRACE_ERROR"
"""What the JSON report has in place of the message of a test that ran out of time."""


def read_nodetest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A test that was cancelled counts as an error."""
    lines = read_text(output)
    reading = junit.read_report(report)
    if reading is None:
        return load_tests("nodetest").read_lines(lines) or read_crash(lines) or describe_unknown(lines)
    # What the output says of tests by their own name; None for a name that several have.
    printed: dict[str, Problem | None] = {}
    for problem in load_tests("nodetest").find_problems(lines):
        name = problem.test.rpartition("::")[2]
        printed[name] = None if name in printed else problem
    completed = (_complete(each, printed.get(each.test.rpartition("::")[2])) for each in reading.problems)
    problems = (*explain_failures(completed, find_crashes(lines)), *find_thresholds(lines))
    return replace(reading, problems=problems)


def _complete(reported: Problem, printed: Problem | None) -> Problem:
    """Return the report's problem with the output's message if its own only announces one, and with a place."""
    if printed is None or (reported.file and printed.file and reported.file != printed.file):
        return reported
    message = printed.message if _ANNOUNCEMENT.search(reported.message) else reported.message
    placed = reported if reported.line else printed
    return replace(reported, message=message, file=placed.file or reported.file, line=placed.line)


_UNLOADED = compile_re(r"^ *Exception during run: |^ *✖ ERROR: ", re.M)
_LISTS: dict[str, TestResult] = {"passes": "passed", "pending": "skipped", "failures": "failed"}


def read_mocha(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; a report file is JSON, or JUnit XML from a reporter for that."""
    if reading := junit.read_report(report):
        return reading
    lines = read_text(output)
    if reading := read_documents(output, report, lambda document: _read_document(document, lines)):
        return reading
    return load_tests("mocha").read_lines(lines) or read_unloaded(lines) or read_crash(lines) or describe_unknown(lines)


def _read_document(document: Row, lines: str) -> ParsedOutput | None:
    if not isinstance(document.get("stats"), dict) or not isinstance(document.get("failures"), list):
        return None
    tally = ResultTally()
    for key, result in _LISTS.items():
        for row in objects_at(document, key):
            tally.numbers[result] += 1
            if not junit.HOOK.search(text_at(row, "title")[:1000]):
                tally.record(_name_mocha_test(row), result)
    return tally.read((*map(_describe_row, objects_at(document, "failures")), *find_thresholds(lines)))


def _name_mocha_test(row: Row) -> str:
    file, title = text_at(row, "file"), text_at(row, "fullTitle")
    return f"{file}::{title}" if file else title


def _describe_row(row: Row) -> Problem:
    error = object_at(row, "err")
    stack, message = text_at(error, "stack"), text_at(error, "message")
    file, line = find_frame(stack[:100_000])
    message = describe_script(stack if message[:50] in stack else message)
    return make_problem(message, file or text_at(row, "file"), line, test=_name_mocha_test(row))


def read_unloaded(lines: str) -> ParsedOutput | None:
    """Return why a file could not be loaded, which ends the run before it begins; None if it is not that."""
    match = _UNLOADED.search(lines)
    if match is None:
        return None
    return ParsedOutput(problems=(make_problem(*explain_unloaded(lines[match.end() :], "")),), understood=False)


def read_bun(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Only the output names files that could not be loaded."""
    lines = read_text(output)
    if reading := junit.read_report(report, _describe_case):
        printed = load_tests("bun").find_problems(lines)
        return replace(reading, problems=(*reading.problems, *(each for each in printed if not each.test)))
    return load_tests("bun").read_lines(lines) or describe_unknown(lines)


def _describe_case(case: junit.JunitCase) -> Problem:
    place = find_frame(case.detail)
    message = describe_failure(case.message or case.detail)
    return make_problem(message, *(place if place[0] else case.place), test=case.test)


def read_jest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A test file that cannot be loaded counts as an error."""
    lines = read_text(output)
    reading = read_jest_report(output, report)
    if reading and not reading.problems:
        return replace(reading, problems=tuple(find_thresholds(lines)))
    return reading or load_tests("jest").read_lines(lines) or describe_unknown(lines)


def read_vitest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Test files that cannot be loaded, and errors that no test caught, count as errors."""
    lines = read_text(output)
    reading = read_jest_report(output, report)
    if reading is None:
        return load_tests("vitest").read_lines(lines) or describe_unknown(lines)
    # Only the output says places, thresholds, and errors that no test caught.
    printed = list(load_tests("vitest").find_problems(lines))
    by_test = {each.test: each for each in printed}
    problems = [_complete_vitest(each, by_test.get(each.test)) for each in reading.problems]
    beside = [each for each in printed if not each.test]
    return replace(reading, problems=keep_distinct([*problems, *beside, *find_thresholds(lines)]))


def _complete_vitest(reported: Problem, printed: Problem | None) -> Problem:
    if printed is None or (reported.line and _STACK_ONLY not in reported.message):
        return reported
    if _STACK_ONLY in reported.message:
        return replace(printed, file=reported.file, line=reported.line or printed.line)
    return replace(reported, file=printed.file, line=printed.line)


def read_jest_report(output: bytes, report: bytes | None) -> ParsedOutput | None:
    """Return what the report says, JSON or JUnit XML, from its file or printed; None if neither holds one."""
    return junit.read_report(report) or read_documents(output, report, _read_shared_document)


def _read_shared_document(document: Row) -> ParsedOutput | None:
    if not isinstance(document.get("testResults"), list) or "numTotalTests" not in document:
        return None
    files, tally = objects_at(document, "testResults"), ResultTally()
    for file in files:
        for case in objects_at(file, "assertionResults"):
            tally.add(_name_case(case, file), _RESULTS.get(text_at(case, "status"), "skipped"))
    problems = (problem for file in files for problem in _find_problems(file))
    return tally.read(problems, errors=sum(map(_has_not_run, files)))


def _has_not_run(file: Row) -> bool:
    """Return whether a test file failed itself: it could not be loaded, a hook failed, or snapshots have no test.

    If tests failed too, jest puts these into the file's message, each behind a bullet; vitest puts there only what is
    wrong with the file.
    """
    if file.get("status") != "failed":
        return False
    message = strip_escapes(text_at(file, "message")[:1000]).strip()
    failed = any(case.get("status") == "failed" for case in objects_at(file, "assertionResults"))
    return bool(message and message[0] != "●") or not failed


def _find_problems(file: Row) -> Iterator[Problem]:
    name = text_at(file, "name")
    if _has_not_run(file):
        yield make_problem(*explain_unloaded(text_at(file, "message"), name), test=name)
    for case in objects_at(file, "assertionResults"):
        if case.get("status") == "failed":
            message = "\n".join(texts_at(case, "failureMessages"))
            found, line = find_frame(message[:100_000])
            place = (found or name, line if found else 0)
            yield make_problem(describe_failure(message), *place, test=_name_case(case, file))


def _name_case(case: Row, file: Row) -> str:
    titles = (*texts_at(case, "ancestorTitles"), text_at(case, "title"))
    return f"{text_at(file, 'name')}::{' > '.join(filter(None, titles))}"  # vitest 1 begins with an empty one
