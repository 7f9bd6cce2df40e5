"""TAP 12 to 14: node-tap, tape, `ava --tap`, node:test, Perl's Test::More.

A subtest is counted by its points, not by the line that sums it up. What is skipped or to do did not run.
"""

from collections.abc import Iterator
from dataclasses import replace

from aigon.checks.parsers import _prove
from aigon.checks.parsers._coverage import thresholds
from aigon.checks.parsers._crashes import Crash, crashes, explained
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._problems import problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._tapdoc import Document, document
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. A report file holds TAP too; only from one are there results of single tests."""
    lines = text(output)
    found = document(text(report)) if report else None
    if found is None:
        return printed(lines) or foreign(lines)
    seen = Seen()
    for name, result in found.done.names:
        seen.add(name, result)
    return replace(_reading(found, lines), tests=seen.results())


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is no TAP and not of `prove`."""
    if proved := _prove.printed(lines):
        return proved
    found = document(lines)
    return _reading(found, lines) if found else None


def _reading(found: Document, lines: str) -> ParsedOutput:
    numbers, stated = found.done.numbers, found.stated
    passed, failed, skipped = numbers["passed"], numbers["failed"], numbers["skipped"]
    if stated.get("tests", 0) > passed + failed + skipped:  # the middle of the output is missing
        failed = max(failed, stated.get("fail", 0))
        passed = max(passed, min(stated["tests"] - failed - skipped, stated.get("pass", 0)))
    elif "pass" in stated:  # what a test printed looked like a point
        passed = min(passed, stated["pass"])
    errors = list(_accidents(found, crashed := crashes(lines)))
    problems = (*explained(found.done.problems, crashed), *errors, *thresholds(lines))
    return tests(TestCounts(0, passed, failed, skipped, len(errors)), problems)


def _accidents(found: Document, crashed: list[Crash]) -> Iterator[Problem]:
    """What went wrong beside the points: given up, cut short, or not as many as were planned."""
    for why in found.bailed:
        yield problem(f"Bail out! {why}".strip())
    for planned, ran in () if found.bailed else found.off_plan:
        if planned is None:
            yield from [problem(c.message, c.file, c.line) for c in crashed[-1:]] or [
                problem("it ended without a plan")
            ]
        elif planned > ran or not found.stated:
            yield problem(f"planned {planned} tests, ran {ran}")
