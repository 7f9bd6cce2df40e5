"""Runners of node: their reports, or their text.

node:test writes JUnit XML, TAP or the text of the `spec` reporter; mocha JSON or the text of its `spec` reporter with
`2 passing (3ms)` and `1 failing` at the end; bun JUnit XML or text that ends with `Ran 3 tests across 1 file`.
"""

import re
from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from aigon.checks.parsers.documents import Row, as_row, as_rows, as_string, read_documents
from aigon.checks.parsers.output import (
    READ_MATCHES,
    find_matches,
    find_sections,
    parse_number,
    read_text,
    sum_groups,
    sum_words,
)
from aigon.checks.parsers.readings import ResultTally, describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.runners import junit
from aigon.checks.parsers.stacks import (
    Place,
    describe_failure,
    explain_failures,
    explain_unloaded,
    find_crashes,
    find_frame,
    find_thresholds,
    read_crash,
)
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re

_SUMMARY = compile_re(
    r"^(?P<mark>[#ℹ]) tests \d{1,9}\n(?:(?P=mark) suites \d{1,9}\n)?"
    r"(?P<numbers>(?:(?P=mark) \w+ \d{1,9}(?:\n|$)){2,5})",
    re.M,
)
_NUMBER = compile_re(r"(?P<word>pass|fail|cancelled|skipped|todo) (?P<number>\d{1,9})")
_TAP = compile_re(r"^ *not ok \d+ - (?P<test>[^\n]*)\n *---\n(?P<body>(?:(?! *\.\.\.$)[^\n]*\n){0,300})", re.M)
_FIELD = compile_re(r"^ *(?P<name>location|failureType|error|type): (?P<value>[^\n]*)$", re.M)
_BLOCK = compile_re(r"^ *error: \|-\n(?P<value>[^\n]*(?:(?<=:)\n\s*[^\n]+)?)", re.M)
_SPEC = compile_re(
    r"^test at (?P<file>[^\n]+?):(?P<line>\d+):\d+\n✖ (?P<test>[^\n]*)\n(?P<body>(?:(?!test at )[^\n]*\n){0,300})", re.M
)
_ANNOUNCEMENT = compile_re(r":$|^failed running \w+ hook$")
_TIME = compile_re(r" \(\d+(?:\.\d+)?ms\)(?= # TODO|$)")


def read_nodetest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. A test that was cancelled counts as an error."""
    lines = read_text(output)
    reading = junit.read_report(report)
    if reading is None:
        return read_nodetest_text(lines) or read_crash(lines) or describe_unknown(lines)
    # What the output says of tests by their own name; None for a name that several have.
    printed: dict[str, Problem | None] = {}
    for problem in _find_failures(lines):
        name = problem.test.rpartition("::")[2]
        printed[name] = None if name in printed else problem
    completed = (_complete(each, printed.get(each.test.rpartition("::")[2])) for each in reading.problems)
    problems = (*explain_failures(completed, find_crashes(lines)), *find_thresholds(lines))
    return replace(reading, problems=problems)


def _complete(reported: Problem, printed: Problem | None) -> Problem:
    """Return the report's problem with the output's message if its own only announces one, and with a place."""
    if printed is None or (reported.file and printed.file and reported.file != printed.file):
        return reported
    message = printed.message if _ANNOUNCEMENT.search(reported.message) else reported.message
    placed = reported if reported.line else printed
    return replace(reported, message=message, file=placed.file or reported.file, line=placed.line)


def read_nodetest_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not node:test's."""
    summaries = _SUMMARY.finditer(lines)
    numbers = sum_words(match for summary in summaries for match in _NUMBER.finditer(summary["numbers"]))
    if not {"pass", "fail", "cancelled"} <= numbers.keys():
        return None
    problems = explain_failures(_find_failures(lines), find_crashes(lines))
    skipped = numbers["skipped"] + numbers["todo"]
    counts = TestCounts(0, numbers["pass"], numbers["fail"], skipped, numbers["cancelled"])
    return summarize_tests(counts, (*problems, *find_thresholds(lines)))


