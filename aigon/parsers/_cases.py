"""JUnit XML into test cases: streaming, bounded, and without any document type declaration."""

from dataclasses import dataclass, replace
from typing import Literal
from xml.parsers import expat

from aigon.parsers._text import LIMIT

Result = Literal["passed", "failure", "error", "skipped"]
_RESULTS: dict[str, Result] = {"failure": "failure", "error": "error", "skipped": "skipped"}
_DETAIL = 100_000
"""Characters kept of one failure's text."""


@dataclass(frozen=True, slots=True)
class Case:
    """One `testcase` element. `suites` are the names of the suites around it, outermost first."""

    name: str = ""
    classname: str = ""
    file: str = ""
    line: str = ""
    suites: tuple[str, ...] = ()
    result: Result = "passed"
    message: str = ""
    detail: str = ""


class Refused(Exception):
    """The document declares a type: that is how entity bombs and external entities begin, and no runner does it."""


class Reader:
    """Collects cases while expat reads. `cases` has those that were closed before any error."""

    def __init__(self, keep: int) -> None:
        self.root = ""
        self.cases: list[Case] = []
        self.numbers: dict[Result, int] = {"passed": 0, "failure": 0, "error": 0, "skipped": 0}
        self._keep = keep
        self._suites: list[str] = []
        self._case: Case | None = None
        self._detail: list[str] | None = None
        self._size = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = _local(tag)
        self.root = self.root or tag
        if tag == "testsuite":
            self._suites.append(attributes.get("name", "")[:200])
        elif tag == "testcase":
            self._case = _case(attributes, tuple(self._suites[-8:]))
        elif self._case is not None and tag in _RESULTS:
            self._result(_RESULTS[tag], attributes.get("message", "")[:_DETAIL])

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

    def _result(self, tag: Result, message: str) -> None:
        assert self._case is not None
        # A case can hold several: the first failure or error stands, and either outweighs a skip.
        if self._case.result in ("passed", "skipped"):
            self._case = replace(self._case, result=tag, message=message, detail="")
            self._detail, self._size = [], 0

    def _close(self, case: Case) -> None:
        self.numbers[case.result] += 1
        if case.result in ("failure", "error") and len(self.cases) < self._keep:
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
