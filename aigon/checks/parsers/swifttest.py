"""`swift test`: XCTest's text, and Swift Testing's text or XML. From their documentation and sources.

Both run in one command, one after the other. XCTest writes no XML unless its tests run in parallel, and then says
neither why a test failed nor that one was skipped; so its text is read, and where that is handed over as a report, with
Swift Testing's XML behind it, results by test id come out of both.
"""

import re
from dataclasses import replace

from aigon.checks.parsers import _swiftc, _swifttesting, _xctest, junit
from aigon.checks.parsers._problems import capped
from aigon.checks.parsers._readings import foreign, tests, types
from aigon.checks.parsers._swift import Run
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, TestCounts

_XML = re.compile(rb"^<\?xml [^\n]{0,200}\?>\s{0,20}<testsuites?\b", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures of both libraries. A test that began and never ended counts as an error."""
    said, document = _parts(output if report is None else report)
    lines = text(said)
    found = printed(lines, document)
    if found is None:
        return foreign(lines)
    return found if report is not None else replace(found, tests={})


def printed(lines: str, document: bytes = b"") -> ParsedOutput | None:
    """What the text says, and Swift Testing's XML where there is one; None when neither library began.

    Where the code could not be compiled, that is what it says.
    """
    xctest, testing = _xctest.results(lines), _swifttesting.results(lines)
    testing = _reported(document, testing) if document else testing
    if xctest.began or testing.began:
        return _together(xctest, testing, lines)
    broken = capped(_swiftc.problems(lines))
    return types(broken) if any(each.severity == "error" for each in broken) else None


def _reported(document: bytes, printed: Run) -> Run:
    """What the XML says, which a test cannot print; where a test failed stands in the text only."""
    found = junit.reported(document, junit.problem_of)
    if found is None or found.counts is None:
        return printed
    problems = _swifttesting.named(printed.problems, found.tests) or found.problems
    return Run(True, found.counts, problems, found.tests)


def _together(xctest: Run, testing: Run, lines: str) -> ParsedOutput:
    one, other = xctest.counts, testing.counts
    counts = TestCounts(
        passed=one.passed + other.passed,
        failed=one.failed + other.failed,
        skipped=one.skipped + other.skipped,
        errors=one.errors + other.errors,
    )
    found = tests(counts, (*xctest.problems, *testing.problems) or _swiftc.problems(lines))
    return replace(found, tests={**xctest.tests, **testing.tests})


def _parts(document: bytes) -> tuple[bytes, bytes]:
    """The text, and the XML that stands behind it: the last one, since a test can print another."""
    begins = [match.start() for match in _XML.finditer(document)]
    return (document[: begins[-1]], document[begins[-1] :]) if begins else (document, b"")
