"""node:test: JUnit XML where there is a report, else TAP or the text of the `spec` reporter."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from aigon.checks.parsers import junit
from aigon.checks.parsers._coverage import thresholds
from aigon.checks.parsers._crashes import crashed, crashes, explained
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_SUMMARY = re.compile(
    r"^(?P<mark>[#ℹ]) tests \d{1,9}\n(?:(?P=mark) suites \d{1,9}\n)?"
    r"(?P<numbers>(?:(?P=mark) \w+ \d{1,9}(?:\n|$)){2,5})",
    re.M,
)
_NUMBER = re.compile(r"(?P<word>pass|fail|cancelled|skipped|todo) (?P<number>\d{1,9})")
_TAP = re.compile(r"^ *not ok \d+ - (?P<test>[^\n]*)\n *---\n(?P<body>(?:(?! *\.\.\.$)[^\n]*\n){0,300})", re.M)
_FIELD = re.compile(r"^ *(?P<name>location|failureType|error|type): (?P<value>[^\n]*)$", re.M)
_BLOCK = re.compile(r"^ *error: \|-\n(?P<value>[^\n]*(?:(?<=:)\n\s*[^\n]+)?)", re.M)
_SPEC = re.compile(
    r"^test at (?P<file>[^\n]+?):(?P<line>\d+):\d+\n✖ (?P<test>[^\n]*)\n(?P<body>(?:(?!test at )[^\n]*\n){0,300})", re.M
)
_ANNOUNCES = re.compile(r":$|^failed running \w+ hook$")
_TIME = re.compile(r" \(\d+(?:\.\d+)?ms\)(?= # TODO|$)")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. A test that was cancelled counts as an error."""
    reading = junit.read(b"", report) if report else ParsedOutput(understood=False)
    lines = text(output)
    if reading.understood:
        said = _by_name((*_from_tap(lines), *_from_spec(lines)))
        better = (_better(each, said.get(_last(each.test))) for each in reading.problems)
        return replace(reading, problems=(*explained(better, crashes(lines)), *thresholds(lines)))
    return printed(lines) or crashed(lines) or foreign(lines)


def _by_name(problems: Iterable[Problem]) -> dict[str, Problem | None]:
    """What the output says of tests by their own name; None for a name that several have."""
    found: dict[str, Problem | None] = {}
    for each in problems:
        name = _last(each.test)
        found[name] = None if name in found else each
    return found


def _last(test: str) -> str:
    return test.rpartition("::")[2]


def _better(reported: Problem, printed: Problem | None) -> Problem:
    """With the message of the output where the report's only announces one, and its place where that has none."""
    if printed is None or (reported.file and printed.file and reported.file != printed.file):
        return reported
    message = printed.message if _ANNOUNCES.search(reported.message) else reported.message
    place_of = reported if reported.line else printed
    return replace(reported, message=message, file=place_of.file or reported.file, line=place_of.line)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of this runner."""
    summaries = [match["numbers"] for match in _SUMMARY.finditer(lines)]
    numbers = Counter[str]()
    for match in (each for summary in summaries for each in _NUMBER.finditer(summary)):
        numbers[match["word"]] += number(match["number"])
    if not {"pass", "fail", "cancelled"} <= numbers.keys():
        return None
    skipped = numbers["skipped"] + numbers["todo"]
    counts = TestCounts(0, numbers["pass"], numbers["fail"], skipped, numbers["cancelled"])
    problems = explained((*_from_tap(lines), *_from_spec(lines)), crashes(lines))
    return tests(counts, (*problems, *thresholds(lines)))


def _from_tap(lines: str) -> Iterator[Problem]:
    for match in _TAP.finditer(lines):
        fields = {field["name"]: field["value"].strip("'\"") for field in _FIELD.finditer(match["body"])}
        # A suite fails because a test in it did, and a test marked as to do may fail.
        if fields.get("failureType") != "subtestsFailed" and not match["test"].endswith("# TODO"):
            yield _tap_problem(match["test"].replace("\\#", "#"), fields, match["body"])


def _tap_problem(test: str, fields: dict[str, str], body: str) -> Problem:
    block = _BLOCK.search(body)
    message = (block["value"] if block else fields.get("error", "")) or "failed"
    file, _, line = fields.get("location", "").rpartition(":")[0].rpartition(":")
    found, row = place(re.sub(r"^ +(?=\S+ \()", "at ", body, flags=re.M))
    return problem(message, found or file, row or number(line), test=_name(file, test))


def _from_spec(lines: str) -> Iterator[Problem]:
    for match in _SPEC.finditer(lines):
        file, test = match["file"], _TIME.sub("", match["test"])
        if not test.endswith("# TODO"):
            found, line = place(match["body"])
            message = _headline(match["body"])
            yield problem(message, found or file, line or number(match["line"]), test=_name(file, test))


def _headline(body: str) -> str:
    """The first line, with the next where it only announces that."""
    said = [line.strip().strip("'") for line in body.split("\n")[:10] if line.strip()]
    return " ".join(said[: 2 if said and said[0].endswith(":") else 1]) or "failed"


def _name(file: str, test: str) -> str:
    """A file that could not be loaded is a test with the file's own name."""
    return file or test if test.endswith(file) else f"{file}::{test}"
