"""JUnit XML, from pytest, node:test, Maven, Gradle and whoever else writes it."""

from collections.abc import Callable
from dataclasses import replace

from aigon.checks.parsers import _jvm
from aigon.checks.parsers._cases import Case, Reader, cases
from aigon.checks.parsers._places import headline, place
from aigon.checks.parsers._problems import KEPT, number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """The report's test cases, wherever they stand in it. A cut or refused report has problems but no counts."""
    reader, complete = cases(output if report is None else report, KEPT)
    if not complete:
        problems = tuple(map(problem_of, reader.cases))
        return ParsedOutput(problems=problems or foreign(text(output)).problems, understood=False)
    # What was printed, a test can have printed: only a report says which tests ran.
    found = _whole(reader, problem_of)
    return found if report is not None else replace(found, tests={})


def reported(report: bytes | None, describe: Callable[[Case], Problem]) -> ParsedOutput | None:
    """A report, with problems as `describe` makes them of cases that failed; None for what is no whole report."""
    reader, complete = cases(report or b"", KEPT)
    return _whole(reader, describe) if complete else None


def problem_of(case: Case) -> Problem:
    """What a failed case says, and where."""
    file, line = place(case.detail)
    if not file:
        file, line = _jvm.place(case.detail, case.classname)
    if not file:
        file, line = case.file, number(case.line if case.line.isdecimal() else None)
    thrown = _jvm.thrown(case.detail) if _jvm.is_trace(case.detail) else ""
    return problem(thrown or headline(case.message, case.detail), file, line, test=case.test)


def _whole(reader: Reader, describe: Callable[[Case], Problem]) -> ParsedOutput:
    numbers = reader.numbers
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], numbers["error"])
    return replace(tests(counts, map(describe, reader.cases)), tests=reader.seen.results())
