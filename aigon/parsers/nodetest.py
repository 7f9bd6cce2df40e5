"""node:test: JUnit XML where there is a report, else TAP or the text of the `spec` reporter."""

import re
from collections import Counter
from collections.abc import Iterator

from aigon.core.model import Counts, Problem, Reading
from aigon.parsers import junit
from aigon.parsers._places import place
from aigon.parsers._problems import number, problem
from aigon.parsers._readings import foreign, tests
from aigon.parsers._text import text

_NUMBER = re.compile(r"^(?:#|ℹ) (?P<word>tests|pass|fail|cancelled|skipped|todo) (?P<number>\d+)$", re.M)
_TAP = re.compile(r"^ *not ok \d+ - (?P<test>[^\n]*)\n *---\n(?P<body>(?:(?! *\.\.\.$)[^\n]*\n){0,300})", re.M)
_FIELD = re.compile(r"^ *(?P<name>location|failureType|error|type): (?P<value>[^\n]*)$", re.M)
_BLOCK = re.compile(r"^ *error: \|-\n(?P<value>[^\n]*)", re.M)
_SPEC = re.compile(
    r"^test at (?P<file>[^\n]+?):(?P<line>\d+):\d+\n✖ (?P<test>[^\n]*)\n(?P<body>(?:(?!test at )[^\n]*\n){0,300})", re.M
)
_TIME = re.compile(r" \(\d+(?:\.\d+)?ms\)$")


def read(output: bytes, report: bytes | None) -> Reading:
    """Counts and failures. A test that was cancelled counts as an error."""
    reading = junit.read(b"", report) if report else Reading(understood=False)
    if reading.understood:
        return reading
    return printed(lines := text(output)) or foreign(lines)


def printed(lines: str) -> Reading | None:
    """What the text says; None when it is not of this runner."""
    numbers = Counter[str]()
    for match in _NUMBER.finditer(lines):
        numbers[match["word"]] += number(match["number"])
    if not {"tests", "pass", "fail"} <= numbers.keys():
        return None
    skipped = numbers["skipped"] + numbers["todo"]
    counts = Counts(0, numbers["pass"], numbers["fail"], skipped, numbers["cancelled"])
    return tests(counts, (*_from_tap(lines), *_from_spec(lines)))


def _from_tap(lines: str) -> Iterator[Problem]:
    for match in _TAP.finditer(lines):
        fields = {field["name"]: field["value"].strip("'\"") for field in _FIELD.finditer(match["body"])}
        # A suite fails because a test in it did, and a test marked as to do may fail.
        if fields.get("failureType") != "subtestsFailed" and not match["test"].endswith("# TODO"):
            yield _tap_problem(match["test"], fields, match["body"])


def _tap_problem(test: str, fields: dict[str, str], body: str) -> Problem:
    block = _BLOCK.search(body)
    message = (block["value"] if block else fields.get("error", "")) or "failed"
    file, _, line = fields.get("location", "").rpartition(":")[0].rpartition(":")
    found, row = place(re.sub(r"^ +(?=\S+ \()", "at ", body, flags=re.M))
    return problem(message, found or file, row or number(line), test=_name(file, test))


def _from_spec(lines: str) -> Iterator[Problem]:
    for match in _SPEC.finditer(lines):
        message = next((line for line in match["body"].split("\n") if line.strip()), "failed").strip().strip("'")
        file, test = match["file"], _TIME.sub("", match["test"])
        found, line = place(match["body"])
        yield problem(message, found or file, line or number(match["line"]), test=_name(file, test))


def _name(file: str, test: str) -> str:
    """A file that could not be loaded is a test with the file's own name."""
    return file or test if test.endswith(file) else f"{file}::{test}"
