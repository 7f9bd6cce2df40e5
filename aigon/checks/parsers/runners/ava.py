"""AVA: its own text, with `2 tests passed` and `1 test failed` at the end, or TAP (`--tap`)."""

import re
from collections import Counter
from collections.abc import Iterator

from aigon.checks.parsers.output import find_matches, parse_number, read_text
from aigon.checks.parsers.readings import describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.runners import tap
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_SUMMARY = compile_re(r"^  ─\n\n(?P<numbers>(?:  \d{1,9} [a-z ]{4,60}\n?){1,10})", re.M)
_NUMBER = compile_re(
    r"  (?P<number>\d{1,9}) (?:tests? (?P<word>passed|failed|skipped|todo)|(?P<known>known failures?)"
    r"|hooks? (?P<hook>failed)|(?P<error>uncaught exceptions?|unhandled rejections?))\n?"
)
_FAILED = compile_re(r"^  ✘ (?:\[fail\]: (?P<test>[^\n]+)|(?P<said>[^\n]+))$", re.M)
_DETAIL = compile_re(r"^  (?P<test>[^\s][^\n]*)\n\n  (?P<file>[^\s:][^\n:]{0,300}):(?P<line>\d{1,9})\n", re.M)
_UNCAUGHT = compile_re(
    r"^  (?P<kind>Uncaught exception|Unhandled rejection) in (?P<file>[^\n]+)\n(?P<body>(?:(?!  ✘)[^\n]*\n){1,40})",
    re.M,
)
_SAID = compile_re(r"^  (?P<said>(?:\w*Error|Error)\b[^\n]*)$", re.M)
_MOST = 2000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; a report file holds TAP."""
    if report and (reading := tap.read(b"", report)).understood:
        return reading
    lines = read_text(output)
    return read_ava_text(lines) or tap.read_tap_text(lines) or describe_unknown(lines)


def read_ava_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not AVA's."""
    numbers = Counter[str]()
    for summary in _SUMMARY.finditer(lines):
        for match in _NUMBER.finditer(summary["numbers"]):
            word = match["word"] or ("passed" if match["known"] else "failed" if match["hook"] else "error")
            numbers[word] += parse_number(match["number"])
    if not numbers:
        return None
    skipped = numbers["skipped"] + numbers["todo"]
    counts = TestCounts(0, numbers["passed"], numbers["failed"], skipped, numbers["error"])
    return summarize_tests(counts, _find_failures(lines))


def _find_failures(lines: str) -> Iterator[Problem]:
    places = {match["test"].strip(): match for match in find_matches(_DETAIL, lines, _MOST)}
    uncaught = {match["file"]: match["body"] for match in find_matches(_UNCAUGHT, lines, _MOST)}
    for file, body in uncaught.items():
        said = _SAID.search(body)
        yield make_problem(said["said"] if said else "uncaught exception", file, test=file)
    for match in find_matches(_FAILED, lines, _MOST):
        if match["test"]:
            # The name stands before the message; where it ends, only the details below say.
            words = match["test"].split(" ")
            names = (" ".join(words[:n]) for n in range(min(len(words), 60), 0, -1))
            if name := next((each for each in names if each in places), ""):
                message = match["test"].removeprefix(name).strip() or "failed"
                yield make_problem(message, places[name]["file"], places[name]["line"], test=name)
            else:
                yield make_problem(match["test"], test=match["test"])
        elif not any(match["said"].startswith(file) for file in uncaught):
            yield make_problem(match["said"])
