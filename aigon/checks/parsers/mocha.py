"""mocha: its JSON report, or the text of its `spec` reporter with `2 passing (3ms)` and `1 failing` at the end."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers import _json, junit
from aigon.checks.parsers._coverage import thresholds
from aigon.checks.parsers._crashes import crashed
from aigon.checks.parsers._expected import said
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.checks.parsers._unloaded import unloaded
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

_SUMMARY = re.compile(
    r"^ +(?P<passing>\d{1,9}) passing \(\d[^\n()]{0,20}\)(?:\n +(?P<pending>\d{1,9}) pending)?"
    r"(?:\n +(?P<failing>\d{1,9}) failing)?$",
    re.M,
)
_FAILURE = re.compile(
    r"^  \d+\) (?P<title>[^\n]*\n(?:       +[^\n]*\n){0,20})(?P<body>(?:(?!  \d+\) )[^\n]*\n){0,300})", re.M
)
_UNLOADED = re.compile(r"^ *Exception during run: |^ *✖ ERROR: ", re.M)
_SPOT = re.compile(r"\S{1,500}:\d{1,9}")
"""Where a file could not be compiled stands before what was wrong with it."""
_LISTS: dict[str, TestResult] = {"passes": "passed", "pending": "skipped", "failures": "failed"}
_HOOK = re.compile(r'"(?:before|after) (?:all|each)" hook\b')


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures; a report file is JSON, or JUnit XML from a reporter for that."""
    if report and (reading := junit.read(b"", report)).understood:
        return reading
    lines = text(output)
    if whole := _whole(_json.document(report)):
        return replace(_reported(whole, lines), tests=_results(whole))
    if whole := _whole(_json.embedded(output, dict)):
        return _reported(whole, "")
    return printed(lines) or not_run(lines) or crashed(lines) or foreign(lines)


def _whole(found: object) -> _json.Row | None:
    if isinstance(found, dict) and isinstance(found.get("stats"), dict) and isinstance(found.get("failures"), list):
        return found
    return None


def _reported(whole: _json.Row, lines: str) -> ParsedOutput:
    passed, skipped, failed = (len(_json.rows(whole.get(name))) for name in ("passes", "pending", "failures"))
    problems = (_problem(row) for row in _json.rows(whole["failures"]))
    return tests(TestCounts(0, passed, failed, skipped), (*problems, *thresholds(lines)))


def _results(whole: _json.Row) -> dict[str, TestResult]:
    """Of single tests: a hook is none."""
    seen = Seen()
    for name, result in _LISTS.items():
        for row in _json.rows(whole.get(name)):
            if not _HOOK.search(_json.string(row.get("title"))[:1000]):
                seen.add(_name(row), result)
    return seen.results()


def _name(row: _json.Row) -> str:
    file, title = _json.string(row.get("file")), _json.string(row.get("fullTitle"))
    return f"{file}::{title}" if file else title


def _problem(row: _json.Row) -> Problem:
    error = row.get("err")
    error = error if isinstance(error, dict) else {}
    stack, message = _json.string(error.get("stack")), _json.string(error.get("message"))
    found, line = place(stack[:100_000])
    file = _json.string(row.get("file"))
    return problem(_said(stack if message[:50] in stack else message), found or file, line, test=_name(row))


def _said(text_: str) -> str:
    """The first line, and what follows it where it only announces that."""
    first, _, rest = text_.strip().partition("\n")
    if _SPOT.fullmatch(first):
        return unloaded(text_, "")[0] if "SyntaxError" in rest else said(rest)
    return said(f"{first} {rest.strip().partition(chr(10))[0]}" if first.endswith(":") else text_)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    summaries = list(islice(_SUMMARY.finditer(lines), 1000))
    if not summaries:
        return None
    numbers = Counter[str]()
    for match in summaries:
        numbers.update({word: number(digits) for word, digits in match.groupdict().items()})
    ends = [*(match.start() for match in summaries[1:]), len(lines)]
    parts = (lines[m.end() : end] for m, end in zip(summaries, ends, strict=False) if m["failing"])
    counts = TestCounts(0, numbers["passing"], numbers["failing"], numbers["pending"])
    return tests(counts, (*(each for part in parts for each in _problems(part)), *thresholds(lines)))


def not_run(lines: str) -> ParsedOutput | None:
    """A file that could not be loaded ends the run before it begins; None when that is not what happened."""
    match = _UNLOADED.search(lines)
    if match is None:
        return None
    return ParsedOutput(problems=(problem(*unloaded(lines[match.end() :], "")),), understood=False)


def _problems(failures: str) -> Iterator[Problem]:
    for match in _FAILURE.finditer(failures):
        title = " > ".join(line.strip() for line in match["title"].strip().rstrip(":").split("\n"))
        yield problem(_said(match["body"]), *place(match["body"]), test=title)
