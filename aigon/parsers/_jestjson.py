"""The JSON report that jest and vitest share."""

from collections import Counter
from collections.abc import Iterator

from aigon.core.model import Counts, Problem, Reading
from aigon.parsers import _json, junit
from aigon.parsers._expected import said
from aigon.parsers._places import place
from aigon.parsers._problems import problem
from aigon.parsers._readings import tests

_WORDS = {"passed": "passed", "failed": "failed"}


def reported(output: bytes, report: bytes | None) -> Reading | None:
    """What the report says, from its file or printed on the output; None when neither holds one."""
    if report and (reading := junit.read(b"", report)).understood:
        return reading
    for found in (_json.document(report), _json.embedded(output, dict)):
        if isinstance(found, dict) and isinstance(found.get("testResults"), list) and "numTotalTests" in found:
            return _reading(_json.rows(found["testResults"]))
    return None


def _reading(files: list[_json.Row]) -> Reading:
    cases = [case for file in files for case in _json.rows(file.get("assertionResults"))]
    words = Counter(_WORDS.get(_json.string(case.get("status")), "skipped") for case in cases)
    errors = sum(map(_did_not_run, files))
    counts = Counts(0, words["passed"], words["failed"], words["skipped"], errors)
    return tests(counts, (each for file in files for each in _problems(file)))


def _did_not_run(file: _json.Row) -> bool:
    """A test file that failed with no failed test: it could not be loaded, or a hook of it failed."""
    cases = _json.rows(file.get("assertionResults"))
    return file.get("status") == "failed" and not any(case.get("status") == "failed" for case in cases)


def _problems(file: _json.Row) -> Iterator[Problem]:
    name = _json.string(file.get("name"))
    if _did_not_run(file):
        message = _json.string(file.get("message"))
        yield problem(said(message), *_at(message, name), test=name)
    for case in _json.rows(file.get("assertionResults")):
        if case.get("status") == "failed":
            yield _problem(case, name)


def _problem(case: _json.Row, file: str) -> Problem:
    title = " > ".join((*_json.strings(case.get("ancestorTitles")), _json.string(case.get("title"))))
    message = "\n".join(_json.strings(case.get("failureMessages")))
    return problem(said(message), *_at(message, file), test=f"{file}::{title}")


def _at(message: str, file: str) -> tuple[str, int]:
    found, line = place(message[:100_000])
    return (found, line) if found else (file, 0)
