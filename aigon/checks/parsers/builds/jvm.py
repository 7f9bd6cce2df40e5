"""Gradle and Maven: the reports of their tasks (JUnit's, Checkstyle's or Android Lint's XML), or what they print."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from aigon.checks.parsers.linters import checkstyle
from aigon.checks.parsers.readings import (
    READ_MATCHES,
    describe_unknown,
    find_sections,
    join_lines,
    keep_distinct,
    make_problem,
    read_text,
    sum_groups,
    summarize_tests,
    summarize_types,
)
from aigon.checks.parsers.runners import junit
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_TASK = re.compile(r"^(?:> Task )?(?P<task>:[\w.:-]+)(?: [A-Z-]+)?$", re.M)
_ENDED = re.compile(r"^BUILD (?:SUCCESSFUL|FAILED)\b", re.M)
_JAVA = re.compile(
    r"^(?::[\w:-]{0,200}?(?=/|src/))?(?:ERROR: ?)?(?P<file>[^\s:][^:\n]*\.\w{1,10}):(?P<line>\d+)(?::\d+)?: "
    r"(?:AAPT: )?(?P<severity>error|warning): (?P<said>[^\n]+)$",
    re.M,
)
_KOTLIN = re.compile(
    r"^(?P<severity>[ew]): (?:file://)?(?P<file>[^\s:][^:\n]*\.kts?):"
    r"(?: \((?P<row>\d+), \d+\):|(?P<line>\d+):\d+:?) (?P<said>[^\n]+)$",
    re.M,
)
_KTLINT = re.compile(
    r"^(?P<file>[^\s:][^:\n]*\.kts?):(?P<line>\d+):\d+:? (?P<said>[^\n]+?) "
    r"(?:\[(?P<rule>\w+)\]|\((?P<id>[\w:-]+)\))$",
    re.M,
)
_TEST = re.compile(
    r"^(?P<test>\S[^\n>]* > \S[^\n]*) FAILED\n +(?P<said>\S[^\n]*?)(?: at (?P<file>[\w$-]+\.\w+):(?P<line>\d+))?$", re.M
)
_WRONG = re.compile(r"^\* What went wrong:\n(?P<said>(?:(?!\* |==|[ \t]*$)[^\n]*\n){1,20})", re.M)
_UNFORMATTED = re.compile(r"format violations:\n(?P<files>(?:(?:\[ERROR\])? +[^\n]*\n){1,5000})", re.M)
_FILE = re.compile(r"^(?:\[ERROR\])? {2,8}(?P<file>[^\s@+-]\S*\.\w{1,10})$", re.M)

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
_GOAL_FAILED = re.compile(r"^\[ERROR\] Failed to execute goal (?:\S+ )?(?P<said>[^\n]+?)(?: -> \[Help \d+\])?$", re.M)
_ERROR = re.compile(r"^\[ERROR\] (?P<said>\S[^\n]*)$", re.M)
_CHATTER = re.compile(
    r"-> \[Help|\[Help|To see the full|Re-run Maven|For more information|Please refer to|After correct"
)
_MAVEN = re.compile(r"^\[(?:INFO|ERROR)\] (?:BUILD (?:SUCCESS|FAILURE)$|Scanning for projects)", re.M)


def read_gradle(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return a report, or what the compilers and linters said, or why the build failed. Its text has no counts."""
    if report is not None:
        return _read_report(report)
    lines = read_text(output)
    if not _ENDED.search(lines) and not _TASK.search(lines):
        return describe_unknown(lines)
    reading = summarize_types(keep_distinct(_find_gradle_problems(lines)))
    if any(each.severity == "error" for each in reading.problems):
        return reading
    wrong = (join_lines(match["said"]) for match in islice(_WRONG.finditer(lines), READ_MATCHES))
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
    problems = keep_distinct(
        chain(
            _find_compiler_errors(lines),
            checkstyle.find_violations(lines),
            _find_unformatted(lines),
            *map(_find_failed_tests, sections),
        )
    )
    if counts := _count_tests(sections):
        return summarize_tests(counts, problems or _find_stop(lines))
    return _explain_stop(summarize_types(problems), () if problems else _find_stop(lines))


