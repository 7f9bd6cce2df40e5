"""Playwright Test: its `json` report, or what its `list`, `line` and `dot` reporters print.

A flaky test, which failed and then passed, is a pass with a warning: so does the runner's exit code have it.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.parsers import junit
from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.output import Row, read_documents, read_text
from aigon.checks.parsers.readings import ResultTally, describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.stacks import describe_failure, find_frame
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, object_at, objects_at, text_at

_RESULTS: dict[str, TestResult] = {"expected": "passed", "flaky": "passed", "unexpected": "failed"}
_DEEPEST = 40
Case = tuple[str, Row, Row]
"""The name of a test, the spec that it is of, and its results under one project."""

_NONE = compile_re(r"^Error: No tests found", re.M)
_FLAKY = compile_re(r"^  \d{1,9} flaky\n(?P<tests>(?:    [^\n]*\n)+)", re.M)
_TITLE = compile_re(r"^    (?:\[(?P<project>[^\]\n]+)\] › )?(?P<file>[^\n:]+):\d+:\d+ › (?P<test>[^\n─]*[^\n─ ])", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; what went wrong outside of tests (a file, the web server) counts as errors."""
    if reading := junit.read_report(report) or read_documents(output, report, _read_document):
        return reading
    lines = read_text(output)
    # These words could be anybody's, so they count only for a check that names this runner.
    none = summarize_tests(TestCounts()) if _NONE.search(lines) else None
    return read_playwright_text(lines) or none or describe_unknown(lines)


def _read_document(document: Row) -> ParsedOutput | None:
    # `suites` alone could be anybody's.
    if not isinstance(document.get("config"), dict) or not isinstance(document.get("suites"), list):
        return None
    cases = list(_find_cases(document))
    tally = ResultTally((name, _RESULTS.get(text_at(test, "status"), "skipped")) for name, _, test in cases)
    errors = [
        error
        for error in objects_at(document, "errors")
        if not text_at(error, "message").removeprefix("Error: ").startswith("No tests found")
    ]
    problems = (*_find_problems(cases), *(_describe_error(each, "", 0, "") for each in errors))
    return tally.read(problems, errors=len(errors))


def _find_cases(document: Row) -> Iterator[Case]:
    """Yield every test, in the order of the report, without recursion: a report can be of any depth."""
    root = text_at(document, "config", "rootDir")
    waiting: list[tuple[tuple[str, ...] | None, Row]] = [
        (None, suite) for suite in reversed(objects_at(document, "suites"))
    ]
    while waiting:
        titles, suite = waiting.pop()
        # The outermost suite is the file.
        inner = () if titles is None else (*titles, text_at(suite, "title"))[:_DEEPEST]
        for spec in objects_at(suite, "specs"):
            file = text_at(spec, "file")
            # Files are named from the folder of the tests; aigon has made that folder relative to the project.
            file = file if root.startswith("/") or file.startswith("/") or not root else f"{root}/{file}"
            name = f"{file}::{' > '.join(filter(None, (*inner, text_at(spec, 'title'))))}"
            for test in objects_at(spec, "tests"):
                project = text_at(test, "projectName")
                yield f"{name} [{project}]" if project else name, {**spec, "file": file}, test
        waiting += [(inner, each) for each in objects_at(suite, "suites")[::-1]]


def _find_problems(cases: list[Case]) -> Iterator[Problem]:
    for name, spec, test in cases:
        status = text_at(test, "status")
        if status in ("unexpected", "flaky"):
            file, line = text_at(spec, "file"), count_at(spec, "line")
            problem = _describe_error(_find_first_error(test), file, line, name)
            yield _mark_flaky(problem) if status == "flaky" else problem


def _find_first_error(test: Row) -> Row:
    """Return the first error of the first attempt that has one; a test that should have failed has none."""
    for result in objects_at(test, "results"):
        for error in objects_at(result, "errors") or objects_at([result.get("error")]):
            return error
    return {"message": "Expected to fail, but passed."} if test.get("expectedStatus") == "failed" else {}


def _describe_error(error: Row, file: str, line: int, test: str) -> Problem:
    message, at = text_at(error, "message") or text_at(error, "value"), object_at(error, "location")
    places = ((text_at(at, "file"), count_at(at, "line")), find_frame(text_at(error, "stack")[:100_000]))
    place = next((place for place in places if place[0]), (file, line))
    return make_problem(describe_failure(message), *place, test=test)


def read_playwright_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not Playwright's."""
    reading = load_tests("playwright").read_lines(lines)
    if reading is None:
        return None
    titles = (title for block in _FLAKY.finditer(lines) for title in _TITLE.finditer(block["tests"]))
    flaky = {_name_title(title) for title in titles}
    return replace(
        reading, problems=tuple(_mark_flaky(each) if each.test in flaky else each for each in reading.problems)
    )


def _name_title(title: re.Match[str]) -> str:
    name = f"{title['file']}::{title['test'].replace(' › ', ' > ')}"
    return f"{name} [{title['project']}]" if title["project"] else name


def _mark_flaky(problem: Problem) -> Problem:
    return replace(problem, severity="warning", rule="flaky", message=f"flaky: {problem.message}"[:500])
