"""Gradle: the reports of its tasks (JUnit's, Checkstyle's, Android Lint's XML), or what a build printed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from aigon.checks.parsers import _jvmreport, checkstyle
from aigon.checks.parsers._problems import capped, number, problem
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem

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
_LINTED = re.compile(
    r"^(?P<file>[^\s:][^:\n]*\.kts?):(?P<line>\d+):\d+:? (?P<said>[^\n]+?) "
    r"(?:\[(?P<rule>\w+)\]|\((?P<id>[\w:-]+)\))$",
    re.M,
)
_TEST = re.compile(
    r"^(?P<test>\S[^\n>]* > \S[^\n]*) FAILED\n +(?P<said>\S[^\n]*?)(?: at (?P<file>[\w$-]+\.\w+):(?P<line>\d+))?$", re.M
)
_UNFORMATTED = re.compile(r"format violations:\n(?P<files>(?: +[^\n]*\n){1,5000})", re.M)
_FILE = re.compile(r"^ {2,8}(?P<file>[^\s@+-]\S*\.\w{1,10})$", re.M)
_WRONG = re.compile(r"^\* What went wrong:\n(?P<said>(?:(?!\* |==|[ \t]*$)[^\n]*\n){1,20})", re.M)
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """A report as it stands; else what the compilers and linters said, or why the build failed. Text has no counts."""
    if report is not None:
        return _jvmreport.reading(report)
    lines = text(output)
    return printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not Gradle's."""
    if not _ENDED.search(lines) and not _TASK.search(lines):
        return None
    found = types(capped(_problems(lines)))
    if any(each.severity == "error" for each in found.problems):
        return found
    stopped = capped(map(problem, _stopped(lines)))
    if stopped:
        return replace(found, summary=stopped[0].message[:100], problems=(*stopped, *found.problems))
    return found if found.problems else replace(found, summary="")


def _problems(lines: str) -> Iterator[Problem]:
    yield from chain(_compiled(lines), checkstyle.from_text(lines))
    for match in islice(_LINTED.finditer(lines), _READ):
        yield problem(match["said"], match["file"], number(match["line"]), match["rule"] or match["id"])
    for match in islice(_TEST.finditer(lines), _READ):
        test = " > ".join(part.strip() for part in match["test"].split(" > "))
        yield problem(match["said"], match["file"] or "", number(match["line"]), test=test)
    for match in islice(_UNFORMATTED.finditer(lines), 100):
        for file in _FILE.finditer(match["files"]):
            yield problem("File would be reformatted", file["file"], 0, "unformatted")


def _compiled(lines: str) -> Iterator[Problem]:
    for match in islice(_JAVA.finditer(lines), _READ):
        yield problem(match["said"], match["file"], number(match["line"]), severity=match["severity"])
    for match in islice(_KOTLIN.finditer(lines), _READ):
        severity = "error" if match["severity"] == "e" else "warning"
        yield problem(match["said"], match["file"], number(match["line"] or match["row"]), severity=severity)


def _stopped(lines: str) -> Iterator[str]:
    """What went wrong, on one line each: several tasks may have failed."""
    for match in islice(_WRONG.finditer(lines), _READ):
        yield " ".join(line.strip() for line in match["said"].split("\n") if line.strip())
