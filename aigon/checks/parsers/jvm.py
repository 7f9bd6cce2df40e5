"""Gradle and Maven: the reports of their tasks (JUnit's, Checkstyle's or Android Lint's XML), or what they print."""

import re
from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from aigon.checks.parsers import junit, violations
from aigon.checks.parsers.output import find_matches, find_sections, join_lines, read_text, sum_groups
from aigon.checks.parsers.readings import (
    describe_unknown,
    find_problems,
    keep_distinct,
    make_problem,
    summarize_tests,
    summarize_types,
)
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_TASK = compile_re(r"^(?:> Task )?(?P<task>:[\w.:-]+)(?: [A-Z-]+)?$", re.M)
_ENDED = compile_re(r"^BUILD (?:SUCCESSFUL|FAILED)\b", re.M)
_JAVA = compile_re(
    r"^(?::[\w:-]{0,200}?(?=/|src/))?(?:ERROR: ?)?(?P<file>[^\s:][^:\n]*\.\w{1,10}):(?P<line>\d+)(?::\d+)?: "
    r"(?:AAPT: )?(?P<severity>error|warning): (?P<message>[^\n]+)$",
    re.M,
)
_KOTLIN = compile_re(
    r"^(?P<severity>[ew]): (?:file://)?(?P<file>[^\s:][^:\n]*\.kts?):"
    r"(?: \((?P<line1>\d+), \d+\):|(?P<line>\d+):\d+:?) (?P<message>[^\n]+)$",
    re.M,
)
_KTLINT = compile_re(
    r"^(?P<file>[^\s:][^:\n]*\.kts?):(?P<line>\d+):\d+:? (?P<message>[^\n]+?) "
    r"(?:\[(?P<rule>\w+)\]|\((?P<rule2>[\w:-]+)\))$",
    re.M,
)
_TEST = compile_re(
    r"^(?P<test>\S[^\n>]* > \S[^\n]*) FAILED\n +(?P<said>\S[^\n]*?)(?: at (?P<file>[\w$-]+\.\w+):(?P<line>\d+))?$", re.M
)
_WRONG = compile_re(r"^\* What went wrong:\n(?P<said>(?:(?!\* |==|[ \t]*$)[^\n]*\n){1,20})", re.M)
_UNFORMATTED = compile_re(r"format violations:\n(?P<files>(?:(?:\[ERROR\])? +[^\n]*\n){1,5000})", re.M)
_FILE = compile_re(r"^(?:\[ERROR\])? {2,8}(?P<file>[^\s@+-]\S*\.\w{1,10})$", re.M)

_GOAL = compile_re(r"^\[INFO\] --- (?P<goal>[\w.-]+:[^\s:]+(?::[\w-]+)?) [^\n]*---$", re.M)
_TESTING = compile_re(r"(?:maven-)?(?:surefire|failsafe)(?:-plugin)?:")
_TOTAL = compile_re(
    r"^(?:\[(?:INFO|WARNING|ERROR)\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), "
    r"Skipped: (?P<skipped>\d+)(?:, Flakes: \d+)?$",
    re.M,
)
_KIND = compile_re(r"^\[ERROR\] (?P<kind>Failures|Errors): *$", re.M)
_RESULT = compile_re(
    r"^\[ERROR\]   (?:Run \d+: )?(?P<test>[^\s:]{1,300}):(?P<line>\d+)(?:->\S{0,300})? (?:» )?(?P<message>[^\n]*)$",
    re.M,
)
_COMPILER = compile_re(
    r"^\[(?P<severity>ERROR|WARNING)\] (?:file://)?(?P<file>[^\s:\[][^:\[\n]*\.\w{1,10}):"
    r" ?[\[(](?P<line>\d+),(?: ?\d+)[\])]:? (?:error: )?(?:warning: )?(?P<message>[^\n]+)$",
    re.M,
)
_GOAL_FAILED = compile_re(r"^\[ERROR\] Failed to execute goal (?:\S+ )?(?P<said>[^\n]+?)(?: -> \[Help \d+\])?$", re.M)
_ERROR = compile_re(r"^\[ERROR\] (?P<said>\S[^\n]*)$", re.M)
_CHATTER = compile_re(
    r"-> \[Help|\[Help|To see the full|Re-run Maven|For more information|Please refer to|After correct"
)
_MAVEN = compile_re(r"^\[(?:INFO|ERROR)\] (?:BUILD (?:SUCCESS|FAILURE)$|Scanning for projects)", re.M)


