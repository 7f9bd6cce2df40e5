"""mocha: its JSON report, or the text of its `spec` reporter with `2 passing (3ms)` and `1 failing` at the end."""

import re
from collections.abc import Iterator

from aigon.checks.parsers.documents import Row, as_row, as_rows, as_string, read_documents
from aigon.checks.parsers.output import find_sections, read_text, sum_groups
from aigon.checks.parsers.readings import ResultTally, describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import describe_failure, explain_unloaded, find_frame, find_thresholds, read_crash
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re

_SUMMARY = compile_re(
    r"^ +(?P<passing>\d{1,9}) passing \(\d[^\n()]{0,20}\)(?:\n +(?P<pending>\d{1,9}) pending)?"
    r"(?:\n +(?P<failing>\d{1,9}) failing)?$",
    re.M,
)
_FAILURE = compile_re(
    r"^  \d+\) (?P<title>[^\n]*\n(?:       +[^\n]*\n){0,20})(?P<body>(?:(?!  \d+\) )[^\n]*\n){0,300})", re.M
)
_UNLOADED = compile_re(r"^ *Exception during run: |^ *✖ ERROR: ", re.M)
_SPOT = compile_re(r"\S{1,500}:\d{1,9}")
"""Where a file could not be compiled stands before what was wrong with it."""
_LISTS: dict[str, TestResult] = {"passes": "passed", "pending": "skipped", "failures": "failed"}
_HOOK = compile_re(r'"(?:before|after) (?:all|each)" hook\b')


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; a report file is JSON, or JUnit XML from a reporter for that."""
    if reading := junit.read_report(report):
        return reading
    lines = read_text(output)
    if reading := read_documents(output, report, lambda document: _read_document(document, lines)):
        return reading
    return read_mocha_text(lines) or read_unloaded(lines) or read_crash(lines) or describe_unknown(lines)


def _read_document(document: Row, lines: str) -> ParsedOutput | None:
    if not isinstance(document.get("stats"), dict) or not isinstance(document.get("failures"), list):
        return None
    tally = ResultTally()
    for key, result in _LISTS.items():
        for row in as_rows(document.get(key)):
            tally.numbers[result] += 1
            if not _HOOK.search(as_string(row.get("title"))[:1000]):
                tally.record(_name_test(row), result)
    return tally.read((*map(_describe_row, as_rows(document["failures"])), *find_thresholds(lines)))


def _name_test(row: Row) -> str:
    file, title = as_string(row.get("file")), as_string(row.get("fullTitle"))
    return f"{file}::{title}" if file else title


def _describe_row(row: Row) -> Problem:
    error = as_row(row.get("err"))
    stack, message = as_string(error.get("stack")), as_string(error.get("message"))
    file, line = find_frame(stack[:100_000])
    message = _describe(stack if message[:50] in stack else message)
    return make_problem(message, file or as_string(row.get("file")), line, test=_name_test(row))


def _describe(text: str) -> str:
    """Return the first line, and what follows it if it only announces that."""
    first, _, rest = text.strip().partition("\n")
    if _SPOT.fullmatch(first):
        return explain_unloaded(text, "")[0] if "SyntaxError" in rest else describe_failure(rest)
    return describe_failure(f"{first} {rest.strip().partition(chr(10))[0]}" if first.endswith(":") else text)


def read_mocha_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not mocha's."""
    sections = list(find_sections(_SUMMARY, lines, most=1000))
    if not sections:
        return None
    numbers = sum_groups(match for match, _ in sections)
    failures = (problem for match, body in sections if match["failing"] for problem in _find_failures(body))
    counts = TestCounts(0, numbers["passing"], numbers["failing"], numbers["pending"])
    return summarize_tests(counts, (*failures, *find_thresholds(lines)))


def read_unloaded(lines: str) -> ParsedOutput | None:
    """Return why a file could not be loaded, which ends the run before it begins; None if it is not that."""
    match = _UNLOADED.search(lines)
    if match is None:
        return None
    return ParsedOutput(problems=(make_problem(*explain_unloaded(lines[match.end() :], "")),), understood=False)


def _find_failures(failures: str) -> Iterator[Problem]:
    for match in _FAILURE.finditer(failures):
        title = " > ".join(line.strip() for line in match["title"].strip().rstrip(":").split("\n"))
        yield make_problem(_describe(match["body"]), *find_frame(match["body"]), test=title)
