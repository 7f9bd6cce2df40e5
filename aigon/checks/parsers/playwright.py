"""Playwright Test: its `json` report, or what its `list`, `line` and `dot` reporters print.

A flaky test, which failed and then passed, is a pass with a warning: so does the runner's exit code have it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from aigon.checks.parsers import junit
from aigon.checks.parsers.output import Row, find_sections, parse_number, read_documents, read_text
from aigon.checks.parsers.readings import ResultTally, describe_unknown, find_problems, make_problem, summarize_tests
from aigon.checks.parsers.stacks import describe_failure, find_frame
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, object_at, objects_at, text_at

_RESULTS: dict[str, TestResult] = {"expected": "passed", "flaky": "passed", "unexpected": "failed"}
_DEEPEST = 40
Case = tuple[str, Row, Row]
"""The name of a test, the spec that it is of, and its results under one project."""

_RUNNING = compile_re(r"^Running (?P<number>\d{1,9}) tests? using \d+ workers?", re.M)
_NUMBER = compile_re(
    r"  (?P<number>\d{1,9}) "
    r"(?P<word>failed|flaky|interrupted|skipped|did not run|passed|errors? (?:was|were) not a part)\b"
)
_NONE = compile_re(r"^Error: No tests found", re.M)
_FAILURE = compile_re(
    r"^  \d{1,6}\) (?P<title>(?:\[(?P<project>[^\]\n]{1,200})\] › )?"
    r"(?P<file>[^\n:]{1,300}):(?P<line>\d{1,9}):\d+ › (?P<test>[^\n─]{1,1000}))",
    re.M,
)
_RETRY = compile_re(r"^ +Retry #\d+ ─", re.M)
_BESIDE = compile_re(r"^(?:\[WebServer\] )?(?P<message>(?:\w*Error|Error): [^\n]+)$", re.M)
_SPAN = 20_000
"""Characters of one failure that are read."""
Block = tuple[Counter[str], set[str]]
"""Numbers by word, and the names of flaky tests."""


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
            flaky = replace(problem, severity="warning", rule="flaky", message=f"flaky: {problem.message}"[:500])
            yield flaky if status == "flaky" else problem


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
    """Return what the text says: numbered failures, then `1 failed`, `2 passed (3.4s)`; None if it is not its."""
    numbers, flaky = Counter[str](), set[str]()
    sections = list(find_sections(_RUNNING, lines))
    if not sections:
        return None
    for header, body in sections:
        # The last block that adds up to what was planned, else the last: a test can print one, too.
        planned, blocks = parse_number(header["number"]), list(islice(_find_blocks(body), 1000))
        whole = [block for block in blocks if sum(n for word, n in block[0].items() if word != "errors") == planned]
        for block in (whole or blocks)[-1:]:
            numbers.update(block[0])
            flaky |= block[1]
    counts = TestCounts(
        passed=numbers["passed"] + numbers["flaky"],
        failed=numbers["failed"],
        skipped=numbers["skipped"] + numbers["did not run"],
        errors=numbers["interrupted"] + numbers["errors"],
    )
    return summarize_tests(counts, _find_failures(lines, flaky))


def _find_blocks(lines: str) -> Iterator[Block]:
    numbers, flaky, word = Counter[str](), set[str](), ""
    for line in (*lines.split("\n"), ""):
        if match := _NUMBER.match(line):
            word = "errors" if match["word"].startswith("error") else match["word"]
            numbers[word] += parse_number(match["number"])
        elif word and line.startswith("    "):
            flaky |= {line.strip(" ─")} if word == "flaky" else set()
        elif numbers:
            yield numbers, flaky
            numbers, flaky, word = Counter[str](), set[str](), ""


def _find_failures(lines: str, flaky: set[str]) -> Iterator[Problem]:
    sections = list(find_sections(_FAILURE, lines, most=2000, span=_SPAN))
    if not sections:
        yield from find_problems(_BESIDE, lines, most=10)
    for match, body in sections:
        body = _RETRY.split(body, maxsplit=1)[0]
        file, line = find_frame(body)
        place = (file, line) if file else (match["file"], parse_number(match["line"]))
        name = f"{match['file']}::{match['test'].strip().replace(' › ', ' > ')}"
        test = f"{name} [{match['project']}]" if match["project"] else name
        body = body.strip(" ─\n")
        message = describe_failure(body) if body else "failed"
        if match["title"].strip(" ─") in flaky:
            yield make_problem(f"flaky: {message}", *place, "flaky", "warning", test)
        else:
            yield make_problem(message, *place, test=test)
