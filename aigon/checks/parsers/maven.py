"""Maven: its reports (JUnit XML of Surefire and Failsafe, Checkstyle's XML), or what it prints."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from aigon.checks.parsers import _jvmreport, checkstyle
from aigon.checks.parsers._problems import capped, number, problem
from aigon.checks.parsers._readings import foreign, tests, types
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_GOAL = re.compile(r"^\[INFO\] --- (?P<goal>[\w.-]+:[^\s:]+(?::[\w-]+)?) [^\n]*---$", re.M)
_TESTING = re.compile(r"(?:maven-)?(?:surefire|failsafe)(?:-plugin)?:")
_TOTAL = re.compile(
    r"^(?:\[(?:INFO|WARNING|ERROR)\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), "
    r"Skipped: (?P<skipped>\d+)(?:, Flakes: \d+)?$",
    re.M,
)
_KIND = re.compile(r"^\[ERROR\] (?P<kind>Failures|Errors): *$", re.M)
_RESULT = re.compile(
    r"^\[ERROR\]   (?:Run \d+: )?(?P<test>[^\s:]{1,300}):(?P<line>\d+)(?:->\S{0,300})? (?:» )?(?P<said>[^\n]*)$", re.M
)
_COMPILER = re.compile(
    r"^\[(?P<severity>ERROR|WARNING)\] (?:file://)?(?P<file>[^\s:\[][^:\[\n]*\.\w{1,10}):"
    r" ?[\[(](?P<line>\d+),(?: ?\d+)[\])]:? (?P<said>[^\n]+)$",
    re.M,
)
_UNFORMATTED = re.compile(r"format violations:\n(?P<files>(?:(?:\[ERROR\])? {2,}[^\n]*\n){1,5000})", re.M)
_FILE = re.compile(r"^(?:\[ERROR\])? {2,8}(?P<file>[^\s@+-]\S*\.\w{1,10})$", re.M)
_GOAL_FAILED = re.compile(r"^\[ERROR\] Failed to execute goal (?:\S+ )?(?P<said>[^\n]+?)(?: -> \[Help \d+\])?$", re.M)
_ERROR = re.compile(r"^\[ERROR\] (?P<said>\S[^\n]*)$", re.M)
_CHATTER = re.compile(
    r"-> \[Help|\[Help|To see the full|Re-run Maven|For more information|Please refer to|After correct"
)
_OWN = re.compile(r"^\[(?:INFO|ERROR)\] (?:BUILD (?:SUCCESS|FAILURE)$|Scanning for projects)", re.M)
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """A report as it stands; else what was printed: tests, what the compilers said, or why the build failed."""
    if report is not None:
        return _jvmreport.reading(report)
    lines = text(output)
    return printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not Maven's."""
    if not _GOAL.search(lines) and not _OWN.search(lines):
        return None
    sections = list(_test_sections(lines))
    counts = _counts(sections)
    problems = capped(
        chain(_compiled(lines), checkstyle.from_text(lines), _unformatted(lines), *map(_failed, sections))
    )
    if counts:
        return tests(counts, problems or _stopped(lines))
    found = types(problems)
    stopped = () if problems else _stopped(lines)
    return replace(found, summary=stopped[0].message[:100], problems=stopped) if stopped else _content(found)


def _content(found: ParsedOutput) -> ParsedOutput:
    return found if found.problems else replace(found, summary="")


def _test_sections(lines: str) -> Iterator[str]:
    """What each run of Surefire or Failsafe printed, that of the tests included."""
    begins = list(islice(_GOAL.finditer(lines), _READ))
    ends = [match.start() for match in begins[1:]]
    ends.append(len(lines))
    for match, end in zip(begins, ends, strict=False):
        if _TESTING.match(match["goal"]):
            yield lines[match.end() : end]


def _counts(sections: list[str]) -> TestCounts | None:
    """The last total of each section: a test may print one, but before that."""
    found = Counter[str]()
    for section in sections:
        for match in list(_TOTAL.finditer(section))[-1:]:
            found.update({word: number(digits) for word, digits in match.groupdict().items()})
    if not found:
        return None
    passed = found["total"] - found["failed"] - found["errors"] - found["skipped"]
    return TestCounts(0, max(0, passed), found["failed"], found["skipped"], found["errors"])


def _failed(section: str) -> Iterator[Problem]:
    """The failures in the list of results, which stands after everything that tests printed."""
    begin = section.rfind("] Results:")
    kinds = _KIND.search(section, max(0, begin))
    if begin < 0 or kinds is None:
        return
    end = section.find("[WARNING] Flakes:", kinds.start())
    for match in islice(_RESULT.finditer(section, kinds.end(), end if end >= 0 else len(section)), _READ):
        test = match["test"]
        yield problem(match["said"] or "failed", "", number(match["line"]), test=test)


def _compiled(lines: str) -> Iterator[Problem]:
    for match in islice(_COMPILER.finditer(lines), _READ):
        severity = "error" if match["severity"] == "ERROR" else "warning"
        said = match["said"].removeprefix("error: ").removeprefix("warning: ")
        yield problem(said, match["file"], number(match["line"]), severity=severity)


def _unformatted(lines: str) -> Iterator[Problem]:
    for match in islice(_UNFORMATTED.finditer(lines), 100):
        for file in _FILE.finditer(match["files"]):
            yield problem("File would be reformatted", file["file"], 0, "unformatted")


def _stopped(lines: str) -> tuple[Problem, ...]:
    """Why it failed where no compiler and no test says so; the last goal's failure first."""
    goals = [match["said"] for match in islice(_GOAL_FAILED.finditer(lines), _READ)]
    said = goals or [m["said"] for m in islice(_ERROR.finditer(lines), _READ) if not _CHATTER.match(m["said"])]
    return capped(problem(each) for each in said[-5:])
