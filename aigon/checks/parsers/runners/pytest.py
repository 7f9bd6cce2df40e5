"""pytest: its JUnit XML if there is one, else its last line; and the names on its FAILED lines."""

import re
from collections import deque
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.checks.parsers.output import find_matches, read_text, sum_words
from aigon.checks.parsers.readings import (
    KEPT_PROBLEMS,
    as_reported,
    describe_unknown,
    find_error_lines,
    find_problems,
    make_problem,
    summarize_tests,
)
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import find_headline
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_LAST = compile_re(
    r"^=*(?: )?(?P<numbers>no tests ran|\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?){0,12}) in \d[\d.]*s\b", re.M
)
_NUMBER = compile_re(r"(?P<number>\d+) (?P<word>error(?=s)|[a-z]+(?: [a-z]+)?)")
_FAILED = compile_re(r"^(?P<kind>FAILED|ERROR|SUBFAILED(?:\[[^\]\n]*\])?(?: ?\([^)\n]*\))?) (?P<rest>\S[^\n]*)$", re.M)
_SECTION = compile_re(r"^_+ ERROR collecting (?P<file>[^\n]*?) _+\n(?P<said>(?:(?![_=]{5})[^\n]*\n){1,200})", re.M)
_USAGE = compile_re(r"^ERROR: (?P<message>[^\n]+)$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. The report wins: a test can print a line that looks like pytest's last one."""
    lines = read_text(output)
    reading = junit.read_report(report)
    if reading is None:
        return _read_lines(lines)
    # The node ids that `pytest` itself takes are in the output.
    printed = {as_reported(each.test): each for each in _find_failed(lines)}
    pairs = ((each, printed.get(each.test)) for each in reading.problems)
    problems = (replace(each, test=on.test, file=each.file or on.file) if on else each for each, on in pairs)
    return replace(reading, problems=tuple(problems))


def _read_lines(lines: str) -> ParsedOutput:
    if last := deque(_LAST.finditer(lines), maxlen=1):
        numbers = sum_words(_NUMBER.finditer(last[0]["numbers"]))
        passed, skipped = numbers["passed"] + numbers["xpassed"], numbers["skipped"] + numbers["xfailed"]
        counts = TestCounts(0, passed, numbers["failed"], skipped, numbers["error"])
        return summarize_tests(counts, (*_find_failed(lines), *find_problems(_USAGE, lines, most=KEPT_PROBLEMS)))
    # pytest never got to its last line: a broken conftest.py, an internal error, a kill.
    headline = find_headline("", lines) if re.search(r"^E  ", lines, re.M) else ""
    problems = (make_problem(headline),) if headline else find_error_lines(lines)
    return replace(describe_unknown(lines), problems=problems)


def _find_failed(lines: str) -> Iterator[Problem]:
    sections = {match["file"]: match["said"] for match in find_matches(_SECTION, lines, KEPT_PROBLEMS)}
    for match in find_matches(_FAILED, lines):
        test, message = _split_message(match["rest"])
        message = message or find_headline("", sections.get(test, "")) or "failed"
        yield make_problem(message, test.partition("::")[0], test=test)


def _split_message(rest: str) -> tuple[str, str]:
    """Return a node id and its message. A parameter in brackets can hold the separator itself."""
    test, separator, message = rest.partition(" - ")
    if separator and "[" in test and not test.endswith("]"):
        head, closed, tail = rest.partition("] - ")
        return (f"{head}]", tail) if closed else (rest, "")
    return test.strip(), message
