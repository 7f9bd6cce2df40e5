"""XCTest's text, as `swift test` and xcodebuild print it: `Test Case '-[Tests.CalcTests testAdd]' passed`."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._swift import Run, ended, run
from aigon.model.checks import Problem

_EVENT = re.compile(r"Test [Cc]ase '(?P<test>[^'\n]{1,500})' (?P<word>started|passed|failed|skipped)(?=[ .])")
_SUITE = re.compile(r"^Test [Ss]uite '[^'\n]{1,500}' (?:started|passed|failed)|^\t* *Executed \d+ tests?, with ", re.M)
_FAILURE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): error: (?P<test>-\[[^\]\n]{1,500}\]|[\w.]{1,300}) : (?P<said>[^\n]+)$",
    re.M,
)
_FATAL = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): (?P<said>Fatal error[^\n]*)$", re.M)
_READ = 500_000


def results(lines: str) -> Run:
    """What its tests came to. A line that a test prints before the library's own does not hide that."""
    events = [(_name(m["test"]), m["word"]) for m in islice(_EVENT.finditer(lines), _READ)]
    found = list(ended(events))
    broken = [test for test, result in found if result == "error"]
    return run(found, (*_failures(lines), *_crashed(lines, broken)), began=_SUITE.search(lines) is not None)


def _failures(lines: str) -> Iterator[Problem]:
    for match in islice(_FAILURE.finditer(lines), 5000):
        yield problem(match["said"], match["file"], number(match["line"]), test=_name(match["test"]))


def _crashed(lines: str, tests: list[str]) -> Iterator[Problem]:
    """Tests that did not end; what is said last of a fatal error is about the last of them."""
    fatal = list(islice(_FATAL.finditer(lines), 5000))[-1:]
    for test in tests[:-1]:
        yield problem("it did not end", test=test)
    for test in tests[-1:]:
        match = fatal[0] if fatal else None
        said = match["said"] if match else "it did not end: the test process crashed or was stopped"
        yield problem(said, match["file"] if match else "", number(match["line"]) if match else 0, test=test)


def _name(test: str) -> str:
    """`Tests.CalcTests.testAdd` of `-[Tests.CalcTests testAdd]`, the same as on Linux but for the module."""
    return test[2:-1].replace(" ", ".") if test.startswith("-[") and test.endswith("]") else test.removesuffix("()")
