"""`go test`: the events of its -json, or its text, which is translated to these events.

A test's id is its package and its name, `example.com/demo/sum::TestTable/small`; subtests are tests, as Go counts them.
In a stream only lines that are events count: what a test prints is text inside of one. The text counts tests only with
-v; without, it tells only of those that failed.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, field

from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import Row, decode, has_gap, load_row, shorten_lines
from aigon.checks.parsers.readings import ResultTally, describe_unknown, keep_distinct, make_problem, summarize_tests
from aigon.checks.parsers.stacks import describe_package, explain_go_failure
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.amounts import format_count
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import text_at

_RESULTS: dict[str, TestResult] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_ACTIONS = frozenset(
    (*_RESULTS, "start", "run", "pause", "cont", "output", "bench", "attr", "artifacts", "build-output", "build-fail")
)
_UNBUILT = compile_re(r"^FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]$", re.M)
_HIDDEN_END = compile_re(r"--- (?P<word>PASS|FAIL|SKIP): (?P<test>\S+) \(")
_LINES = 400
"""Lines kept of a test's output, and as many of its end."""
_MOST_EVENTS = 2_000_000
"""Events after which no new test is read."""
GoTest = tuple[str, str]
"""Package and test."""

_PACKAGE = compile_re(
    r"^(?:(?P<ok>ok  )|(?P<fail>FAIL)|(?P<none>\?   ))\t(?P<package>\S+)(?:\t| )"
    r"(?P<rest>(?:\[[^\]\n]+\]|\(cached\)|[\d.]+s)[^\n]*)$",
    re.M,
)
_RUN = compile_re(r"^=== (?P<word>RUN|NAME|CONT|PAUSE) +(?P<test>\S+)$")
_END = compile_re(r"^.*?--- (?P<word>PASS|FAIL|SKIP): (?P<test>\S+) \([\d.]+s\)$")
"""Behind what a test printed without ending its line."""
_LAST = compile_re(r"^(?:FAIL|PASS|exit status \d+|coverage: .*|testing: warning: .*)$")
_UNBUILT_REST = ("[build failed]", "[setup failed]")


class GoOutput(Struct):
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


class GoEvents(Struct):
    """The report of a stream: results in their order (`ends`), what began and did not end (`running`, by package and
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
        """Return the tests that began and did not end."""
        return {(package, test): said for package, tests in self.running.items() for test, said in tests.items()}

    @property
    def failed_alone(self) -> list[str]:
        """Return the packages that failed although none of their tests did."""
        guilty = {package for package, _ in self.broken | self.unended}
        return [package for package in self.failed if package not in guilty]

    def take(self, row: Row) -> None:
        """Take one event."""
        action, package, test, path, text = (
            text_at(row, key) for key in ("Action", "Package", "Test", "ImportPath", "Output")
        )
        if action not in _ACTIONS or not (package or path):
            return
        self.number += 1
        if action == "build-output":
            lines = self.builds.setdefault(path, [])
            if len(lines) < 2 * _LINES:
                lines.append(text[:4000])
        elif action == "output":
            # What is printed after a test's end, by a goroutine or as an example's values, still belongs to it.
            output = self.running.get(package, {}).get(test) or self.broken.get((package, test))
            if output := output if test else self.packages.setdefault(package, GoOutput()):
                output.add(text, text_at(row, "OutputType"))
        elif test:
            self._take_test((package, test), action)
        elif action == "start":
            self.marked = True
        elif action in _RESULTS:
            self._end_package(package, action, text_at(row, "FailedBuild"))

    def is_unbuilt(self, package: str) -> bool:
        """Return whether a package failed to build: from Go 1.24 on an event says so; before it, a line."""
        return bool(self.failed[package] or _UNBUILT.search(str(self.packages[package])))

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
        # Tests whose last line was hidden behind what they printed end by that line, or as the package did.
        for test, output in () if self.marked else list(self.running.get(package, {}).items()):
            last = _HIDDEN_END.search(str(output))
            if last and last["test"] == test:
                self._take_test((package, test), last["word"].lower())
            elif action == "pass":
                self._take_test((package, test), action)
        output = self.packages.pop(package, GoOutput())
        if action == "fail":
            self.failed[package], self.packages[package] = build, output

    def find_problems(self) -> Iterator[Problem]:
        """Yield why tests failed, then why packages did that failed by themselves."""
        red = self.broken | self.unended
        parents = {(package, test.rpartition("/")[0]) for package, test in red}
        for key, output in red.items():
            printed = str(output)
            if "race detected during execution of test" in printed:  # the text has the detector's words before
                printed = f"{self.packages.get(key[0], '')}{printed}"
            message, file, line = explain_go_failure(printed, output.errors)
            # A test fails because a subtest of it did, unless it says something itself.
            if message or key not in parents:
                message = message or ("failed" if key in self.broken else "it did not end")
                yield make_problem(message, file, line, test="::".join(key))
        for package in self.failed_alone:
            if not self.is_unbuilt(package):
                yield describe_package(package, str(self.packages[package]))

    def tally(self) -> ResultTally:
        """Return the results by test id; a test that never ended is an error."""
        results = ((key, _RESULTS[action]) for key, action in self.ends)
        unended: Iterator[tuple[GoTest, TestResult]] = ((key, "error") for key in self.unended)
        return ResultTally(("::".join(key), result) for key, result in chain(results, unended))


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts, failures and results by id. A package that could not be built, or that ended without one of its
    tests failing, counts as an error; so does a test that never ended."""
    lines = strip_escapes(decode(report or output))
    return _read_events(lines) or read_go_text(shorten_lines(lines)) or describe_unknown(shorten_lines(lines))


