"""`bun test`: its JUnit report, or its text, with ` 2 pass`, ` 1 fail` and `Ran 3 tests across 1 file` at the end."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers import junit
from aigon.checks.parsers._cases import Case
from aigon.checks.parsers._expected import said
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_SUMMARY = re.compile(
    r"^(?P<numbers>(?: \d{1,9} (?:pass|fail|skip|todo|errors?|snapshots?|expect\(\) calls?|filtered out)[^\n]{0,80}\n)"
    r"{2,8})"
    r"Ran \d{1,9} tests? across \d{1,9} files?\.",
    re.M,
)
_NUMBER = re.compile(r"^ (?P<number>\d{1,9}) (?P<word>pass|fail|skip|todo|error)s?$", re.M)
_FILE = re.compile(r"^(?P<file>[^\s:()#|][^\n:]{0,300}\.[cm]?[jt]sx?):$", re.M)
_FAIL = re.compile(r"^(?:\(fail\)|✗) (?P<test>[^\n]*?)(?: \[[\d.]+\w+\])?$", re.M)
_PASS = re.compile(r"^(?:\((?:pass|skip|todo)\)|[✓»✎]) [^\n]*$", re.M)
_BETWEEN = re.compile(r"^# Unhandled error between tests\n-{3,}\n(?P<body>(?:(?!-{3,}$)[^\n]*\n){1,60})", re.M)
_SAID = re.compile(
    r"^ *error: (?P<said>[^\n]+(?:\n\n(?:Expected|Received)[^\n]*(?:\n(?:Expected|Received)[^\n]*)?)?)", re.M
)
_NONE = re.compile(r"^No tests found!$", re.M)
_READ = 5000
_SPAN = 20_000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. The report does not know of files that could not be loaded: the output names them."""
    lines = text(output)
    if reading := junit.reported(report, _case) if report else None:
        return replace(reading, problems=(*reading.problems, *_between(lines)))
    return printed(lines) or foreign(lines)


def _case(case: Case) -> Problem:
    found, line = place(case.detail)
    at = (found, line) if found else (case.file, number(case.line if case.line.isdecimal() else None))
    return problem(said(case.message or case.detail), *at, test=case.test)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    summaries = list(islice(_SUMMARY.finditer(lines), 1000))
    if not summaries:
        return tests(TestCounts()) if _NONE.search(lines) and "bun test" in lines else None
    numbers = Counter[str]()
    for summary in summaries:
        numbers.update({match["word"]: number(match["number"]) for match in _NUMBER.finditer(summary["numbers"])})
    # A file that could not be loaded is among the failed ones and, once more, an error.
    failed = max(0, numbers["fail"] - numbers["error"])
    counts = TestCounts(0, numbers["pass"], failed, numbers["skip"] + numbers["todo"], numbers["error"])
    return tests(counts, (*_failures(lines), *_between(lines)))


def _failures(lines: str) -> Iterator[Problem]:
    """What a test says stands above its line, below that of the one before."""
    marks = sorted(
        [match for pattern in (_FILE, _FAIL, _PASS) for match in islice(pattern.finditer(lines), 25 * _READ)],
        key=lambda match: match.start(),
    )
    file, after = "", 0
    for match in marks:
        if match.re is _FILE:
            file = match["file"]
        elif match.re is _FAIL:
            yield _failure(file, match["test"], lines[max(after, match.start() - _SPAN) : match.start()])
        after = match.end()


def _failure(file: str, test: str, body: str) -> Problem:
    found, line = place(body)
    message = _SAID.search(body)
    at = (found, line) if found else (file, 0)
    return problem(said(message["said"]) if message else "failed", *at, test=f"{file}::{test}" if file else test)


def _between(lines: str) -> Iterator[Problem]:
    for match in islice(_BETWEEN.finditer(lines), 200):
        message = _SAID.search(match["body"])
        yield problem(said(message["said"]) if message else "unhandled error", *place(match["body"]))
