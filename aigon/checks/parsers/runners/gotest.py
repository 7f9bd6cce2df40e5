"""`go test`: the events of its -json, or its text, which counts tests only with -v.

A test's id is its package and its name, `example.com/demo/sum::TestTable/small`; subtests are tests, as Go counts them.
Only lines that are events count: what a test prints is text inside of one.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from aigon.checks.parsers.documents import Row, as_string, load_row
from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import decode, has_gap, shorten_lines
from aigon.checks.parsers.readings import ResultTally, describe_unknown, keep_distinct, make_problem
from aigon.checks.parsers.runners.golang import describe_package, explain_go_failure, has_package_sums, read_go_text
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.fingerprints import strip_escapes

_RESULTS: dict[str, TestResult] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_ACTIONS = frozenset(
    (*_RESULTS, "start", "run", "pause", "cont", "output", "bench", "attr", "artifacts", "build-output", "build-fail")
)
_UNBUILT = re.compile(r"^FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]$", re.M)
_NOISE = re.compile(r"^(?:FAIL|PASS|ok|exit status|coverage:|testing: warning:)\b")
_LAST = re.compile(r"--- (?P<word>PASS|FAIL|SKIP): (?P<test>\S+) \(")
_LINES = 400
"""Lines kept of a test's output, and as many of its end."""
_MOST_EVENTS = 2_000_000
"""Events after which no new test is read."""
GoTest = tuple[str, str]
"""Package and test."""


@dataclass(slots=True)
class GoOutput:
    """Lines of output: the first and the last ones, and those that Go marks as errors."""

    head: list[str] = field(default_factory=list)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    errors: list[str] = field(default_factory=list)

    def add(self, text: str, kind: str) -> None:
        if kind == "frame":
            return
        (self.head if len(self.head) < _LINES else self.tail).append(text[:4000])
        if kind.startswith("error") and len(self.errors) < _LINES:
            self.errors.append(text[:4000])

    def __str__(self) -> str:
        return "".join((*self.head, *self.tail))


