"""JUnit XML, from pytest, node:test, Maven, Gradle and others: streaming and bounded."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.parsers.output import parse_number, read_text, read_xml
from aigon.checks.parsers.readings import KEPT_PROBLEMS, ResultTally, describe_unknown, make_problem
from aigon.checks.parsers.stacks import Place, describe_thrown, find_frame, find_headline, find_jvm_frame, is_jvm_trace
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.patterns import compile_re

_RESULTS: dict[str, TestResult] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_LONGEST_DETAIL = 100_000
_OF_A_MODULE = ("collection failure", "collection skipped")
"""pytest's messages of a module, in place of its tests."""
_OF_A_CLASS = ("initializationError", "executionError", "classMethod")
"""Gradle's and JUnit's names of a class whose own set-up failed; Surefire leaves the name empty."""
_SCRIPT = compile_re(r"\S*\.[cm]?[jt]sx?")
HOOK = compile_re(r'"(?:before|after) (?:all|each)" hook\b')


class JunitCase(Struct, frozen=True):
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
        """Return the class or file that the test belongs to, and its name."""
        owner = self.classname
        if owner == "test":  # node:test calls every class so, and says more with the suites around the case
            owner = self.file or " > ".join(filter(None, self.suites))
        owner = owner or self.file
        if owner == self.name:
            return owner
        return f"{owner}::{self.name}" if owner and self.name else owner or self.name

    @property
    def is_single(self) -> bool:
        """Return whether it stands for one test, and not for a file, a hook or the run itself, which ran none."""
        if self.result == "passed":
            return True
        if not self.name or self.name in _OF_A_CLASS or self.message in _OF_A_MODULE:
            return False
        is_file = self.name in (self.classname, self.file) or _SCRIPT.fullmatch(self.name)
        is_run = (self.classname, self.name) == ("pytest", "internal") or self.classname.endswith("._FailedTest")
        return not (is_file or is_run or HOOK.search(self.name))

    @property
    def place(self) -> Place:
        """Return where the test itself is."""
        return self.file, parse_number(self.line)


class JunitDocument:
    """The cases of a report: `tally` counts them all, `broken` are the first that did not pass.

    `is_whole` says whether the report was read to its end; of a broken one there are the cases before the break.
    """

    def __init__(self, report: bytes) -> None:
        self.tally = ResultTally()
        self.broken: list[JunitCase] = []
        self._suites: list[str] = []
        self._case: JunitCase | None = None
        self._wants_detail = self._is_to_do = False
        self.is_whole = read_xml(report, self._start, self._end) in ("testsuites", "testsuite", "testcase")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        get = attributes.get
        if tag == "testsuite":
            self._suites.append(get("name", "")[:200])
        elif tag == "testcase":
            names = (get("name", ""), get("classname", ""), get("file", ""), get("line", ""))
            self._case, self._is_to_do = JunitCase(*names, tuple(self._suites[-8:])), False
        elif self._case is not None and tag in _RESULTS:
            result = _RESULTS[tag]
            # node:test: a test that is to do may fail, and no exit code knows of it.
            self._is_to_do |= result == "skipped" and get("type") == "todo"
            # A case can hold several: the first failure or error stands, and either outweighs a skip.
            self._wants_detail = self._case.result in ("passed", "skipped") and (
                result == "skipped" or not self._is_to_do
            )
            if self._wants_detail:
                message = get("message", "")[:_LONGEST_DETAIL]
                self._case = replace(self._case, result=result, message=message, detail="")

    def _end(self, tag: str, text: str) -> None:
        if tag == "testsuite" and self._suites:
            self._suites.pop()
        elif tag in _RESULTS and self._case is not None and self._wants_detail:
            self._case = replace(self._case, detail=text[:_LONGEST_DETAIL])
            self._wants_detail = False
        elif tag == "testcase" and self._case is not None:
            case, self._case = self._case, None
            self.tally.numbers[case.result] += 1
            if case.is_single:
                self.tally.record(case.test, case.result)
            if case.result in ("failed", "error") and len(self.broken) < KEPT_PROBLEMS:
                self.broken.append(case)


def describe_case(case: JunitCase) -> Problem:
    """Return what a broken case says, and where."""
    places = (find_frame(case.detail), find_jvm_frame(case.detail, case.classname), case.place)
    file, line = next((place for place in places if place[0]), ("", case.place[1]))
    thrown = describe_thrown(case.detail) if is_jvm_trace(case.detail) else ""
    return make_problem(thrown or find_headline(case.message, case.detail), file, line, test=case.test)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return the test cases of the report. A cut or refused report has problems but no counts."""
    document = JunitDocument(output if report is None else report)
    if not document.is_whole:
        problems = tuple(map(describe_case, document.broken))
        return ParsedOutput(problems=problems or describe_unknown(read_text(output)).problems, understood=False)
    reading = document.tally.read(map(describe_case, document.broken))
    # What was printed, a test can have printed: only a report says which tests ran.
    return reading if report is not None else replace(reading, tests={})


def read_report(report: bytes | None, describe: Callable[[JunitCase], Problem] = describe_case) -> ParsedOutput | None:
    """Return the reading of a whole report, with `describe` for broken cases; None for anything else."""
    document = JunitDocument(report or b"")
    return document.tally.read(map(describe, document.broken)) if document.is_whole else None
