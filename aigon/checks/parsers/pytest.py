"""pytest: its JUnit XML where there is one, else its last line; and the names on its FAILED lines."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers import junit
from aigon.checks.parsers._places import headline
from aigon.checks.parsers._problems import KEPT, errorlike, number, problem
from aigon.checks.parsers._readings import FEW, foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_LAST = re.compile(
    r"^=*(?: )?(?P<numbers>no tests ran|\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?){0,12}) in \d[\d.]*s\b", re.M
)
_NUMBER = re.compile(r"(\d+) ([a-z]+(?: [a-z]+)?)")
_FAILED = re.compile(r"^(?P<kind>FAILED|ERROR|SUBFAILED(?:\[[^\]\n]*\])?(?: ?\([^)\n]*\))?) (?P<rest>\S[^\n]*)$", re.M)
_SECTION = re.compile(r"^_+ ERROR collecting (?P<file>[^\n]*?) _+\n(?P<said>(?:(?![_=]{5})[^\n]*\n){1,200})", re.M)
_USAGE = re.compile(r"^ERROR: (?P<said>[^\n]+)$", re.M)

_READ = 5000
"""FAILED lines looked at: far more than are kept, so that repeated ones do not hide others."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. The report wins: a test can print a line that looks like pytest's last one."""
    lines = text(output)
    reading = junit.read(b"", report) if report else ParsedOutput(understood=False)
    if reading.understood:
        return replace(reading, problems=_named(reading.problems, lines))
    return _from_text(lines)


def _from_text(lines: str) -> ParsedOutput:
    last = deque(_LAST.finditer(lines), maxlen=1)
    if not last:
        return replace(foreign(lines), problems=_stopped(lines))
    return tests(_counts(last[0]["numbers"]), (*_failed(lines), *_usage(lines)))


def _counts(numbers: str) -> TestCounts:
    said = {word.removesuffix("s"): number(digits) for digits, word in _NUMBER.findall(numbers)}
    get = said.get
    return TestCounts(
        passed=get("passed", 0) + get("xpassed", 0),
        failed=get("failed", 0),
        skipped=get("skipped", 0) + get("xfailed", 0),
        errors=get("error", 0),
    )


def _failed(lines: str) -> Iterator[Problem]:
    sections = {match["file"]: match["said"] for match in islice(_SECTION.finditer(lines), KEPT)}
    for match in islice(_FAILED.finditer(lines), _READ):
        test, said = _split(match["rest"])
        said = said or headline("", sections.get(test, "")) or "failed"
        yield problem(said, test.partition("::")[0], test=test)


def _usage(lines: str) -> Iterator[Problem]:
    return (problem(match["said"]) for match in islice(_USAGE.finditer(lines), KEPT))


def _stopped(lines: str) -> tuple[Problem, ...]:
    """pytest never got to its last line: a broken conftest.py, an internal error, a kill."""
    said = headline("", lines) if re.search(r"^E  ", lines, re.M) else ""
    return (problem(said),) if said else errorlike(lines, FEW)


def _split(rest: str) -> tuple[str, str]:
    """A node id and its message. A parameter in brackets can hold the separator itself."""
    test, separator, said = rest.partition(" - ")
    if separator and "[" in test and not test.endswith("]"):
        head, closed, tail = rest.partition("] - ")
        return (f"{head}]", tail) if closed else (rest, "")
    return test.strip(), said


def _named(problems: tuple[Problem, ...], lines: str) -> tuple[Problem, ...]:
    """`problems` with the node ids that `pytest` itself takes, where the output has them."""
    ids = {_as_junit(each.test): each for each in _failed(lines)}
    return tuple(_with_id(each, ids.get(each.test)) for each in problems)


def _with_id(found: Problem, named: Problem | None) -> Problem:
    return replace(found, test=named.test, file=found.file or named.file) if named else found


def _as_junit(test: str) -> str:
    """A node id in the form of the report: `tests/test_a.py::TestX::test_y` is `tests.test_a.TestX::test_y`."""
    path, _, inside = test.partition("::")
    module = path.removesuffix(".py").replace("/", ".")
    bare, bracket, parameter = inside.partition("[")
    owner, _, name = bare.rpartition("::")
    parts = ".".join(filter(None, (module, owner.replace("::", "."))))
    return f"{parts}::{name}{bracket}{parameter}" if inside else module
