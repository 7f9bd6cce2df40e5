"""Readings: problems, counts, and results by test id."""

import hashlib
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from msgspec.structs import replace

from aigon.checks.parsers.output import READ_MATCHES, clean, find_matches, name_groups, parse_number
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.amounts import format_count
from aigon.text.patterns import compile_re

KEPT_PROBLEMS = 200
"""More than any feedback shows, few enough for every journal record."""
KEPT_TESTS = 200_000
"""More than any suite known has, few enough for memory."""
LONGEST_ID = 500
FEW_LINES = 5
"""Lines shown of an output in no known format."""

_ERROR_LINE = compile_re(
    r"^(?=[^\n]*?(?:\b(?:error|ERROR|fatal|FATAL|panic|Error)\b(?:\(\w+\))?[:!\])]"
    r"|\w(?:Error|Exception)\b(?: \[\w+\])?(?::|$)|\berror [A-Z]{1,6}\d{1,6}:"
    r"|command not found|No such file or directory))"
    r"(?P<line>[^\n]*)$|^(?P<head>(?:npm )?(?:error|ERROR|ERR!|Error|FAILED|fatal)\b[^\n]*)$",
    re.M,
)
_CHATTER = compile_re(
    r"npm (?:error|ERR!)(?: (?:code|path|command|errno|syscall|workspace|location|lifecycle|A complete log|To see)\b"
    r"| {2,}|\s*$)|.*\b0 errors?\b",
    re.I,
)
_PLACE = compile_re(r"(?P<file>[^\s:(][^:(\n]*\.\w+)(?::(?P<line>\d+)(?::\d+)?|\((?P<row>\d+),\d+\)): ")
_ADDRESS = compile_re(r"\b0x[0-9a-fA-F]{6,16}\b")
_JAVA_OBJECT = compile_re(r"(?<=[\w\];])@[0-9a-f]{5,8}\b(?![.\w-])")
_MILD = ("warning", "warn", "info", "w")
_SEVERITY: tuple[TestResult, ...] = ("passed", "skipped", "failed", "error")
_WEIGHT: tuple[TestResult, ...] = ("skipped", "passed", "failed", "error")
"""Over several runs of a test: a failure outweighs a pass, and a pass outweighs a skip."""


def make_problem(
    message: str, file: str = "", line: int | str | None = 0, rule: str = "", severity: str = "error", test: str = ""
) -> Problem:
    """Return a problem with every text cleaned. The line may be digits of a match; an unknown severity is an error."""
    kind: Literal["error", "warning"] = "warning" if severity.lower() in _MILD else "error"
    number = line if isinstance(line, int) else parse_number(line)
    return Problem(clean(message), clean(file), number, clean(rule, 100), kind, clean(test))


def find_problems(
    pattern: re.Pattern[str], lines: str, message: str = "failed", most: int = READ_MATCHES
) -> Iterator[Problem]:
    """Yield a problem for each match, by its groups `message`, `file`, `line`, `rule`, `severity` and `test`."""
    for match in find_matches(pattern, lines, most):
        yield make_problem(**{"message": message, **name_groups(match)})


def find_error_lines(lines: str, limit: int = FEW_LINES) -> tuple[Problem, ...]:
    """Return the last `limit` distinct lines that look like errors: the cause is near the end."""
    errors = ((match["line"] or match["head"]).strip() for match in _ERROR_LINE.finditer(lines))
    last = deque(dict.fromkeys(line for line in errors if not _CHATTER.match(line)), maxlen=limit)
    return tuple(map(_place_error, last))


def _place_error(line: str) -> Problem:
    if match := _PLACE.match(line):
        return make_problem(line[match.end() :], match["file"], match["line"] or match["row"])
    return make_problem(line)


