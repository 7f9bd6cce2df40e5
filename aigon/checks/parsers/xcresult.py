"""What `xcrun xcresulttool get test-results tests` says of a result bundle (from Xcode 16). From its documentation.

A tree of nodes: test plan, bundles, suites, and test cases with their devices, repetitions, arguments and failures.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from aigon.checks.parsers import _json, swifttest, xcodebuild
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

_RESULTS: dict[str, TestResult] = {
    "Passed": "passed",
    "Failed": "failed",
    "Skipped": "skipped",
    "Expected Failure": "skipped",
}
"""A test without a result, or with an unknown one, did not end."""
_BUNDLES = ("Unit test bundle", "UI test bundle")
_PLACE = re.compile(r"(?P<file>[^\s:][^:\n]{0,300}\.\w{1,12}):(?P<line>\d+)(?::\d+)?(?:: (?P<said>.+))?$", re.S)
_DEPTH = 40
"""Levels of nodes that are looked at; Xcode writes about seven."""
_MESSAGES = 5
"""Failures that are kept of one test."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case, or what failed outside of one (`single` is False): a bundle that crashed, a suite's set-up."""

    name: str
    result: TestResult
    messages: tuple[str, ...] = ()
    single: bool = True


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures of the report; without one what xcodebuild printed: tests, or errors of the compiler."""
    nodes = _nodes(_json.document(report) if report is not None else _json.embedded(output, dict))
    if nodes is not None:
        found = _reading(nodes)
        return found if report is not None else replace(found, tests={})
    lines = text(output)
    described = swifttest.printed(lines) or xcodebuild.printed(lines) or foreign(lines)
    return described if report is None else replace(described, counts=None, understood=False, tests={})


def _nodes(document: object) -> list[_json.Row] | None:
    if isinstance(document, dict) and isinstance(document.get("testNodes"), list):
        return _json.rows(document["testNodes"])
    return None


def _reading(nodes: list[_json.Row]) -> ParsedOutput:
    numbers, seen = Counter[TestResult](), Seen()
    problems: list[Problem] = []
    for case in _cases(nodes):
        numbers[case.result] += 1
        if case.single:
            seen.add(case.name, case.result)
        if case.result in ("failed", "error") and len(problems) < 5000:
            problems += [
                _problem(each, case.name) for each in case.messages or ("it did not pass, and nothing says why",)
            ]
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], numbers["error"])
    return replace(tests(counts, problems), tests=seen.results())


def _cases(nodes: list[_json.Row]) -> Iterator[_Case]:
    """Every test case, in the order of the report; without recursion, whatever the report's depth."""
    waiting = [(node, "", 0) for node in reversed(nodes)]
    while waiting:
        node, bundle, depth = waiting.pop()
        kind, name = _json.string(node.get("nodeType")), _json.string(node.get("name"))
        if kind == "Test Case":
            yield _case(node, bundle, name)
        elif kind == "Failure Message":
            yield _Case(bundle or "tests", "error", (name,), single=False)
        elif depth < _DEPTH:
            inner = name if kind in _BUNDLES else bundle
            waiting += [(child, inner, depth + 1) for child in reversed(_json.rows(node.get("children")))]


def _case(node: _json.Row, bundle: str, name: str) -> _Case:
    identifier = _json.string(node.get("nodeIdentifier")) or name
    result = _RESULTS.get(_json.string(node.get("result")), "error")
    return _Case(
        "/".join(filter(None, (bundle, identifier))), result, tuple(dict.fromkeys(_messages(node)))[:_MESSAGES]
    )


def _messages(case: _json.Row) -> Iterator[str]:
    """What failed in a case, on whichever device, in whichever repetition or with whichever arguments."""
    waiting, left = [(case, 0)], 1000
    while waiting and left:
        (node, depth), left = waiting.pop(), left - 1
        if node.get("nodeType") == "Failure Message":
            yield _message(node)
        elif depth < _DEPTH and node.get("result") != "Passed":
            waiting += [(child, depth + 1) for child in reversed(_json.rows(node.get("children")))]


def _message(node: _json.Row) -> str:
    """A message, with the place that a source reference below it names where it has none itself."""
    name = _json.string(node.get("name"))
    places = (_json.string(child.get("name")) for child in _json.rows(node.get("children")))
    place = next((each for each in places if _PLACE.match(each)), "")
    return name if not place or _PLACE.match(name) else f"{place}: {name}"


def _problem(message: str, test: str) -> Problem:
    match = _PLACE.match(message)
    if match is None:
        return problem(message or "failed", test=test)
    return problem(match["said"] or "failed", match["file"], number(match["line"]), test=test)
