"""Playwright Test: its `json` report, or what its `list`, `line` and `dot` reporters print.

A flaky test, which failed and then passed, is a pass with a warning: so does the runner's exit code have it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from aigon.checks.parsers import _json, _playwright_text, junit
from aigon.checks.parsers._expected import said
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

_RESULTS: dict[str, TestResult] = {"expected": "passed", "flaky": "passed", "unexpected": "failed"}
_DEEPEST = 40
Case = tuple[str, _json.Row, _json.Row]
"""The name of a test, the spec that it is of, and its results under one project."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures; what went wrong beside the tests (a file, the web server) counts as errors."""
    if report and (reading := junit.read(b"", report)).understood:
        return reading
    if whole := _whole(_json.document(report)):
        cases = list(_cases(whole))
        seen = Seen()
        for name, _, test in cases:
            seen.add(name, _result(test))
        return replace(_reading(whole, cases), tests=seen.results())
    if whole := _whole(_json.embedded(output, dict)):
        return _reading(whole, list(_cases(whole)))
    lines = text(output)
    return _playwright_text.printed(lines) or _playwright_text.none_found(lines) or foreign(lines)


def _whole(found: object) -> _json.Row | None:
    """The report, if it is one: `suites` alone could be anybody's."""
    if isinstance(found, dict) and isinstance(found.get("config"), dict) and isinstance(found.get("suites"), list):
        return found
    return None


def _reading(whole: _json.Row, cases: list[Case]) -> ParsedOutput:
    words = Counter(_result(test) for _, _, test in cases)
    errors = [each for each in _json.rows(whole.get("errors")) if not _none_found(each)]
    counts = TestCounts(0, words["passed"], words["failed"], words["skipped"], len(errors))
    return tests(counts, (*_problems(cases), *(_problem(each, "", 0, "") for each in errors)))


def _none_found(error: _json.Row) -> bool:
    return _json.string(error.get("message")).removeprefix("Error: ").startswith("No tests found")


def _result(test: _json.Row) -> TestResult:
    return _RESULTS.get(_json.string(test.get("status")), "skipped")


def _cases(whole: _json.Row) -> Iterator[Case]:
    """Every test, in the order of the report, without recursion: how deep it is, is not ours to say."""
    config = whole["config"]
    root = _json.string(config.get("rootDir")) if isinstance(config, dict) else ""
    waiting: list[tuple[tuple[str, ...], _json.Row, bool]] = [
        ((), suite, True) for suite in reversed(_json.rows(whole["suites"]))
    ]
    while waiting:
        titles, suite, outermost = waiting.pop()
        inner = titles if outermost else (*titles, _json.string(suite.get("title")))[:_DEEPEST]
        for spec in _json.rows(suite.get("specs")):
            yield from _of_spec(spec, root, inner)
        waiting += [(inner, each, False) for each in reversed(_json.rows(suite.get("suites")))]


def _of_spec(spec: _json.Row, root: str, titles: tuple[str, ...]) -> Iterator[Case]:
    file = _json.string(spec.get("file"))
    # Files are named from the folder of the tests; aigon has made that folder relative to the project.
    file = file if root.startswith("/") or file.startswith("/") or not root else f"{root}/{file}"
    name = f"{file}::{' > '.join(filter(None, (*titles, _json.string(spec.get('title')))))}"
    for test in _json.rows(spec.get("tests")):
        project = _json.string(test.get("projectName"))
        yield f"{name} [{project}]" if project else name, {**spec, "file": file}, test


def _problems(cases: list[Case]) -> Iterator[Problem]:
    for name, spec, test in cases:
        status = _json.string(test.get("status"))
        if status in ("unexpected", "flaky"):
            file, line = _json.string(spec.get("file")), _json.integer(spec.get("line"))
            found = _problem(_first_error(test), file, line, name)
            flaky = replace(found, severity="warning", rule="flaky", message=f"flaky: {found.message}"[:500])
            yield flaky if status == "flaky" else found


def _first_error(test: _json.Row) -> _json.Row:
    """The first error of the first attempt that has one; of a test that should have failed, there is none."""
    for result in _json.rows(test.get("results")):
        for error in _json.rows(result.get("errors")) or _json.rows([result.get("error")]):
            return error
    if test.get("expectedStatus") == "failed":
        return {"message": "Expected to fail, but passed."}
    return {}


def _problem(error: _json.Row, file: str, line: int, test: str) -> Problem:
    message = _json.string(error.get("message")) or _json.string(error.get("value"))
    at = error.get("location")
    named = (_json.string(at.get("file")), _json.integer(at.get("line"))) if isinstance(at, dict) else ("", 0)
    found = named if named[0] else place(_json.string(error.get("stack"))[:100_000])
    return problem(said(message), *(found if found[0] else (file, line)), test=test)
