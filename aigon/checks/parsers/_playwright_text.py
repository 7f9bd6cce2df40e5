"""What Playwright's reporters for people print: numbered failures, then `1 failed`, `2 passed (3.4s)`."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._expected import said
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import tests
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_RUNNING = re.compile(r"^Running (?P<number>\d{1,9}) tests? using \d+ workers?", re.M)
_NUMBER = re.compile(
    r"  (?P<number>\d{1,9}) "
    r"(?P<word>failed|flaky|interrupted|skipped|did not run|passed|errors? (?:was|were) not a part)\b"
)
_NONE = re.compile(r"^Error: No tests found", re.M)
_BEGIN = re.compile(
    r"^  \d{1,6}\) (?:\[(?P<project>[^\]\n]{1,200})\] › )?"
    r"(?P<file>[^\n:]{1,300}):(?P<line>\d{1,9}):\d+ › (?P<test>[^\n─]{1,1000})",
    re.M,
)
_RETRY = re.compile(r"^ +Retry #\d+ ─", re.M)
_BESIDE = re.compile(r"^(?:\[WebServer\] )?(?P<said>(?:\w*Error|Error): [^\n]+)$", re.M)
_SPAN = 20_000
"""Characters of one failure that are read."""
_READ = 2000
"""Failures that are read: far more than are kept."""


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    headers = list(_RUNNING.finditer(lines))
    if not headers:
        return None
    numbers, flaky = Counter[str](), set[str]()
    for header, end in zip(headers, [*(match.start() for match in headers[1:]), len(lines)], strict=False):
        found, names = _summed_up(lines[header.end() : end], number(header["number"]))
        numbers.update(found)
        flaky |= names
    counts = TestCounts(
        passed=numbers["passed"] + numbers["flaky"],
        failed=numbers["failed"],
        skipped=numbers["skipped"] + numbers["did not run"],
        errors=numbers["interrupted"] + numbers["errors"],
    )
    return tests(counts, _problems(lines, flaky))


def none_found(lines: str) -> ParsedOutput | None:
    """The reading of a run that found no tests: words that could be anybody's, so they count where it was asked for."""
    return tests(TestCounts()) if _NONE.search(lines) else None


def _summed_up(lines: str, planned: int) -> tuple[Counter[str], set[str]]:
    """The last block of numbers that comes to what was planned, else the last block: a test can print one, too."""
    blocks = list(islice(_blocks(lines), 1000))
    whole = [block for block in blocks if sum(n for word, n in block[0].items() if word != "errors") == planned]
    return (whole or blocks or [(Counter[str](), set[str]())])[-1]


def _blocks(lines: str) -> Iterator[tuple[Counter[str], set[str]]]:
    numbers, flaky, word = Counter[str](), set[str](), ""
    for line in lines.split("\n"):
        if match := _NUMBER.match(line):
            word = "errors" if match["word"].startswith("error") else match["word"]
            numbers[word] += number(match["number"])
        elif word and line.startswith("    "):
            flaky |= {line.strip(" ─")} if word == "flaky" else set()
        elif numbers:
            yield numbers, flaky
            numbers, flaky, word = Counter[str](), set[str](), ""
    if numbers:
        yield numbers, flaky


def _problems(lines: str, flaky: set[str]) -> Iterator[Problem]:
    begins = list(islice(_BEGIN.finditer(lines), _READ))
    if not begins:
        yield from (problem(match["said"]) for match in islice(_BESIDE.finditer(lines), 10))
    ends = [*(match.start() for match in begins[1:]), len(lines)]
    for match, end in zip(begins, ends, strict=False):
        yield _problem(match, lines[match.end() : min(end, match.end() + _SPAN)], flaky)


def _problem(match: re.Match[str], body: str, flaky: set[str]) -> Problem:
    body = _RETRY.split(body, maxsplit=1)[0]
    file, line = place(body)
    if not file:
        file, line = match["file"], number(match["line"])
    name = f"{match['file']}::{match['test'].strip().replace(' › ', ' > ')}"
    test = f"{name} [{match['project']}]" if match["project"] else name
    message = said(body.strip(" ─\n")) if body.strip(" ─\n") else "failed"
    if _title(match) in flaky:
        return problem(f"flaky: {message}", file, line, "flaky", "warning", test)
    return problem(message, file, line, test=test)


def _title(match: re.Match[str]) -> str:
    """How the summary calls the test."""
    return match[0].partition(") ")[2].strip(" ─")
