"""The JSON report that jest and vitest share."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from aigon.checks.parsers import _json, junit
from aigon.checks.parsers._expected import said
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import problem
from aigon.checks.parsers._readings import tests
from aigon.checks.parsers._unloaded import unloaded
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.fingerprints import strip_escapes

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other words (pending, todo, skipped, disabled) are all of tests that did not run."""


def reported(output: bytes, report: bytes | None) -> ParsedOutput | None:
    """What the report says, from its file or printed on the output; None when neither holds one."""
    if report and (reading := junit.read(b"", report)).understood:
        return reading
    if (files := _files(_json.document(report))) is not None:
        return replace(_reading(files), tests=_results(files))
    printed = _files(_json.embedded(output, dict))
    return None if printed is None else _reading(printed)


def _files(found: object) -> list[_json.Row] | None:
    if isinstance(found, dict) and isinstance(found.get("testResults"), list) and "numTotalTests" in found:
        return _json.rows(found["testResults"])
    return None


def _results(files: list[_json.Row]) -> dict[str, TestResult]:
    """Only of single tests: a file that was not loaded has none."""
    seen = Seen()
    for file in files:
        for case in _json.rows(file.get("assertionResults")):
            seen.add(
                _name(case, _json.string(file.get("name"))), _RESULTS.get(_json.string(case.get("status")), "skipped")
            )
    return seen.results()


def _reading(files: list[_json.Row]) -> ParsedOutput:
    cases = [case for file in files for case in _json.rows(file.get("assertionResults"))]
    words = Counter(_RESULTS.get(_json.string(case.get("status")), "skipped") for case in cases)
    errors = sum(map(_did_not_run, files))
    counts = TestCounts(0, words["passed"], words["failed"], words["skipped"], errors)
    return tests(counts, (each for file in files for each in _problems(file)))


def _did_not_run(file: _json.Row) -> bool:
    """A test file that failed itself: it could not be loaded, a hook of it failed, it has snapshots of no test.

    Where tests failed too, jest puts these into the file's message, each behind a bullet; vitest puts there only
    what is wrong with the file.
    """
    if file.get("status") != "failed":
        return False
    cases = _json.rows(file.get("assertionResults"))
    message = strip_escapes(_json.string(file.get("message"))[:1000]).strip()
    return bool(message and message[0] != "●") or not any(case.get("status") == "failed" for case in cases)


def _problems(file: _json.Row) -> Iterator[Problem]:
    name = _json.string(file.get("name"))
    if _did_not_run(file):
        yield problem(*unloaded(_json.string(file.get("message")), name), test=name)
    for case in _json.rows(file.get("assertionResults")):
        if case.get("status") == "failed":
            yield _problem(case, name)


def _problem(case: _json.Row, file: str) -> Problem:
    message = "\n".join(_json.strings(case.get("failureMessages")))
    return problem(said(message), *_at(message, file), test=_name(case, file))


def _name(case: _json.Row, file: str) -> str:
    titles = (*_json.strings(case.get("ancestorTitles")), _json.string(case.get("title")))
    return f"{file}::{' > '.join(filter(None, titles))}"  # vitest 1 begins with an empty one


def _at(message: str, file: str) -> tuple[str, int]:
    found, line = place(message[:100_000])
    return (found, line) if found else (file, 0)