@dataclass(slots=True)
class GoEvents:
    """What a stream reports: results in their order (`ends`), what began and did not end (`running`, by package and
    test), tests that failed (`broken`), packages that failed, each with the build that failed for it or '' (`failed`),
    and the compiler's words by import path (`builds`).

    `marked`: from Go 1.20 on packages announce themselves, and what a test prints cannot hide the line on another one.
    """

    number: int = 0
    ends: list[tuple[GoTest, str]] = field(default_factory=list)
    running: dict[str, dict[str, GoOutput]] = field(default_factory=dict)
    broken: dict[GoTest, GoOutput] = field(default_factory=dict)
    packages: dict[str, GoOutput] = field(default_factory=dict)
    builds: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    marked: bool = False

    @property
    def unended(self) -> dict[GoTest, GoOutput]:
        """Tests that began and did not end."""
        return {(package, test): said for package, tests in self.running.items() for test, said in tests.items()}

    @property
    def red(self) -> dict[GoTest, GoOutput]:
        """Tests that failed or did not end."""
        return self.broken | self.unended

    @property
    def failed_alone(self) -> list[str]:
        """Packages that failed although none of their tests did."""
        guilty = {package for package, _ in self.red}
        return [package for package in self.failed if package not in guilty]

    def take(self, row: Row) -> None:
        """Take one event."""
        action, package, test, path, text = (
            as_string(row.get(key)) for key in ("Action", "Package", "Test", "ImportPath", "Output")
        )
        if action not in _ACTIONS or not (package or path):
            return
        self.number += 1
        if action == "build-output":
            lines = self.builds.setdefault(path, [])
            if len(lines) < 2 * _LINES:
                lines.append(text[:4000])
        elif action == "output":
            self._add_output((package, test), text, as_string(row.get("OutputType")))
        elif test:
            self._take_test((package, test), action)
        elif action == "start":
            self.marked = True
        elif action in _RESULTS:
            self._end_package(package, action, as_string(row.get("FailedBuild")))

    def add_unbuilt(self, package: str) -> None:
        """Take a package that a line between the events calls unbuilt: before Go 1.20 no event does."""
        self.failed[package] = self.failed.get(package) or package
        self.packages.setdefault(package, GoOutput())

    def is_unbuilt(self, package: str) -> bool:
        """Return whether a package failed to build: from Go 1.24 on an event says so; before it, a line."""
        return bool(self.failed[package] or _UNBUILT.search(str(self.packages[package])))

    def _add_output(self, key: GoTest, text: str, kind: str) -> None:
        """What is printed after a test's end (by a goroutine, or the values of an example) still belongs to it."""
        if not key[1]:
            self.packages.setdefault(key[0], GoOutput()).add(text, kind)
        elif output := self.running.get(key[0], {}).get(key[1]) or self.broken.get(key):
            output.add(text, kind)

    def _take_test(self, key: GoTest, action: str) -> None:
        package, test = key
        if action == "run" and self.number < _MOST_EVENTS:
            self.running.setdefault(package, {})[test] = GoOutput()
        # An end without a beginning is something that a test printed.
        elif action in _RESULTS and (output := self.running.get(package, {}).pop(test, None)):
            self.ends.append((key, action))
            if action == "fail":
                self.broken[key] = output

    def _end_package(self, package: str, action: str, build: str) -> None:
        if not self.marked:
            self._end_hidden_tests(package, action)
        output = self.packages.pop(package, GoOutput())
        if action == "fail":
            self.failed[package] = build
            self.packages[package] = output

    def _end_hidden_tests(self, package: str, action: str) -> None:
        """End tests whose last line was hidden behind what they printed, by that line, or as the package ended."""
        for test, output in list(self.running.get(package, {}).items()):
            last = _LAST.search(str(output))
            if last and last["test"] == test:
                self._take_test((package, test), last["word"].lower())
            elif action == "pass":
                self._take_test((package, test), action)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts, failures and results by id. A package that could not be built, or that ended without one of its
    tests failing, counts as an error; so does a test that never ended."""
    lines = strip_escapes(decode(report or output))
    return _read_events(lines) or read_go_text(shorten_lines(lines)) or describe_unknown(shorten_lines(lines))


def _read_events(lines: str) -> ParsedOutput | None:
    # In text a test may have printed what looks like an event.
    if '{"' not in lines or has_package_sums(lines):
        return None
    events = GoEvents()
    for line in lines.split("\n"):
        if line.startswith("{"):
            events.take(load_row(line))
    if not events.number:
        return None
    for match in _UNBUILT.finditer(lines):
        events.add_unbuilt(match["package"])
    problems = chain(_find_build_errors(events, lines), _find_failed_tests(events), _find_failed_packages(events))
    if has_gap(lines):
        # With a part of the events gone any number would be made up.
        return ParsedOutput(problems=keep_distinct(problems), understood=False)
    tally = ResultTally()
    for key, action in events.ends:
        tally.add("::".join(key), _RESULTS[action])
    for key in events.unended:
        tally.add("::".join(key), "error")
    return tally.read(problems, errors=len(events.failed_alone))


def _find_build_errors(events: GoEvents, lines: str) -> Iterator[Problem]:
    """Before Go 1.24 the compiler's words stand between the events."""
    broken = [package for package in events.failed if events.is_unbuilt(package)]
    if broken:
        found = [problem for output in events.builds.values() for problem in _read_build(output)]
        found = found or list(load_matcher("gobuild").find_problems(lines, fallback=False))
        yield from found or [make_problem("it could not be built", test=package) for package in broken]


def _read_build(output: list[str]) -> list[Problem]:
    words = [line.strip() for text in output for line in text.split("\n") if line.strip() and not line.startswith("#")]
    found = list(load_matcher("gobuild").find_problems("".join(output), fallback=False))
    return found or [make_problem(" ".join(words[:3]))] * bool(words)


def _find_failed_tests(events: GoEvents) -> Iterator[Problem]:
    parents = {(package, test.rpartition("/")[0]) for package, test in events.red}
    for key, output in events.red.items():
        message, file, line = explain_go_failure(str(output), output.errors)
        # A test fails because a subtest of it did, unless it says something itself.
        if message or key not in parents:
            message = message or ("failed" if key in events.broken else "it did not end")
            yield make_problem(message, file, line, test="::".join(key))


def _find_failed_packages(events: GoEvents) -> Iterator[Problem]:
    for package in events.failed_alone:
        if not events.is_unbuilt(package):
            yield describe_package(package, str(events.packages[package]), _NOISE)