def keep_distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the first distinct problems: some tools print theirs twice."""
    kept: dict[Problem, None] = {}
    for problem in islice(problems, READ_MATCHES):
        kept[problem] = None
        if len(kept) == KEPT_PROBLEMS:
            break
    return tuple(kept)


def identify_test(test: str) -> str:
    """Return an id that is the same in every run: a clean line of bounded length without addresses in memory."""
    line = clean(_JAVA_OBJECT.sub("@", _ADDRESS.sub("0x", test)), 10 * LONGEST_ID)
    if len(line) <= LONGEST_ID:
        return line
    digest = hashlib.sha256(test.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{line[: LONGEST_ID - 13]}~{digest}"


class ResultTally:
    """Counts results of tests and collects them by test id, bounded.

    The worst result of several tests with one name goes by the name. The unbroken ones are counted (`name (2)`), so
    that a missing one is noticed. Broken ones are not, because one broken test may be reported for itself and for its
    teardown.
    """

    def __init__(self, results: Iterable[tuple[str, TestResult]] = ()) -> None:
        self.numbers = Counter[TestResult]()
        self._worst: dict[str, TestResult] = {}
        self._unbroken = Counter[str]()
        for test, result in results:
            self.add(test, result)

    def add(self, test: str, result: TestResult) -> None:
        """Count one test and record its result."""
        self.numbers[result] += 1
        self.record(test, result)

    def record(self, test: str, result: TestResult) -> None:
        """Record a result without counting it."""
        if not (test := identify_test(test)) or (len(self._worst) >= KEPT_TESTS and test not in self._worst):
            return
        self._worst[test] = max(self._worst.get(test, "passed"), result, key=_SEVERITY.index)
        if result in ("passed", "skipped"):
            self._unbroken[test] += 1

    def results(self) -> dict[str, TestResult]:
        """Return everything recorded, by id."""
        found = dict(self._worst)
        for test, unbroken in self._unbroken.items():
            number = unbroken + (self._worst[test] in ("failed", "error"))
            for each in range(2, min(number, KEPT_TESTS - len(found) + 1) + 1):
                found.setdefault(f"{test} ({each})", "passed")
        return found

    def read(self, problems: Iterable[Problem] = (), errors: int = 0) -> ParsedOutput:
        """Return the reading; `errors` are failures outside of tests."""
        numbers = self.numbers
        counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], numbers["error"] + errors)
        return replace(summarize_tests(counts, problems), tests=self.results())


def summarize_tests(counts: TestCounts, problems: Iterable[Problem] = ()) -> ParsedOutput:
    """Return the reading of a test report: `14/15 passed, 1 error`. The total is derived, the skipped included."""
    ran = counts.passed + counts.failed + counts.errors
    counts = replace(counts, total=ran + counts.skipped)
    summary = f"{counts.passed}/{ran} passed"
    summary += f", {format_count(counts.errors, 'error')}" if counts.errors else ""
    summary += f", {counts.skipped} skipped" if counts.skipped else ""
    return ParsedOutput(summary if counts.total else "no tests collected", counts, keep_distinct(problems))


def summarize_lint(problems: Iterable[Problem], stated: int = 0) -> ParsedOutput:
    """Return a linter's reading: `3 problems`. `stated` is the tool's own number, right also if output is missing."""
    kept, numbers = _tally_problems(problems)
    total = max(stated, numbers.total())
    return ParsedOutput(format_count(total, "problem") if total else "clean", None, kept)


def summarize_types(problems: Iterable[Problem], stated: int = 0) -> ParsedOutput:
    """Return a type checker's reading: `2 errors, 1 warning`. `stated` is the tool's own number of errors."""
    kept, numbers = _tally_problems(problems)
    parts = ((max(stated, numbers["error"]), "error"), (numbers["warning"], "warning"))
    return ParsedOutput(", ".join(format_count(n, noun) for n, noun in parts if n) or "clean", None, kept)


def _tally_problems(problems: Iterable[Problem]) -> tuple[tuple[Problem, ...], Counter[str]]:
    kept, numbers = list[Problem](), Counter[str]()
    for problem in problems:
        numbers[problem.severity] += 1
        if len(kept) < KEPT_PROBLEMS:
            kept.append(problem)
    return tuple(kept), numbers


def describe_unknown(lines: str) -> ParsedOutput:
    """Return a reading that is not understood, with a few lines that look like errors."""
    return ParsedOutput(problems=find_error_lines(lines), understood=False)


def merge_readings(readings: Sequence[ParsedOutput]) -> ParsedOutput:
    """Return the test reports among `readings` as one, or the linters' reports if none is of tests.

    A test that ran in one of them was not skipped.
    """
    if len(readings) == 1:
        return readings[0]
    problems = (problem for reading in readings for problem in reading.problems)
    counts = [reading.counts for reading in readings if reading.counts]
    if not counts:
        return summarize_lint(problems)
    tests: dict[str, TestResult] = {}
    for reading in readings:
        for test, result in reading.tests.items():
            tests[test] = max(tests.get(test, "skipped"), result, key=_WEIGHT.index)
    return replace(summarize_tests(add_counts(counts), problems), tests=tests)


def add_counts(counts: Sequence[TestCounts]) -> TestCounts:
    """Return the sum of `counts`, without its total."""
    fields = ("passed", "failed", "skipped", "errors")
    return TestCounts(0, *(sum(getattr(each, field) for each in counts) for field in fields))


def list_prefixes(path: str) -> Iterator[str]:
    """Yield how ids of this file can begin: with its path, or what Python makes of it, from any folder above it."""
    parts = path.split("/")
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        yield below
        if below.endswith(".py"):
            yield below.removesuffix(".py").replace("/", ".")


def list_beginnings(files: Iterable[str]) -> tuple[str, ...]:
    """Return how ids of tests in these files begin, as `str.startswith` takes them.

    A file is a path relative to the project; if tests run in a folder of it, ids begin below that folder.
    """
    return tuple(f"{name}{end}" for path in files for name in list_prefixes(path) for end in ("::", "."))


def name_in_report(test: str) -> str:
    """Return a node id of pytest, `tests/a.py::TestX::test_y`, as its report has it: `tests.a.TestX::test_y`."""
    path, _, inside = test.partition("::")
    if not path.endswith(".py"):
        return test
    bare, bracket, parameter = inside.partition("[")
    owner, _, name = bare.rpartition("::")
    module = path.removesuffix(".py").replace("/", ".")
    within = ".".join(filter(None, (module, owner.replace("::", "."))))
    return f"{within}::{name}{bracket}{parameter}" if inside else module
