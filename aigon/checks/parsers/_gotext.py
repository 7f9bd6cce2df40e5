"""The text of `go test`. Without -v it tells only of tests that failed, so it is no count of tests."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from aigon.checks.parsers import _gocompile
from aigon.checks.parsers._gofailure import told
from aigon.checks.parsers._libtest import gaps
from aigon.checks.parsers._problems import capped, problem
from aigon.checks.parsers._readings import tests
from aigon.checks.parsers._text import count
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_PACKAGE = re.compile(
    r"^(?:(?P<ok>ok  )|(?P<fail>FAIL)|(?P<none>\?   ))\t(?P<package>\S+)(?:\t| )"
    r"(?P<rest>(?:\[[^\]\n]+\]|\(cached\)|[\d.]+s)[^\n]*)$"
)
_SUMS = re.compile(_PACKAGE.pattern, re.M)
_RUN = re.compile(r"^=== (?P<word>RUN|NAME|CONT|PAUSE) +(?P<test>\S+)$")
_END = re.compile(r"^.*?--- (?P<word>PASS|FAIL|SKIP): (?P<test>\S+) \([\d.]+s\)$")
"""Behind what a test printed without ending its line."""
_LAST = re.compile(r"^(?:FAIL|PASS|exit status \d+|coverage: .*|testing: warning: .*)$")
_WORDS = ("PASS", "FAIL", "SKIP")


@dataclass(slots=True)
class Package:
    """What was printed up to a package's own line. `ends` are results by test; `said` what stands below a failure."""

    name: str = ""
    result: str = ""
    rest: str = ""
    runs: set[str] = field(default_factory=set)
    ends: dict[str, str] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it has no line on any package."""
    packages = list(_packages(lines))
    if not packages:
        return None
    problems = capped((*_gocompile.problems(lines), *(each for one in packages for each in _problems(one))))
    if all(_empty(one) for one in packages):
        return tests(TestCounts())
    if _verbose(packages) and not gaps(lines):
        return tests(_counts(packages), problems)
    return ParsedOutput(_phrase(packages), None, problems)


def tells(lines: str) -> bool:
    """Whether a line of its own sums up a package that was run: in a stream of events there is none."""
    return any("[build failed]" not in match[0] and "[setup failed]" not in match[0] for match in _SUMS.finditer(lines))


def _packages(lines: str) -> Iterator[Package]:
    package, below = Package(), ""
    for line in lines.split("\n"):
        if (end := _PACKAGE.match(line)) and _possible(package, end):
            result = "ok" if end["ok"] else "FAIL" if end["fail"] else "?"
            yield _ended(package, end["package"], result, end["rest"])
            package, below = Package(), ""
        else:
            below = _line(package, below, line)


def _possible(package: Package, end: re.Match[str]) -> bool:
    """A package of which a test failed or still runs is not `ok`: then a test printed this line."""
    return not end["ok"] or not ("FAIL" in package.ends.values() or package.runs - package.ends.keys())


def _line(package: Package, below: str, line: str) -> str:
    """Take a line; the test that the next ones are of."""
    if run := _RUN.match(line):
        if run["word"] == "RUN":
            package.runs.add(run["test"])
        return run["test"]
    ended = _END.match(line)
    # With -v only what was announced is a result.
    if ended and (not package.runs or ended["test"] in package.runs):
        package.ends.setdefault(ended["test"], ended["word"])
        return ended["test"]
    if _LAST.match(line):
        return ""
    (package.said.setdefault(below, []) if below else package.other).append(line)
    return below


def _ended(package: Package, name: str, result: str, rest: str) -> Package:
    package.name, package.result, package.rest = name, result, rest
    return package


def _verbose(packages: list[Package]) -> bool:
    """Whether every test was announced: then, and only then, they can be counted."""
    announced = all(one.runs or one.result != "ok" or _empty(one) for one in packages)
    return announced and any(one.runs for one in packages)


def _empty(package: Package) -> bool:
    return package.result == "?" or "[no tests to run]" in package.rest or "[no test files]" in package.rest


def _unbuilt(package: Package) -> bool:
    return package.rest.startswith(("[build failed]", "[setup failed]"))


def _counts(packages: list[Package]) -> TestCounts:
    words = [word for one in packages for word in one.ends.values()]
    unended = sum(len(one.runs - one.ends.keys()) for one in packages)
    alone = sum(
        one.result == "FAIL" and "FAIL" not in one.ends.values() and not one.runs - one.ends.keys() for one in packages
    )
    passed, failed, skipped = (words.count(word) for word in _WORDS)
    return TestCounts(0, passed, failed, skipped, unended + alone)


def _phrase(packages: list[Package]) -> str:
    failed = sum(one.result == "FAIL" for one in packages)
    whole = sum(not _empty(one) for one in packages)
    return f"{count(failed, 'package')} failed" if failed else f"{count(whole, 'package')} passed"


def _problems(package: Package) -> Iterator[Problem]:
    broken = [test for test, word in package.ends.items() if word == "FAIL"] if package.result == "FAIL" else []
    unended = sorted(package.runs - package.ends.keys())
    parents = {test.rpartition("/")[0] for test in broken}
    for test in (*broken, *unended):
        message, file, line = told(_said(package, test))
        if message or test not in parents:
            said = message or ("it did not end" if test in unended else "failed")
            yield problem(said, file, line, test=f"{package.name}::{test}")
    if package.result == "FAIL" and not broken and not unended and not _unbuilt(package):
        yield _alone(package)


def _said(package: Package, test: str) -> str:
    """What the detector of races found stands before the test's own line."""
    said = "\n".join(package.said.get(test, []))
    return "\n".join([*package.other, said]) if "race detected during execution of test" in said else said


def _alone(package: Package) -> Problem:
    message, file, line = told("\n".join(package.other))
    words = [
        line.strip() for line in package.other if line.strip() and not line.startswith(("FAIL", "exit status", "#"))
    ]
    return problem(
        message or (words[-1] if words else "it failed, and none of its tests did"), file, line, test=package.name
    )
