"""The tests of the base: each has to be passed by what is said to be done."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aigon.checks.pytest_arguments import read_pytest_request
from aigon.model.checks import Problem, TestResult

MOST = 50
"""Problems listed; the rest is counted."""
FEW = 3
"""Tests of one file or class that are gone and are named one by one; more are named together."""
_SAID: Mapping[TestResult, str] = {
    "skipped": "it ran in the base and is skipped now",
    "failed": "it was in the base and fails",
    "error": "it was in the base and could not run to its end",
}
_GONE = "it was in the base and is not there any more"


def expects_report(argv: Sequence[str]) -> bool:
    """Whether a command runs pytest by its own words, so that exit 0 without a test report shows nothing."""
    return read_pytest_request(argv).runs


def lost(
    base: Mapping[str, TestResult], now: Mapping[str, TestResult], reported_on_base: bool, reported_now: bool
) -> tuple[Problem, ...]:
    """The tests that ran on the base (passed or not) and are not `passed` now; those that it skipped are exempt.

    At most MOST problems and one with the number of the others: what is gone first, then what is skipped, then what
    fails. No report now, where the base left one, is one problem.
    """
    wanted = {test: result for test, result in base.items() if result != "skipped"}
    if not reported_on_base or not wanted:
        return ()
    if not reported_now:
        said = (
            f"on the base it left a report with {_tests(len(wanted))}, and now it leaves none: nothing shows they ran"
        )
        return (Problem(said),)
    problems = [*_gone(wanted, now), *_not_passed(wanted, now)]
    return _listed(problems)


def less(base: Mapping[str, TestResult], files: Iterable[str]) -> dict[str, TestResult]:
    """`base` without the tests of these files, which someone may change (the `allow` of a spec).

    A file is a path relative to the project; where tests run in a folder of it, ids begin below that folder.
    """
    owners = tuple(f"{name}{end}" for path in files for name in _names(path) for end in ("::", "."))
    return {test: result for test, result in base.items() if not test.startswith(owners)}


def _names(path: str) -> Iterator[str]:
    """How ids can begin that are of this file: its path, or what Python makes of it, from any folder above it."""
    parts = path.split("/")
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        yield below
        if below.endswith(".py"):
            yield below.removesuffix(".py").replace("/", ".")


def _gone(wanted: Mapping[str, TestResult], now: Mapping[str, TestResult]) -> Iterator[Problem]:
    missing = sorted(test for test in wanted if test not in now)
    holders = _holders(now) if any("::" not in test for test in missing) else frozenset()
    missing = [test for test in missing if wanted[test] == "passed" or test not in holders]
    whole, number = Counter(map(_owner, missing)), Counter(map(_owner, wanted))
    together = {o: n for o, n in whole.items() if o and n == number[o] and n > FEW}
    for owner, tests in together.items():
        yield Problem(f"its {tests} tests were in the base and are not there any more", test=owner)
    yield from (Problem(_GONE, test=test) for test in missing if _owner(test) not in together)


def _holders(now: Iterable[str]) -> frozenset[str]:
    """Files, modules and classes that tests of `now` are in: what broke in place of its tests is whole again."""
    owners = {_owner(test) for test in now} - {""}
    return frozenset(".".join(owner.split(".")[:n]) for owner in owners for n in range(1, owner.count(".") + 2))


def _not_passed(wanted: Mapping[str, TestResult], now: Mapping[str, TestResult]) -> Iterator[Problem]:
    for result, said in _SAID.items():
        yield from (Problem(said, test=test) for test in sorted(wanted) if now.get(test) == result)


def _listed(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    more = len(problems) - MOST
    rest = (Problem(f"{_tests(more)} of the base more, missing, skipped or failing"),) if more > 0 else ()
    return (*problems[:MOST], *rest)


def _owner(test: str) -> str:
    return test.partition("::")[0] if "::" in test else ""


def _tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"
