"""endpoints: the report of aigon's own program (`aigon/endpoints`), with schemathesis's JUnit XML in it.

Only the report counts: what is printed beside it is the server's own.
"""

import re
from collections.abc import Iterator

from aigon.checks.endpoints.plan import MARK
from aigon.checks.parsers import _json
from aigon.checks.parsers._cases import Case, Reader, cases
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._places import headline
from aigon.checks.parsers._problems import KEPT, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import clean, text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_RESULTS = ("passed", "failed", "error")
_TITLE = re.compile(r"^- (?P<title>\S[^\n]*)$", re.M)
_DETAIL = re.compile(r"^ +(?P<detail>(?:Received|Documented): [^\n]{1,200})$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Every request is a test; so is every operation that schemathesis tried. What kept it from asking comes first."""
    document = _json.document(report) if report else None
    if not isinstance(document, dict) or document.get("aigon") != MARK:
        return foreign(text(output))
    rows = [row for row in _json.rows(document.get("requests")) if row.get("result") in _RESULTS]
    exercised, whole = _exercised(document.get("schemathesis"))
    broken = clean(_json.string(document.get("broken")))
    if not whole and not broken:
        broken = "the report of schemathesis cannot be read"
    return _reading(rows, exercised, broken)


def _reading(rows: list[_json.Row], exercised: Reader, broken: str) -> ParsedOutput:
    seen = Seen()
    for row in rows:
        seen.add(_json.string(row.get("name")), row["result"])  # type: ignore[arg-type]  # one of _RESULTS
    found = tests(_counts(rows, exercised), _problems(rows, exercised, broken))
    counted = found.counts if found.counts and found.counts.total else None
    results = seen.results() | {_named(test): result for test, result in exercised.seen.results().items()}
    summary = broken or found.summary
    return ParsedOutput(summary, counted if broken else found.counts, found.problems, tests=results)


def _exercised(document: object) -> tuple[Reader, bool]:
    """The cases of schemathesis, and whether its report was whole; none where it was not run."""
    if not isinstance(document, dict):
        return Reader(KEPT), True
    return cases(_json.string(document.get("junit")).encode("utf-8", "replace"), KEPT)


def _counts(rows: list[_json.Row], exercised: Reader) -> TestCounts:
    results = [row.get("result") for row in rows]
    numbers = exercised.numbers
    return TestCounts(
        passed=results.count("passed") + numbers["passed"],
        failed=results.count("failed") + numbers["failed"],
        errors=results.count("error") + numbers["error"],
        skipped=numbers["skipped"],
    )


def _problems(rows: list[_json.Row], exercised: Reader, broken: str) -> Iterator[Problem]:
    if broken:
        yield problem(broken, rule="server")
    for row in rows:
        if row.get("result") != "passed":
            yield problem("; ".join(_json.strings(row.get("said"))) or "failed", test=_json.string(row.get("name")))
    for case in exercised.cases:
        yield problem(_said(case), test=_named(case.test))


def _named(test: str) -> str:
    """Beside a request of the same name, what schemathesis tried is another test."""
    return f"schemathesis: {test}"


def _said(case: Case) -> str:
    """What was wrong, without the example: that is another one with the next change."""
    titles = dict.fromkeys(match["title"] for match in _TITLE.finditer(case.detail))
    details = dict.fromkeys(match["detail"] for match in _DETAIL.finditer(case.detail))
    return "; ".join([*titles, *details]) or headline(case.message, case.detail)
