"""How unittest calls a test: `test_it (tests.test_a.TestIt.test_it) [message] (n=1)`, and what became of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aigon.model.checks import TestResult

_TEST = re.compile(r"(?P<name>[^\s()]+) \((?P<owner>[^\s()]*)\)")
_STATUS = re.compile(
    r"^(?P<sub>  )?(?P<test>\S[^\n]*?) \.\.\. "
    r"(?P<word>ok|FAIL|ERROR|skipped (?=')[^\n]*|skipped (?=\")[^\n]*|expected failure|unexpected success)$",
    re.M,
)
_RESULTS: dict[str, TestResult] = {"ok": "passed", "FAIL": "failed", "ERROR": "error", "unexpected success": "failed"}
_FIXTURES = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_LOADER = "unittest.loader."
"""Classes of the runner's own, for modules that cannot be imported or are skipped whole."""


@dataclass(frozen=True, slots=True)
class Name:
    """`owner` is the class with its module, `rest` what tells subtests apart; `single` says that it is one test, and
    not a module nor what is set up for several tests. The runner does not count a `fixture` among the tests it ran."""

    owner: str
    name: str
    rest: str = ""
    single: bool = True
    fixture: bool = False

    @property
    def dotted(self) -> str:
        """As `python -m unittest` takes it, but for what a subtest adds."""
        return f"{'.'.join(filter(None, (self.owner, self.name)))} {self.rest}".strip()

    @property
    def id(self) -> str:
        """As reports of other runners name a test: the same for all its subtests."""
        return f"{self.owner}::{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Status:
    """What a verbose run says of a test. `word` as it stands there; `sub`: on a line of its own, of one subtest."""

    name: Name
    word: str
    sub: bool

    @property
    def result(self) -> TestResult:
        return _RESULTS.get(self.word, "skipped")


def named(description: str) -> Name:
    """A test by the runner's description of it, whose other lines are its docstring's.

    Before Python 3.11 the method is not part of what is in brackets.
    """
    first = description.split("\n", 1)[0][:2000]
    match = _TEST.match(first)
    if match is None:
        return Name("", first.strip())
    owner, name, rest = match["owner"], match["name"], first[match.end() :].strip()
    if owner.startswith(_LOADER):
        return Name("", name, single=False)
    if name in _FIXTURES:
        return Name(owner, name, single=False, fixture=True)
    return Name(owner.removesuffix(f".{name}"), name, rest)


def statuses(lines: str) -> Iterator[Status]:
    """What the lines of a verbose run say, in their order.

    Before Python 3.11 there is no word for a test of which a subtest failed: the next one goes on in its line.
    """
    for match in _STATUS.finditer(lines):
        word = "skipped" if match["word"].startswith("skipped") else match["word"]
        *without, test = match["test"].split(" ... ")
        yield from (Status(named(each), "FAIL", True) for each in without if _TEST.fullmatch(each))
        yield Status(named(test), word, bool(match["sub"]))
