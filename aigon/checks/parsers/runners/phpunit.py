"""PHPUnit and Pest: their JUnit XML. A matcher reads PHPUnit's text."""

from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.readings import make_problem
from aigon.checks.parsers.runners import junit
from aigon.model.checks import ParsedOutput, Problem


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures."""
    if report is not None:
        return junit.read_report(report, _describe_case) or ParsedOutput(understood=False)
    return load_tests("phpunit").read(output, None)


def _describe_case(case: junit.JunitCase) -> Problem:
    first, _, rest = case.detail.lstrip().partition("\n")
    is_heading = "::" in first and case.name.partition(" with data set")[0] in first
    message, place = load_tests("phpunit").failures[0].explain(rest if is_heading else case.detail)
    spot = (case.file.partition("::")[0], case.place[1])
    return make_problem(message or case.message or "failed", *(place if place[0] else spot), test=case.test)