def read_gradle(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return a report, or what the compilers and linters said, or why the build failed. Its text has no counts."""
    if report is not None:
        return _read_report(report)
    lines = read_text(output)
    if not _ENDED.search(lines) and not _TASK.search(lines):
        return describe_unknown(lines)
    placed = (find_problems(pattern, lines) for pattern in (_JAVA, _KOTLIN, violations.LINE, _KTLINT))
    found = chain(*placed, _find_gradle_tests(lines), _find_unformatted(lines))
    reading = summarize_types(keep_distinct(found))
    if any(each.severity == "error" for each in reading.problems):
        return reading
    wrong = (join_lines(match["said"]) for match in find_matches(_WRONG, lines))
    return _explain_stop(reading, keep_distinct(map(make_problem, wrong)))


def read_maven(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return a report, or what was printed: tests, what the compilers said, or why the build failed."""
    if report is not None:
        return _read_report(report)
    lines = read_text(output)
    if not _GOAL.search(lines) and not _MAVEN.search(lines):
        return describe_unknown(lines)
    # What Surefire and Failsafe printed, the words of the tests included.
    sections = [body for match, body in find_sections(_GOAL, lines) if _TESTING.match(match["goal"])]
    placed = (find_problems(pattern, lines) for pattern in (_COMPILER, violations.LINE))
    problems = keep_distinct(chain(*placed, _find_unformatted(lines), *map(_find_failed_tests, sections)))
    if counts := _count_tests(sections):
        return summarize_tests(counts, problems or _find_stop(lines))
    return _explain_stop(summarize_types(problems), () if problems else _find_stop(lines))


def _read_report(report: bytes) -> ParsedOutput:
    reading = junit.read(b"", report)
    if reading.understood:
        return reading
    return violations.read_lint_report(report) or violations.read_checkstyle_report(report) or reading


def _explain_stop(reading: ParsedOutput, reasons: tuple[Problem, ...]) -> ParsedOutput:
    """Return the reading of a build without compiler errors; a build in which nothing was wrong has no summary."""
    if reasons:
        return replace(reading, summary=reasons[0].message[:100], problems=(*reasons, *reading.problems))
    return reading if reading.problems else replace(reading, summary="")


def _find_gradle_tests(lines: str) -> Iterator[Problem]:
    for match in find_matches(_TEST, lines):
        test = " > ".join(part.strip() for part in match["test"].split(" > "))
        yield make_problem(match["said"], match["file"] or "", match["line"], test=test)


def _find_unformatted(lines: str) -> Iterator[Problem]:
    """Yield the files that Spotless names."""
    for match in find_matches(_UNFORMATTED, lines, 100):
        for file in _FILE.finditer(match["files"]):
            yield make_problem("File would be reformatted", file["file"], 0, "unformatted")


def _count_tests(sections: list[str]) -> TestCounts | None:
    """Add up the last total of each section: a test may print one, but before that."""
    numbers = sum_groups(match for section in sections for match in list(_TOTAL.finditer(section))[-1:])
    if not numbers:
        return None
    passed = numbers["total"] - numbers["failed"] - numbers["errors"] - numbers["skipped"]
    return TestCounts(0, max(0, passed), numbers["failed"], numbers["skipped"], numbers["errors"])


def _find_failed_tests(section: str) -> Iterator[Problem]:
    """Yield the failures in the list of results, which follows everything that tests printed."""
    begin = section.rfind("] Results:")
    kinds = _KIND.search(section, max(0, begin))
    if begin < 0 or kinds is None:
        return
    flakes = section.find("[WARNING] Flakes:", kinds.start())
    end = flakes if flakes >= 0 else len(section)
    yield from find_problems(_RESULT, section[kinds.end() : end])


def _find_stop(lines: str) -> tuple[Problem, ...]:
    """Return why Maven failed if no compiler and no test says so; the last goal's failure first."""
    goals = [match["said"] for match in find_matches(_GOAL_FAILED, lines)]
    errors = (match["said"] for match in find_matches(_ERROR, lines))
    reasons = goals or [error for error in errors if not _CHATTER.match(error)]
    return keep_distinct(map(make_problem, reasons[-5:]))
