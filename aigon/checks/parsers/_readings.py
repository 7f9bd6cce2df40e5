"""Readings in the words of the contracts: `15/15 passed`, `3 problems`, `1 warning`, `clean`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aigon.checks.parsers._problems import KEPT, capped, errorlike
from aigon.checks.parsers._text import count
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

FEW = 5
"""Lines shown of an output in no known format."""
_WEIGHT: tuple[TestResult, ...] = ("skipped", "passed", "failed", "error")
"""Over several runs of a test: one that broke it outweighs those that passed it, and those the ones that skipped it."""


def tests(counts: TestCounts, problems: Iterable[Problem] = ()) -> ParsedOutput:
    """A test report. `counts.total` is derived here: everything collected, the skipped included."""
    counts = replace(counts, total=counts.passed + counts.failed + counts.skipped + counts.errors)
    return ParsedOutput(_phrase(counts), counts, capped(problems))


def together(readings: Sequence[ParsedOutput]) -> ParsedOutput:
    """The test reports among `readings` as one; reports of linters, where none is of tests."""
    every = [reading.counts for reading in readings if reading.counts]
    if not every:
        return lint(problem for reading in readings for problem in reading.problems)
    counts = TestCounts(
        passed=sum(c.passed for c in every),
        failed=sum(c.failed for c in every),
        skipped=sum(c.skipped for c in every),
        errors=sum(c.errors for c in every),
    )
    found = tests(counts, (problem for reading in readings for problem in reading.problems))
    return replace(found, tests=_results(readings))


def _results(readings: Sequence[ParsedOutput]) -> dict[str, TestResult]:
    found: dict[str, TestResult] = {}
    for reading in readings:
        for test, result in reading.tests.items():
            found[test] = max(found.get(test, "skipped"), result, key=_WEIGHT.index)
    return found


def lint(problems: Iterable[Problem], stated: int = 0) -> ParsedOutput:
    """A linter's report. `stated` is the tool's own number: the right one where the output lost its middle."""
    kept, errors, warnings = _tally(problems)
    total = max(stated, errors + warnings)
    return ParsedOutput(count(total, "problem") if total else "clean", None, kept)


def types(problems: Iterable[Problem], stated: int = 0) -> ParsedOutput:
    """A type checker's report. `stated` is the tool's own number of errors."""
    kept, errors, warnings = _tally(problems)
    errors = max(stated, errors)
    parts = [count(n, noun) for n, noun in ((errors, "error"), (warnings, "warning")) if n]
    return ParsedOutput(", ".join(parts) or "clean", None, kept)


def foreign(lines: str) -> ParsedOutput:
    """Not the parser's format at all; a few lines that look like errors, for the digest."""
    return ParsedOutput(problems=errorlike(lines, FEW), understood=False)


def _phrase(counts: TestCounts) -> str:
    if counts.total == 0:
        return "no tests collected"
    phrase = f"{counts.passed}/{counts.total - counts.skipped} passed"
    phrase += f", {count(counts.errors, 'error')}" if counts.errors else ""
    return phrase + (f", {counts.skipped} skipped" if counts.skipped else "")


def _tally(problems: Iterable[Problem]) -> tuple[tuple[Problem, ...], int, int]:
    kept: list[Problem] = []
    numbers = {"error": 0, "warning": 0}
    for each in problems:
        numbers[each.severity] += 1
        if len(kept) < KEPT:
            kept.append(each)
    return tuple(kept), numbers["error"], numbers["warning"]
