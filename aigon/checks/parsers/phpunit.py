"""PHPUnit and Pest: their JUnit XML, or PHPUnit's text that ends with `Tests: 8, Assertions: 5, Failures: 2.`"""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers import junit
from aigon.checks.parsers._cases import Case
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import shortened, text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_FRAME = re.compile(r"^(?:at )?(?P<file>[^\s:][^:\n]*\.php):(?P<line>\d+)$", re.M)
_OK = re.compile(r"^OK \((?P<tests>\d+) tests?, \d+ assertions?\)$", re.M)
_TOTAL = re.compile(r"^Tests: (?P<tests>\d+), Assertions: \d+(?P<others>(?:, [A-Z][\w ]{2,30}: \d+){0,12})\.$", re.M)
_NUMBER = re.compile(r", (?P<word>[A-Z][\w ]{2,30}): (?P<number>\d+)")
_NONE = re.compile(r"^No tests executed!$", re.M)
_BROKEN = re.compile(
    r"^(?P<number>\d+)\) (?P<test>[\w\\]+::[^\n]{1,500})\n(?P<said>(?:(?!\d+\) |--$|[A-Z]+!$)[^\n]*\n){1,60})", re.M
)
_SKIPPED = ("Skipped", "Incomplete")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. A test that is incomplete was skipped."""
    if report is not None:
        found = junit.reported(report, _problem)
        return found or ParsedOutput(understood=False)
    lines = text(output)
    return printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not PHPUnit's. Its last line counts: a test can print one like it."""
    whole, total = list(_OK.finditer(lines))[-1:], list(_TOTAL.finditer(lines))[-1:]
    if total and not (whole and whole[0].start() > total[0].start()):
        return tests(_counts(total[0]), _broken(lines))
    if whole:
        return tests(TestCounts(passed=number(whole[0]["tests"])))
    return tests(TestCounts()) if _NONE.search(lines) else None


def _counts(match: re.Match[str]) -> TestCounts:
    said = {each["word"]: number(each["number"]) for each in _NUMBER.finditer(match["others"])}
    failed, errors = said.get("Failures", 0), said.get("Errors", 0)
    skipped = sum(said.get(word, 0) for word in _SKIPPED)
    return TestCounts(0, max(0, number(match["tests"]) - failed - errors - skipped), failed, skipped, errors)


def _broken(lines: str) -> Iterator[Problem]:
    for match in islice(_BROKEN.finditer(lines), 5000):
        file, line = _place(match["said"])
        yield problem(_said(match["said"]), file, line, test=match["test"])


def _problem(case: Case) -> Problem:
    detail = case.detail[:100_000]
    first, _, rest = detail.lstrip().partition("\n")
    if "::" in first and case.name.partition(" with data set")[0] in first:
        detail = rest  # its own heading: the name of the test, once more
    file, line = _place(detail)
    if not file:
        file, line = case.file.partition("::")[0], number(case.line if case.line.isdecimal() else None)
    return problem(_said(detail) or case.message or "failed", file, line, test=case.test)


def _place(detail: str) -> tuple[str, int]:
    """The innermost frame that is the project's own."""
    for match in _FRAME.finditer(shortened(detail)):
        if "vendor/" not in match["file"]:
            return match["file"], number(match["line"])
    return "", 0


def _said(detail: str) -> str:
    """What stands before the frames, on one line."""
    frame = _FRAME.search(shortened(detail))
    before = shortened(detail)[: frame.start()] if frame else detail
    return " ".join(before[:1000].split())[:300]
