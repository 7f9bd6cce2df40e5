"""What one of Swift's two testing libraries came to."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._problems import capped
from aigon.model.checks import Problem, TestCounts, TestResult


@dataclass(frozen=True, slots=True)
class Run:
    """`began` says whether it ran at all, be it without a test."""

    began: bool
    counts: TestCounts = field(default_factory=TestCounts)
    problems: tuple[Problem, ...] = ()
    tests: Mapping[str, TestResult] = field(default_factory=dict)


def run(results: Iterable[tuple[str, TestResult]], problems: Iterable[Problem], *, began: bool) -> Run:
    """The run of these tests, each with its result."""
    numbers, seen = Counter[TestResult](), Seen()
    for test, result in results:
        numbers[result] += 1
        seen.add(test, result)
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], numbers["error"])
    return Run(began or bool(numbers), counts, capped(problems), seen.results())


def ended(events: Iterable[tuple[str, str]]) -> Iterable[tuple[str, TestResult]]:
    """Results out of events (`started`, `passed`, `failed`, `skipped`); what started and did not end is an error."""
    open_ = Counter[str]()
    for test, word in events:
        if word == "started":
            open_[test] += 1
        else:
            open_[test] -= 1
            yield test, _RESULTS[word]
    for test, number in open_.items():
        if number > 0:
            yield test, "error"


_RESULTS: Mapping[str, TestResult] = {"passed": "passed", "failed": "failed", "skipped": "skipped"}
