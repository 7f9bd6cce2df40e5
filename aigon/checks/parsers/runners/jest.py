"""jest and vitest: the JSON report that they share. Matchers read the text of either."""

from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.parsers.documents import Row, as_rows, as_string, as_strings, read_documents
from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.output import read_text
from aigon.checks.parsers.readings import ResultTally, describe_unknown, keep_distinct, make_problem
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import describe_failure, explain_unloaded, find_frame, find_thresholds
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.quoting import strip_escapes

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other words (pending, todo, skipped, disabled) are all of tests that did not run."""
_STACK_ONLY = "STACK_TRACE_ERROR"
"""What the JSON report has in place of the message of a test that ran out of time."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A test file that cannot be loaded counts as an error."""
    lines = read_text(output)
    reading = read_report(output, report)
    if reading and not reading.problems:
        return replace(reading, problems=tuple(find_thresholds(lines)))
    return reading or load_tests("jest").read_lines(lines) or describe_unknown(lines)


def read_vitest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Test files that cannot be loaded, and errors that no test caught, count as errors."""
    lines = read_text(output)
    reading = read_report(output, report)
    if reading is None:
        return load_tests("vitest").read_lines(lines) or describe_unknown(lines)
    # Only the output says places, thresholds, and errors that no test caught.
    printed = list(load_tests("vitest").find_problems(lines))
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
