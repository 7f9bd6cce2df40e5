"""endpoints: the report of aigon's own program (`aigon/endpoints`), with schemathesis's JUnit XML in it.

Only the report counts: all other output is the server's.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.endpoints.plan import MARK
from aigon.checks.parsers.junit import JunitCase, JunitDocument
from aigon.checks.parsers.output import Row, as_row, as_rows, as_string, as_strings, clean, load_json, read_text
from aigon.checks.parsers.readings import ResultTally, describe_unknown, make_problem
from aigon.checks.parsers.stacks import find_headline
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.patterns import compile_re

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed", "error": "error"}
_TITLE = compile_re(r"^- (?P<title>\S[^\n]*)$", re.M)
_DETAIL = compile_re(r"^ +(?P<detail>(?:Received|Documented): [^\n]{1,200})$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Every request is a test; so is every operation that schemathesis tried. What kept it from asking comes first."""
    document = as_row(load_json(report) if report else None)
    if document.get("aigon") != MARK:
        return describe_unknown(read_text(output))
    rows = [row for row in as_rows(document.get("requests")) if as_string(row.get("result")) in _RESULTS]
    tried = document.get("schemathesis")
    xml = as_string(as_row(tried).get("junit")).encode("utf-8", "replace") if isinstance(tried, dict) else None
    exercised = JunitDocument(b"<testsuites/>" if xml is None else xml)
    broken = clean(as_string(document.get("broken")))
    if not exercised.is_whole and not broken:
        broken = "the report of schemathesis cannot be read"
    tally = ResultTally((as_string(row.get("name")), _RESULTS[as_string(row["result"])]) for row in rows)
    # No request is called like an operation that schemathesis tried.
    tests = tally.results() | {f"schemathesis: {test}": result for test, result in exercised.tally.results().items()}
    tally.numbers += exercised.tally.numbers
    reading = replace(tally.read(_find_problems(rows, exercised, broken)), tests=tests)
    if not broken:
        return reading
    return replace(reading, summary=broken, counts=reading.counts if reading.counts and reading.counts.total else None)


def _find_problems(rows: list[Row], exercised: JunitDocument, broken: str) -> Iterator[Problem]:
    if broken:
        yield make_problem(broken, rule="server")
    for row in rows:
        if row.get("result") != "passed":
            message = "; ".join(as_strings(row.get("said"))) or "failed"
            yield make_problem(message, test=as_string(row.get("name")))
    for case in exercised.broken:
        yield make_problem(_describe_case(case), test=f"schemathesis: {case.test}")


def _describe_case(case: JunitCase) -> str:
    """Return what was wrong, without the example: that is another one with the next change."""
    titles = dict.fromkeys(match["title"] for match in _TITLE.finditer(case.detail))
    details = dict.fromkeys(match["detail"] for match in _DETAIL.finditer(case.detail))
    return "; ".join([*titles, *details]) or find_headline(case.message, case.detail)
