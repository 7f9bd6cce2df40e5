"""JUnit XML into test cases: streaming, bounded, and without any document type declaration."""

import re
from dataclasses import dataclass, replace
from xml.parsers import expat

from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._text import LIMIT
from aigon.model.checks import TestResult

_RESULTS: dict[str, TestResult] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_DETAIL = 100_000
"""Characters kept of one failure's text."""
_COLLECTION = ("collection failure", "collection skipped")
"""What pytest says of a module, in place of its tests."""
_FILE = re.compile(r"\S*\.[cm]?[jt]sx?")
_OF_THE_CLASS = ("initializationError", "executionError", "classMethod")
"""What Gradle and JUnit call a class whose own set-up failed; Surefire leaves the name empty."""
_HOOK = re.compile(r'"(?:before|after) (?:all|each)" hook\b')


@dataclass(frozen=True, slots=True)
class Case:
    """One `testcase` element. `suites` are the names of the suites around it, outermost first."""

    name: str = ""
    classname: str = ""
    file: str = ""
    line: str = ""
    suites: tuple[str, ...] = ()
    result: TestResult = "passed"
    message: str = ""
    detail: str = ""

    @property
    def test(self) -> str:
        """What the test is called: the class or file that it belongs to, and its name."""
        owner = self.classname
        if owner == "test":  # node:test calls every class so, and says more with the suites around the case
            owner = self.file or " > ".join(filter(None, self.suites))
        owner = owner or self.file
        if owner == self.name:
            return owner
        return f"{owner}::{self.name}" if owner and self.name else owner or self.name

    @property
    def single(self) -> bool:
        """Whether it stands for one test. What stands for more ran none, and is gone once that can be loaded again:
        a file, a hook, the run itself."""
        if self.result == "passed":
            return True
        if not self.name or self.name in _OF_THE_CLASS:
            return False
        unloaded = self.message in _COLLECTION or self.name in (self.classname, self.file) or _FILE.fullmatch(self.name)
        broken = (self.classname, self.name) == ("pytest", "internal") or self.classname.endswith("._FailedTest")
        return not (unloaded or broken or _HOOK.search(self.name))


class Refused(Exception):
    """The document declares a type: that is how entity bombs and external entities begin, and no runner does it."""


class Reader:
    """Collects cases while expat reads. `cases` has those that were closed before any error."""

    def __init__(self, keep: int) -> None:
        self.root = ""
        self.cases: list[Case] = []
        self.numbers: dict[TestResult, int] = {"passed": 0, "failed": 0, "error": 0, "skipped": 0}
        self.seen = Seen()
        self._keep = keep
        self._suites: list[str] = []
        self._case: Case | None = None
        self._detail: list[str] | None = None
        self._size = 0
        self._to_do = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = _local(tag)
        self.root = self.root or tag
        if tag == "testsuite":
            self._suites.append(attributes.get("name", "")[:200])
        elif tag == "testcase":
            self._case, self._to_do = _case(attributes, tuple(self._suites[-8:])), False
        elif self._case is not None and tag in _RESULTS:
            self._result(_RESULTS[tag], attributes.get("message", "")[:_DETAIL], attributes.get("type", ""))

    def data(self, text: str) -> None:
        if self._detail is not None and self._size < _DETAIL:
            self._detail.append(text[:_DETAIL])
            self._size += len(text)

    def end(self, tag: str) -> None:
        tag = _local(tag)
        if tag == "testsuite" and self._suites:
            self._suites.pop()
        elif tag in _RESULTS and self._case is not None and self._detail is not None:
            self._case = replace(self._case, detail=self._case.detail or "".join(self._detail))
            self._detail = None
        elif tag == "testcase" and self._case is not None:
            self._close(self._case)

    def _result(self, tag: TestResult, message: str, kind: str) -> None:
        assert self._case is not None
        # node:test: a test that is to do may fail, and no exit code knows of it.
        self._to_do |= tag == "skipped" and kind == "todo"
        if self._to_do and tag != "skipped":
            return
        # A case can hold several: the first failure or error stands, and either outweighs a skip.
        if self._case.result in ("passed", "skipped"):
            self._case = replace(self._case, result=tag, message=message, detail="")
            self._detail, self._size = [], 0

    def _close(self, case: Case) -> None:
        self.numbers[case.result] += 1
        if case.single:
            self.seen.add(case.test, case.result)
        if case.result in ("failed", "error") and len(self.cases) < self._keep:
            self.cases.append(case)
        self._case = self._detail = None


def cases(report: bytes, keep: int) -> tuple[Reader, bool]:
    """The cases of a report and whether it was read to its end as JUnit; keeps the first `keep` that did not pass."""
    reader = Reader(keep)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    try:
        parser.Parse(report[:LIMIT].lstrip(), True)
    except (expat.ExpatError, Refused, ValueError, LookupError):
        return reader, False
    return reader, reader.root in ("testsuites", "testsuite", "testcase")


def _refuse(*_: object) -> None:
    raise Refused


def _local(tag: str) -> str:
    return tag.rsplit(":", 1)[-1]


def _case(attributes: dict[str, str], suites: tuple[str, ...]) -> Case:
    get = attributes.get
    return Case(get("name", ""), get("classname", ""), get("file", ""), get("line", ""), suites)