def _read_events(lines: str) -> ParsedOutput | None:
    # In text, where a line of its own sums up a package that was run, a test may have printed what looks like an event.
    if '{"' not in lines or any(not m["rest"].startswith(_UNBUILT_REST) for m in _PACKAGE.finditer(lines)):
        return None
    events = GoEvents()
    for line in lines.split("\n"):
        if line.startswith("{"):
            events.take(load_row(line))
    if not events.number:
        return None
    for match in _UNBUILT.finditer(lines):  # before Go 1.20 no event says so
        package = match["package"]
        events.failed[package] = events.failed.get(package) or package
        events.packages.setdefault(package, GoOutput())
    problems = chain(_find_build_errors(events, lines), events.find_problems())
    if has_gap(lines):
        # With a part of the events gone any number would be made up.
        return ParsedOutput(problems=keep_distinct(problems), understood=False)
    return events.tally().read(problems, errors=len(events.failed_alone))


def _find_build_errors(events: GoEvents, lines: str) -> list[Problem]:
    broken = [package for package in events.failed if events.is_unbuilt(package)]
    if not broken:
        return []
    matcher, found = load_matcher("gobuild"), list[Problem]()
    for output in events.builds.values():
        words = [line.strip() for text in output for line in text.split("\n") if line.strip() and line[0] != "#"]
        own = list(matcher.find_problems("".join(output), fallback=False))
        found += own or [make_problem(" ".join(words[:3]))] * bool(words)
    # Before Go 1.24 the compiler's words stand between the events.
    found = found or list(matcher.find_problems(lines, fallback=False))
    return found or [make_problem("it could not be built", test=package) for package in broken]


def read_go_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it has no line on any package."""
    events = GoEvents(marked=True)
    packages = list(_convert_text(lines, events))
    if not packages:
        return None
    unbuilt = load_matcher("gobuild").find_problems(lines, fallback=False)
    problems = keep_distinct(chain(unbuilt, events.find_problems()))
    ran = [(result, is_announced) for result, is_announced, is_empty in packages if not is_empty]
    if not ran:
        return summarize_tests(TestCounts())
    # If every test was announced, and only then, they can be counted.
    is_counted = all(is_announced or result == "FAIL" for result, is_announced in ran)
    if is_counted and any(is_announced for _, is_announced in ran) and not has_gap(lines):
        counts = events.tally().read((), errors=len(events.failed_alone)).counts or TestCounts()
        return summarize_tests(counts, problems)
    failed = sum(result == "FAIL" for result, _ in ran)
    summary = f"{format_count(failed, 'package')} failed" if failed else f"{format_count(len(ran), 'package')} passed"
    return ParsedOutput(summary, None, problems)


def _convert_text(lines: str, events: GoEvents) -> Iterator[tuple[str, bool, bool]]:
    """Give `events` what each package printed; yield its result, whether it announced tests, whether it has none."""
    rows, test, runs, ends = list[Row](), "", set[str](), dict[str, str]()
    for line in lines.split("\n"):
        package, run, end = _PACKAGE.match(line), _RUN.match(line), _END.match(line)
        # A package of which a test failed or still runs is not `ok`: then a test printed this line.
        if package and not (package["ok"] and ("FAIL" in ends.values() or runs - ends.keys())):
            name, rest = package["package"], package["rest"]
            build = name if rest.startswith(_UNBUILT_REST) else ""
            action, result = ("pass", "ok") if package["ok"] else ("fail", "FAIL") if package["fail"] else ("skip", "?")
            for row in (*rows, {"Action": action, "FailedBuild": build}):
                events.take({**row, "Package": name})
            yield result, bool(runs), result == "?" or "[no tests to run]" in rest or "[no test files]" in rest
            rows, test, runs, ends = [], "", set(), {}
        elif run:
            test = run["test"]
            if run["word"] == "RUN" and test not in runs:
                runs.add(test)
                rows.append({"Action": "run", "Test": test})
        # With -v only what was announced is a result.
        elif end and (not runs or end["test"] in runs):
            test = end["test"]
            if test not in ends:
                ends[test] = end["word"]
                rows += [{"Action": "run", "Test": test}] * (test not in runs)
                rows.append({"Action": end["word"].lower(), "Test": test})
        elif _LAST.match(line):
            test = ""
        else:
            rows.append({"Action": "output", "Test": test, "Output": f"{line}\n"})
