"""PHPUnit and Pest: their JUnit XML, or PHPUnit's text that ends with `Tests: 8, Assertions: 5, Failures: 2.`"""

import re

from aigon.checks.parsers.output import find_matches, parse_number, read_text, shorten_lines, sum_words
from aigon.checks.parsers.readings import describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import Place
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_FRAME = compile_re(r"^(?:at )?(?P<file>[^\s:][^:\n]*\.php):(?P<line>\d+)$", re.M)
_OK = compile_re(r"^OK \((?P<tests>\d+) tests?, \d+ assertions?\)$", re.M)
_TOTAL = compile_re(r"^Tests: (?P<tests>\d+), Assertions: \d+(?P<others>(?:, [A-Z][\w ]{2,30}: \d+){0,12})\.$", re.M)
_NUMBER = compile_re(r", (?P<word>[A-Z][\w ]{2,30}): (?P<number>\d+)")
_NONE = compile_re(r"^No tests executed!$", re.M)
_BROKEN = compile_re(
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
        numbers = sum_words(_NUMBER.finditer(total[0]["others"]))
        failed, errors = numbers["Failures"], numbers["Errors"]
        skipped = numbers["Skipped"] + numbers["Incomplete"]
        passed = max(0, parse_number(total[0]["tests"]) - failed - errors - skipped)
        broken = (_describe(match["said"], match["test"]) for match in find_matches(_BROKEN, lines))
        return summarize_tests(TestCounts(0, passed, failed, skipped, errors), broken)
    if ok:
        return summarize_tests(TestCounts(passed=parse_number(ok[0]["tests"])))
    return summarize_tests(TestCounts()) if _NONE.search(lines) else describe_unknown(lines)


def _describe_case(case: junit.JunitCase) -> Problem:
    detail = case.detail[:100_000]
    first, _, rest = detail.lstrip().partition("\n")
    if "::" in first and case.name.partition(" with data set")[0] in first:
        detail = rest  # its own heading: the name of the test, once more
    spot = (case.file.partition("::")[0], case.place[1])
    return _describe(detail, case.test, case.message or "failed", spot)


def _describe(detail: str, test: str, otherwise: str = "", spot: Place = ("", 0)) -> Problem:
    """Return what stands before the frames, at the innermost frame of the project."""
    frames = list(_FRAME.finditer(shorten_lines(detail)))
    before = shorten_lines(detail)[: frames[0].start()] if frames else detail
    own = (match for match in frames if "vendor/" not in match["file"])
    place = next(((match["file"], parse_number(match["line"])) for match in own), spot)
    return make_problem(" ".join(before[:1000].split())[:300] or otherwise, *place, test=test)