def _find_failures(lines: str) -> Iterator[Problem]:
    for match in _TAP.finditer(lines):
        fields = {field["name"]: field["value"].strip("'\"") for field in _FIELD.finditer(match["body"])}
        # A suite fails because a test in it did, and a test marked as to do may fail.
        if fields.get("failureType") != "subtestsFailed" and not match["test"].endswith("# TODO"):
            block = _BLOCK.search(match["body"])
            message = (block["value"] if block else fields.get("error", "")) or "failed"
            file, _, line = fields.get("location", "").rpartition(":")[0].rpartition(":")
            found, row = find_frame(re.sub(r"^ +(?=\S+ \()", "at ", match["body"], flags=re.M))
            test = _name_test(file, match["test"].replace("\\#", "#"))
            yield make_problem(message, found or file, row or line, test=test)
    for match in _SPEC.finditer(lines):
        test = _TIME.sub("", match["test"])
        if not test.endswith("# TODO"):
            file, row = find_frame(match["body"])
            said = [text.strip().strip("'") for text in match["body"].split("\n")[:10] if text.strip()]
            # The first line, with the next if it only announces that.
            message = " ".join(said[: 2 if said and said[0].endswith(":") else 1]) or "failed"
            place = (file or match["file"], row or parse_number(match["line"]))
            yield make_problem(message, *place, test=_name_test(match["file"], test))


def _name_test(file: str, test: str) -> str:
    """Return the id. A file that could not be loaded is a test with the file's own name."""
    return file or test if test.endswith(file) else f"{file}::{test}"


_MOCHA_SUMMARY = compile_re(
    r"^ +(?P<passing>\d{1,9}) passing \(\d[^\n()]{0,20}\)(?:\n +(?P<pending>\d{1,9}) pending)?"
    r"(?:\n +(?P<failing>\d{1,9}) failing)?$",
    re.M,
)
_FAILURE = compile_re(
    r"^  \d+\) (?P<title>[^\n]*\n(?:       +[^\n]*\n){0,20})(?P<body>(?:(?!  \d+\) )[^\n]*\n){0,300})", re.M
)
_UNLOADED = compile_re(r"^ *Exception during run: |^ *✖ ERROR: ", re.M)
_MOCHA_SPOT = compile_re(r"\S{1,500}:\d{1,9}")
"""Where a file could not be compiled stands before what was wrong with it."""
_LISTS: dict[str, TestResult] = {"passes": "passed", "pending": "skipped", "failures": "failed"}


