"""`bun test`: its JUnit report, or its text, with ` 2 pass`, ` 1 fail` and `Ran 3 tests across 1 file` at the end."""

import re
from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from aigon.checks.parsers.output import READ_MATCHES, find_matches, read_text, sum_words
from aigon.checks.parsers.readings import describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import Place, describe_failure, find_frame
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_SUMMARY = compile_re(
    r"^(?P<numbers>(?: \d{1,9} (?:pass|fail|skip|todo|errors?|snapshots?|expect\(\) calls?|filtered out)[^\n]{0,80}\n)"
    r"{2,8})"
    r"Ran \d{1,9} tests? across \d{1,9} files?\.",
    re.M,
)
_NUMBER = compile_re(r"^ (?P<number>\d{1,9}) (?P<word>pass|fail|skip|todo|error)s?$", re.M)
_FILE = compile_re(r"^(?P<file>[^\s:()#|][^\n:]{0,300}\.[cm]?[jt]sx?):$", re.M)
_FAIL = compile_re(r"^(?:\(fail\)|✗) (?P<test>[^\n]*?)(?: \[[\d.]+\w+\])?$", re.M)
_PASS = compile_re(r"^(?:\((?:pass|skip|todo)\)|[✓»✎]) [^\n]*$", re.M)
_BETWEEN = compile_re(r"^# Unhandled error between tests\n-{3,}\n(?P<body>(?:(?!-{3,}$)[^\n]*\n){1,60})", re.M)
_SAID = compile_re(
    r"^ *error: (?P<said>[^\n]+(?:\n\n(?:Expected|Received)[^\n]*(?:\n(?:Expected|Received)[^\n]*)?)?)", re.M
)
_NONE = compile_re(r"^No tests found!$", re.M)
_SPAN = 20_000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Only the output names files that could not be loaded."""
    lines = read_text(output)
    if reading := junit.read_report(report, _describe_case):
        return replace(reading, problems=(*reading.problems, *_find_unhandled(lines)))
    return read_bun_text(lines) or describe_unknown(lines)


def _describe_case(case: junit.JunitCase) -> Problem:
    place = find_frame(case.detail)
    message = describe_failure(case.message or case.detail)
    return make_problem(message, *(place if place[0] else case.place), test=case.test)


def read_bun_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not bun's."""
    summaries = list(find_matches(_SUMMARY, lines, 1000))
    if not summaries:
        return summarize_tests(TestCounts()) if _NONE.search(lines) and "bun test" in lines else None
    numbers = sum_words(match for summary in summaries for match in _NUMBER.finditer(summary["numbers"]))
    # A file that could not be loaded is among the failed ones and, once more, an error.
    failed = max(0, numbers["fail"] - numbers["error"])
    counts = TestCounts(0, numbers["pass"], failed, numbers["skip"] + numbers["todo"], numbers["error"])
    return summarize_tests(counts, (*_find_failures(lines), *_find_unhandled(lines)))


def _find_failures(lines: str) -> Iterator[Problem]:
    """Yield failures. What a test says stands above its line, below that of the one before."""
    found = (find_matches(pattern, lines, 25 * READ_MATCHES) for pattern in (_FILE, _FAIL, _PASS))
    file, after = "", 0
    for match in sorted(chain.from_iterable(found), key=lambda match: match.start()):
        said = match.groupdict()
        if "file" in said:
            file = said["file"]
        elif "test" in said:
            body, test = lines[max(after, match.start() - _SPAN) : match.start()], said["test"]
            yield _describe_body(body, "failed", (file, 0), f"{file}::{test}" if file else test)
        after = match.end()


def _find_unhandled(lines: str) -> Iterator[Problem]:
    for match in find_matches(_BETWEEN, lines, 200):
        yield _describe_body(match["body"], "unhandled error")


def _describe_body(body: str, otherwise: str, spot: Place = ("", 0), test: str = "") -> Problem:
    place, said = find_frame(body), _SAID.search(body)
    message = describe_failure(said["said"]) if said else otherwise
    return make_problem(message, *(place if place[0] else spot), test=test)
