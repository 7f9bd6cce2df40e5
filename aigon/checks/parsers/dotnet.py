"""`dotnet`: the .trx reports of its tests, and what MSBuild prints. From their documentation.

Each test project writes a report of its own; several may stand one behind the other.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers import _trx
from aigon.checks.parsers._problems import capped, number, problem
from aigon.checks.parsers._readings import foreign, tests, together, types
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml ")
_REPORTS = 2000
_PLACED = re.compile(
    r"^ *(?P<file>[^\s(:][^(:\n]*)\((?P<line>\d+)(?:,\d+){0,3}\): (?P<severity>error|warning) (?P<rule>\w+): "
    r"(?P<said>[^\n]+)$",
    re.M,
)
_BARE = re.compile(
    r"^ *(?:[^\s:][^:\n]* : )?(?P<severity>error|warning) (?P<rule>[A-Z]{2,}\d+): (?P<said>[^\n]+)$", re.M
)
_TOTAL = re.compile(
    r"^(?:Passed!|Failed!|Skipped!) +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), Skipped: +(?P<skipped>\d+), "
    r"Total: +\d+",
    re.M,
)
_SUMMARY = re.compile(
    r"^ *Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: (?P<skipped>\d+)", re.M
)
_OWN = re.compile(
    r"^ *(?:Build succeeded|Build FAILED|Determining projects to restore|Restore complete|Formatted \d+ of)", re.M
)
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures of the reports; else what was printed: the compiler's errors, or the summary of the tests."""
    if report is None:
        lines = text(output)
        return printed(lines) or foreign(lines)
    found = [_trx.reading(each) for each in _reports(report)]
    sound = [each for each in found if each is not None]
    return together(sound) if sound and len(sound) == len(found) else ParsedOutput(understood=False)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not dotnet's."""
    errors = capped(_built(lines))
    totals = list(_TOTAL.finditer(lines)) or list(_SUMMARY.finditer(lines))[-1:]
    if totals and not any(each.severity == "error" for each in errors):
        numbers = Counter[str]()
        for match in totals:
            numbers.update({word: number(digits) for word, digits in match.groupdict().items()})
        return tests(TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], 0))
    if errors:
        return types(errors)
    return ParsedOutput() if _OWN.search(lines) else None


def _reports(report: bytes) -> list[bytes]:
    begins = [match.start() for match in islice(_DECLARATION.finditer(report), _REPORTS)]
    ends = [*begins[1:], len(report)]
    return [report[begin:end] for begin, end in zip(begins, ends, strict=False)] or [report]


def _built(lines: str) -> Iterator[Problem]:
    """MSBuild says each error twice, once more at its end; `capped` knows them again."""
    for match in islice(_PLACED.finditer(lines), _READ):
        file, line = match["file"], number(match["line"])
        yield problem(_said(match), file, line, match["rule"], match["severity"])
    for match in islice(_BARE.finditer(lines), _READ):
        yield problem(_said(match), rule=match["rule"], severity=match["severity"])


def _said(match: re.Match[str]) -> str:
    """Less the project, which stands in brackets at the end of the line."""
    begin = match["said"].rfind(" [")
    return match["said"][:begin] if begin > 0 and match["said"].endswith("]") else match["said"]