def _read_report(report: bytes) -> ParsedOutput:
    reading = junit.read(b"", report)
    if reading.understood:
        return reading
    return checkstyle.read_androidlint_report(report) or checkstyle.read_report(report) or reading


def _explain_stop(reading: ParsedOutput, reasons: tuple[Problem, ...]) -> ParsedOutput:
    """Return the reading of a build without compiler errors; a build in which nothing was wrong has no summary."""
    if reasons:
        return replace(reading, summary=reasons[0].message[:100], problems=(*reasons, *reading.problems))
    return reading if reading.problems else replace(reading, summary="")


def _find_gradle_problems(lines: str) -> Iterator[Problem]:
    for match in islice(_JAVA.finditer(lines), READ_MATCHES):
        yield make_problem(match["said"], match["file"], match["line"], severity=match["severity"])
    for match in islice(_KOTLIN.finditer(lines), READ_MATCHES):
        severity = "error" if match["severity"] == "e" else "warning"
        yield make_problem(match["said"], match["file"], match["line"] or match["row"], "", severity)
    yield from checkstyle.find_violations(lines)
    for match in islice(_KTLINT.finditer(lines), READ_MATCHES):
        yield make_problem(match["said"], match["file"], match["line"], match["rule"] or match["id"])
    for match in islice(_TEST.finditer(lines), READ_MATCHES):
        test = " > ".join(part.strip() for part in match["test"].split(" > "))
        yield make_problem(match["said"], match["file"] or "", match["line"], test=test)
    yield from _find_unformatted(lines)


def _find_unformatted(lines: str) -> Iterator[Problem]:
    """Yield the files that Spotless names."""
    for match in islice(_UNFORMATTED.finditer(lines), 100):
        for file in _FILE.finditer(match["files"]):
            yield make_problem("File would be reformatted", file["file"], 0, "unformatted")


def _find_compiler_errors(lines: str) -> Iterator[Problem]:
    for match in islice(_COMPILER.finditer(lines), READ_MATCHES):
        severity = "error" if match["severity"] == "ERROR" else "warning"
        message = match["said"].removeprefix("error: ").removeprefix("warning: ")
        yield make_problem(message, match["file"], match["line"], severity=severity)


def _count_tests(sections: list[str]) -> TestCounts | None:
    """Add up the last total of each section: a test may print one, but before that."""
    numbers = sum_groups(match for section in sections for match in list(_TOTAL.finditer(section))[-1:])
    if not numbers:
        return None
    passed = numbers["total"] - numbers["failed"] - numbers["errors"] - numbers["skipped"]
    return TestCounts(0, max(0, passed), numbers["failed"], numbers["skipped"], numbers["errors"])


def _find_failed_tests(section: str) -> Iterator[Problem]:
    """Yield the failures in the list of results, which stands after everything that tests printed."""
    begin = section.rfind("] Results:")
    kinds = _KIND.search(section, max(0, begin))
    if begin < 0 or kinds is None:
        return
    flakes = section.find("[WARNING] Flakes:", kinds.start())
    end = flakes if flakes >= 0 else len(section)
    for match in islice(_RESULT.finditer(section, kinds.end(), end), READ_MATCHES):
        yield make_problem(match["said"] or "failed", "", match["line"], test=match["test"])


def _find_stop(lines: str) -> tuple[Problem, ...]:
    """Return why Maven failed if no compiler and no test says so; the last goal's failure first."""
    goals = [match["said"] for match in islice(_GOAL_FAILED.finditer(lines), READ_MATCHES)]
    errors = (match["said"] for match in islice(_ERROR.finditer(lines), READ_MATCHES))
    reasons = goals or [error for error in errors if not _CHATTER.match(error)]
    return keep_distinct(map(make_problem, reasons[-5:]))
