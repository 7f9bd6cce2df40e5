"""`go test`: the events of its -json, or its text, which counts tests only with -v.

A test's id is its package and its name, `example.com/demo/sum::TestTable/small`; subtests are tests, as Go counts them.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from aigon.checks.parsers import _gocompile, _goevents, _gotext
from aigon.checks.parsers._goevents import Events, Key, Said
from aigon.checks.parsers._gofailure import told
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._libtest import gaps
from aigon.checks.parsers._problems import capped, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import shortened, whole
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.fingerprints import strip_escapes

_RESULTS: dict[str, TestResult] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_UNBUILT = re.compile(r"^FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]$", re.M)
_UNSAYING = re.compile(r"^(?:FAIL|PASS|ok|exit status|coverage:|testing: warning:)\b")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts, failures and results by id. A package that could not be built, or that ended without one of its tests
    failing, counts as an error; so does a test that never ended."""
    lines = strip_escapes(whole(report or output))
    return _of_stream(lines) or _gotext.printed(shortened(lines)) or foreign(shortened(lines))


def printed(lines: str) -> ParsedOutput | None:
    """What the text says, events or not; None when it is not of `go test`."""
    return _of_stream(lines) or _gotext.printed(lines)


def _of_stream(lines: str) -> ParsedOutput | None:
    # In text a test may have printed what looks like an event.
    if '{"' not in lines or _gotext.tells(lines) or not (events := _goevents.read(lines.split("\n"))).number:
        return None
    for match in _UNBUILT.finditer(lines):
        events.unbuilt(match["package"])
    problems = chain(_of_builds(events, lines), _of_tests(events), _of_packages(events))
    if gaps(lines):
        # With a part of the events gone any number would be made up.
        return ParsedOutput(problems=capped(problems), understood=False)
    return replace(tests(_counts(events), problems), tests=_results(events))


def _counts(events: Events) -> TestCounts:
    said = [action for _, action in events.ends]
    errors = len(events.unended()) + len(_alone(events))
    return TestCounts(0, said.count("pass"), said.count("fail"), said.count("skip"), errors)


def _results(events: Events) -> dict[str, TestResult]:
    seen = Seen()
    for key, action in events.ends:
        seen.add("::".join(key), _RESULTS[action])
    for key, _ in events.unended():
        seen.add("::".join(key), "error")
    return dict(seen.results())


def _alone(events: Events) -> list[str]:
    """Packages that failed although none of their tests did."""
    guilty = {package for package, _ in _red(events)}
    return [package for package in events.failed if package not in guilty]


def _of_builds(events: Events, lines: str) -> Iterator[Problem]:
    """Before Go 1.24 the compiler's words stand between the events."""
    broken = [package for package in events.failed if _unbuilt(events, package)]
    if broken:
        found = [each for said in events.builds.values() for each in _build(said)] or list(_gocompile.problems(lines))
        yield from found or [problem("it could not be built", test=package) for package in broken]


def _build(said: list[str]) -> Iterator[Problem]:
    found = list(_gocompile.problems("".join(said)))
    words = [line.strip() for text in said for line in text.split("\n") if line.strip() and not line.startswith("#")]
    yield from found or [problem(" ".join(words[:3]))] * bool(words)


def _unbuilt(events: Events, package: str) -> bool:
    """From Go 1.24 on an event names the build; before it, a line says so."""
    return bool(events.failed[package] or _UNBUILT.search(events.packages[package].text()))


def _of_tests(events: Events) -> Iterator[Problem]:
    parents = {(package, test.rpartition("/")[0]) for package, test in _red(events)}
    for key, said in _red(events).items():
        message, file, line = told(said.text(), said.errors)
        # A test fails because a subtest of it did, unless it says something itself.
        if message or key not in parents:
            unsaid = "failed" if key in events.broken else "it did not end"
            yield problem(message or unsaid, file, line, test="::".join(key))


def _red(events: Events) -> dict[Key, Said]:
    return events.broken | dict(events.unended())


def _of_packages(events: Events) -> Iterator[Problem]:
    for package in _alone(events):
        if not _unbuilt(events, package):
            yield _package(package, events.packages[package].text())


def _package(package: str, text: str) -> Problem:
    """It ended by itself: in TestMain, in an init, by os.Exit."""
    message, file, line = told(text)
    words = [line.strip() for line in text.split("\n") if line.strip() and not _UNSAYING.match(line)]
    return problem(
        message or (words[-1] if words else "it failed, and none of its tests did"), file, line, test=package
    )
