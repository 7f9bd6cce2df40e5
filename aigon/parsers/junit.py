"""JUnit XML, from pytest, node:test and whoever else writes it."""

from dataclasses import replace

from aigon.core.model import Counts, Problem, Reading
from aigon.parsers._cases import Case, cases
from aigon.parsers._places import headline, place
from aigon.parsers._problems import KEPT, number, problem
from aigon.parsers._readings import foreign, tests
from aigon.parsers._text import text


def read(output: bytes, report: bytes | None) -> Reading:
    """The report's test cases, wherever they stand in it. A cut or refused report has problems but no counts."""
    reader, complete = cases(output if report is None else report, KEPT)
    problems = tuple(_problem(case) for case in reader.cases)
    if not complete:
        return Reading(problems=problems or foreign(text(output)).problems, understood=False)
    numbers = reader.numbers
    counts = Counts(0, numbers["passed"], numbers["failed"], numbers["skipped"], numbers["error"])
    # What was printed, a test can have printed: only a report says which tests ran.
    return replace(tests(counts, problems), tests={} if report is None else reader.seen.results())


def _problem(case: Case) -> Problem:
    file, line = place(case.detail)
    if not file:
        file, line = case.file, number(case.line if case.line.isdecimal() else None)
    return problem(headline(case.message, case.detail), file, line, test=case.test)