def read_mocha(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; a report file is JSON, or JUnit XML from a reporter for that."""
    if reading := junit.read_report(report):
        return reading
    lines = read_text(output)
    if reading := read_documents(output, report, lambda document: _read_document(document, lines)):
        return reading
    return read_mocha_text(lines) or read_unloaded(lines) or read_crash(lines) or describe_unknown(lines)


def _read_document(document: Row, lines: str) -> ParsedOutput | None:
    if not isinstance(document.get("stats"), dict) or not isinstance(document.get("failures"), list):
        return None
    tally = ResultTally()
    for key, result in _LISTS.items():
        for row in as_rows(document.get(key)):
            tally.numbers[result] += 1
            if not junit.HOOK.search(as_string(row.get("title"))[:1000]):
                tally.record(_name_mocha_test(row), result)
    return tally.read((*map(_describe_row, as_rows(document["failures"])), *find_thresholds(lines)))


def _name_mocha_test(row: Row) -> str:
    file, title = as_string(row.get("file")), as_string(row.get("fullTitle"))
    return f"{file}::{title}" if file else title


def _describe_row(row: Row) -> Problem:
    error = as_row(row.get("err"))
    stack, message = as_string(error.get("stack")), as_string(error.get("message"))
    file, line = find_frame(stack[:100_000])
    message = _describe_mocha(stack if message[:50] in stack else message)
    return make_problem(message, file or as_string(row.get("file")), line, test=_name_mocha_test(row))


def _describe_mocha(text: str) -> str:
    """Return the first line, and what follows it if it only announces that."""
    first, _, rest = text.strip().partition("\n")
    if _MOCHA_SPOT.fullmatch(first):
        return explain_unloaded(text, "")[0] if "SyntaxError" in rest else describe_failure(rest)
    return describe_failure(f"{first} {rest.strip().partition(chr(10))[0]}" if first.endswith(":") else text)


def read_mocha_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it is not mocha's."""
    sections = list(find_sections(_MOCHA_SUMMARY, lines, most=1000))
    if not sections:
        return None
    numbers = sum_groups(match for match, _ in sections)
    failures = (problem for match, body in sections if match["failing"] for problem in _find_mocha_failures(body))
    counts = TestCounts(0, numbers["passing"], numbers["failing"], numbers["pending"])
    return summarize_tests(counts, (*failures, *find_thresholds(lines)))


def read_unloaded(lines: str) -> ParsedOutput | None:
    """Return why a file could not be loaded, which ends the run before it begins; None if it is not that."""
    match = _UNLOADED.search(lines)
    if match is None:
        return None
    return ParsedOutput(problems=(make_problem(*explain_unloaded(lines[match.end() :], "")),), understood=False)


def _find_mocha_failures(failures: str) -> Iterator[Problem]:
    for match in _FAILURE.finditer(failures):
        title = " > ".join(line.strip() for line in match["title"].strip().rstrip(":").split("\n"))
        yield make_problem(_describe_mocha(match["body"]), *find_frame(match["body"]), test=title)


_BUN_SUMMARY = compile_re(
    r"^(?P<numbers>(?: \d{1,9} (?:pass|fail|skip|todo|errors?|snapshots?|expect\(\) calls?|filtered out)[^\n]{0,80}\n)"
    r"{2,8})"
    r"Ran \d{1,9} tests? across \d{1,9} files?\.",
    re.M,
)
_BUN_NUMBER = compile_re(r"^ (?P<number>\d{1,9}) (?P<word>pass|fail|skip|todo|error)s?$", re.M)
_BUN_FILE = compile_re(r"^(?P<file>[^\s:()#|][^\n:]{0,300}\.[cm]?[jt]sx?):$", re.M)
_FAIL = compile_re(r"^(?:\(fail\)|✗) (?P<test>[^\n]*?)(?: \[[\d.]+\w+\])?$", re.M)
_PASS = compile_re(r"^(?:\((?:pass|skip|todo)\)|[✓»✎]) [^\n]*$", re.M)
_BETWEEN = compile_re(r"^# Unhandled error between tests\n-{3,}\n(?P<body>(?:(?!-{3,}$)[^\n]*\n){1,60})", re.M)
_BUN_SAID = compile_re(
    r"^ *error: (?P<said>[^\n]+(?:\n\n(?:Expected|Received)[^\n]*(?:\n(?:Expected|Received)[^\n]*)?)?)", re.M
)
_NONE = compile_re(r"^No tests found!$", re.M)
_BUN_SPAN = 20_000


def read_bun(output: bytes, report: bytes | None) -> ParsedOutput:
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
    summaries = list(find_matches(_BUN_SUMMARY, lines, 1000))
    if not summaries:
        return summarize_tests(TestCounts()) if _NONE.search(lines) and "bun test" in lines else None
    numbers = sum_words(match for summary in summaries for match in _BUN_NUMBER.finditer(summary["numbers"]))
    # A file that could not be loaded is among the failed ones and, once more, an error.
    failed = max(0, numbers["fail"] - numbers["error"])
    counts = TestCounts(0, numbers["pass"], failed, numbers["skip"] + numbers["todo"], numbers["error"])
    return summarize_tests(counts, (*_find_bun_failures(lines), *_find_unhandled(lines)))


def _find_bun_failures(lines: str) -> Iterator[Problem]:
    """Yield failures. What a test says stands above its line, below that of the one before."""
    found = (find_matches(pattern, lines, 25 * READ_MATCHES) for pattern in (_BUN_FILE, _FAIL, _PASS))
    file, after = "", 0
    for match in sorted(chain.from_iterable(found), key=lambda match: match.start()):
        said = match.groupdict()
        if "file" in said:
            file = said["file"]
        elif "test" in said:
            body, test = lines[max(after, match.start() - _BUN_SPAN) : match.start()], said["test"]
            yield _describe_body(body, "failed", (file, 0), f"{file}::{test}" if file else test)
        after = match.end()


def _find_unhandled(lines: str) -> Iterator[Problem]:
    for match in find_matches(_BETWEEN, lines, 200):
        yield _describe_body(match["body"], "unhandled error")


def _describe_body(body: str, otherwise: str, spot: Place = ("", 0), test: str = "") -> Problem:
    place, said = find_frame(body), _BUN_SAID.search(body)
    message = describe_failure(said["said"]) if said else otherwise
    return make_problem(message, *(place if place[0] else spot), test=test)
