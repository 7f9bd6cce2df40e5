"""PHPUnit and Pest: their JUnit XML, or PHPUnit's text that ends with `Tests: 8, Assertions: 5, Failures: 2.`"""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers.readings import (
    READ_MATCHES,
    describe_unknown,
    make_problem,
    parse_number,
    read_text,
    shorten_lines,
    summarize_tests,
)
from aigon.checks.parsers.runners import junit
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_FRAME = re.compile(r"^(?:at )?(?P<file>[^\s:][^:\n]*\.php):(?P<line>\d+)$", re.M)
_OK = re.compile(r"^OK \((?P<tests>\d+) tests?, \d+ assertions?\)$", re.M)
_TOTAL = re.compile(r"^Tests: (?P<tests>\d+), Assertions: \d+(?P<others>(?:, [A-Z][\w ]{2,30}: \d+){0,12})\.$", re.M)
_NUMBER = re.compile(r", (?P<word>[A-Z][\w ]{2,30}): (?P<number>\d+)")
_NONE = re.compile(r"^No tests executed!$", re.M)
_BROKEN = re.compile(
    r"^(?P<number>\d+)\) (?P<test>[\w\\]+::[^\n]{1,500})\n(?P<said>(?:(?!\d+\) |--$|[A-Z]+!$)[^\n]*\n){1,60})", re.M
)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A test that is incomplete was skipped."""
    if report is not None:
        return junit.read_report(report, _describe_case) or ParsedOutput(understood=False)
    lines = read_text(output)
    # The last line counts: a test can print one like it.
    ok, total = list(_OK.finditer(lines))[-1:], list(_TOTAL.finditer(lines))[-1:]
    if total and not (ok and ok[0].start() > total[0].start()):
        return summarize_tests(_read_counts(total[0]), _find_broken(lines))
    if ok:
        return summarize_tests(TestCounts(passed=parse_number(ok[0]["tests"])))
    return summarize_tests(TestCounts()) if _NONE.search(lines) else describe_unknown(lines)


def _read_counts(match: re.Match[str]) -> TestCounts:
    numbers = {each["word"]: parse_number(each["number"]) for each in _NUMBER.finditer(match["others"])}
    failed, errors = numbers.get("Failures", 0), numbers.get("Errors", 0)
    skipped = numbers.get("Skipped", 0) + numbers.get("Incomplete", 0)
    return TestCounts(0, max(0, parse_number(match["tests"]) - failed - errors - skipped), failed, skipped, errors)


def _find_broken(lines: str) -> Iterator[Problem]:
    for match in islice(_BROKEN.finditer(lines), READ_MATCHES):
        yield make_problem(_describe(match["said"]), *_find_place(match["said"]), test=match["test"])


def _describe_case(case: junit.JunitCase) -> Problem:
    detail = case.detail[:100_000]
    first, _, rest = detail.lstrip().partition("\n")
    if "::" in first and case.name.partition(" with data set")[0] in first:
        detail = rest  # its own heading: the name of the test, once more
    file, line = _find_place(detail)
    place = (file, line) if file else (case.file.partition("::")[0], case.place[1])
    return make_problem(_describe(detail) or case.message or "failed", *place, test=case.test)


def _find_place(detail: str) -> tuple[str, int]:
    """Return the innermost frame of the project."""
    for match in _FRAME.finditer(shorten_lines(detail)):
        if "vendor/" not in match["file"]:
            return match["file"], parse_number(match["line"])
    return "", 0


def _describe(detail: str) -> str:
    """Return what stands before the frames, on one line."""
    frame = _FRAME.search(shorten_lines(detail))
    before = shorten_lines(detail)[: frame.start()] if frame else detail
    return " ".join(before[:1000].split())[:300]
