"""TAP 12 to 14: node-tap, tape, `ava --tap`, node:test, Perl's Test::More; and the report of Perl's `prove`. A
matcher reads AVA's own text.

A subtest is counted by its points, not by the line that sums it up. What is skipped or to do did not run.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.output import find_matches, find_sections, parse_number, read_text
from aigon.checks.parsers.readings import KEPT_PROBLEMS, ResultTally, describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.stacks import Crash, explain_failures, find_crashes, find_thresholds
from aigon.checks.parsers.tap_document import TapDocument, diagnose
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_PROVE_TOTAL = compile_re(r"^Files=\d{1,9}, Tests=(?P<tests>\d{1,9}),[^\n]*\nResult: (?:PASS|FAIL|NOTESTS)$", re.M)
_PROVE_FILE = compile_re(r"^(?P<file>\S{1,300}) +\(Wstat: [^\n]*Tests: \d{1,9} Failed: (?P<failed>\d{1,9})\)$", re.M)
_WRONG = compile_re(r"^  (?:Parse errors: (?P<said>[^\n]+)|(?P<exit>Non-zero (?:exit|wait) status: \d+))$", re.M)
_SKIPPED = compile_re(r"^\s\(less (?P<number>\d{1,9}) skipped subtests?: ", re.M)
_PROVE_FAILURE = compile_re(
    r"^ {0,64}#   Failed test(?: '(?P<test>[^\n]*)')?\n(?P<block>(?: {0,64}#   [^\n]*\n?){1,12})", re.M
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A report file holds TAP too; only from one are there results of single tests."""
    lines = read_text(output)
    document = TapDocument(read_text(report)) if report else None
    if document is None or not document.understood:
        return read_tap_text(lines) or describe_unknown(lines)
    tally = ResultTally()
    for name, result in document.done.names:
        tally.record(name, result)
    return replace(_read_document(document, lines), tests=tally.results())


def read_tap_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is neither TAP (no version, no plan) nor of `prove`."""
    if proved := _read_prove(lines):
        return proved
    document = TapDocument(lines)
    return _read_document(document, lines) if document.understood else None


def _read_document(document: TapDocument, lines: str) -> ParsedOutput:
    numbers, stated = document.done.numbers, document.stated
    passed, failed, skipped = numbers["passed"], numbers["failed"], numbers["skipped"]
    if stated.get("tests", 0) > passed + failed + skipped:  # the middle of the output is missing
        failed = max(failed, stated.get("fail", 0))
        passed = max(passed, min(stated["tests"] - failed - skipped, stated.get("pass", 0)))
    elif "pass" in stated:  # what a test printed looked like a point
        passed = min(passed, stated["pass"])
    crashes = find_crashes(lines)
    errors = list(_find_accidents(document, crashes))
    problems = (*explain_failures(document.done.problems, crashes), *errors, *find_thresholds(lines))
    return summarize_tests(TestCounts(0, passed, failed, skipped, len(errors)), problems)


def _find_accidents(document: TapDocument, crashes: list[Crash]) -> Iterator[Problem]:
    """Yield what went wrong apart from the points: given up, cut short, or not as many as planned."""
    for why in document.bailed:
        yield make_problem(f"Bail out! {why}".strip())
    for planned, ran in () if document.bailed else document.off_plan:
        if planned is None:
            crash = crashes[-1] if crashes else Crash("it ended without a plan", "", 0, "")
            yield make_problem(crash.message, crash.file, crash.line)
        elif planned > ran or not document.stated:
            yield make_problem(f"planned {planned} tests, ran {ran}")


def _read_prove(lines: str) -> ParsedOutput | None:
    """Return what `prove` reports: the tests' own words on what failed, then files and their numbers."""
    totals = list(_PROVE_TOTAL.finditer(lines))
    if not totals:
        return None
    total = sum(parse_number(match["tests"]) for match in totals)
    failed = min(total, sum(parse_number(match["failed"]) for match in _PROVE_FILE.finditer(lines)))
    skipped = min(total - failed, sum(parse_number(match["number"]) for match in _SKIPPED.finditer(lines)))
    errors = list(_find_broken_files(lines))
    counts = TestCounts(0, total - failed - skipped, failed, skipped, len(errors))
    return summarize_tests(counts, (*_find_prove_failures(lines), *errors))


def _find_prove_failures(lines: str) -> Iterator[Problem]:
    for match in find_matches(_PROVE_FAILURE, lines):
        message, file, line = diagnose(match["block"].split("\n"))
        name = match["test"] or "a test without a name"
        yield make_problem(message or "failed", file, line, test=f"{file}::{name}" if file else name)


def _find_broken_files(lines: str) -> Iterator[Problem]:
    """Yield files that are wrong beyond their failed tests: no plan, another plan, a program that died."""
    for match, body in find_sections(_PROVE_FILE, lines, KEPT_PROBLEMS):
        said = {name: text for wrong in _WRONG.finditer(body) for name, text in wrong.groupdict().items() if text}
        if "said" in said or not parse_number(match["failed"]):
            message = said.get("said") or said.get("exit", "failed")
            yield make_problem(message, match["file"], test=match["file"])


def read_ava(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; a report file holds TAP."""
    if report and (reading := read(b"", report)).understood:
        return reading
    lines = read_text(output)
    return load_tests("ava").read_lines(lines) or read_tap_text(lines) or describe_unknown(lines)
