"""JUnit XML, of node:test, Maven, Gradle and others: streaming and bounded; pytest, PHPUnit and Pest write it, too.

The report of aigon's own program for endpoints has that of schemathesis in it; beside it all output is the server's.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.endpoints.plan import MARK
from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.output import (
    Row,
    clean,
    find_matches,
    load_json,
    parse_number,
    read_text,
    read_xml,
    sum_words,
)
from aigon.checks.parsers.readings import (
    KEPT_PROBLEMS,
    ResultTally,
    describe_unknown,
    find_error_lines,
    find_problems,
    make_problem,
    name_in_report,
    summarize_tests,
)
from aigon.checks.parsers.stacks import Place, describe_thrown, find_frame, find_headline, find_jvm_frame, is_jvm_trace
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re
from aigon.text.untrusted import object_at, objects_at, text_at, texts_at

_RESULTS: dict[str, TestResult] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_LONGEST_DETAIL = 100_000
_OF_A_MODULE = ("collection failure", "collection skipped")
"""pytest's messages of a module, in place of its tests."""
_OF_A_CLASS = ("initializationError", "executionError", "classMethod")
"""Gradle's and JUnit's names of a class whose own set-up failed; Surefire leaves the name empty."""
_SCRIPT = compile_re(r"\S*\.[cm]?[jt]sx?")
HOOK = compile_re(r'"(?:before|after) (?:all|each)" hook\b')

_LAST = compile_re(
    r"^=*(?: )?(?P<numbers>no tests ran|\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?){0,12}) in \d[\d.]*s\b", re.M
)
_NUMBER = compile_re(r"(?P<number>\d+) (?P<word>error(?=s)|[a-z]+(?: [a-z]+)?)")
_FAILED = compile_re(r"^(?P<kind>FAILED|ERROR|SUBFAILED(?:\[[^\]\n]*\])?(?: ?\([^)\n]*\))?) (?P<rest>\S[^\n]*)$", re.M)
_SECTION = compile_re(r"^_+ ERROR collecting (?P<file>[^\n]*?) _+\n(?P<said>(?:(?![_=]{5})[^\n]*\n){1,200})", re.M)
_USAGE = compile_re(r"^ERROR: (?P<message>[^\n]+)$", re.M)


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
        """Return whether it is one test, and not a file, a hook or the run itself, which ran none."""
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


def read_pytest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. The report wins: a test can print a line that looks like pytest's last one."""
    lines = read_text(output)
    reading = read_report(report)
    if reading is None:
        return _read_pytest_lines(lines)
    # The node ids that `pytest` itself takes are in the output.
    printed = {name_in_report(each.test): each for each in _find_failed(lines)}
    pairs = ((each, printed.get(each.test)) for each in reading.problems)
    problems = (replace(each, test=on.test, file=each.file or on.file) if on else each for each, on in pairs)
    return replace(reading, problems=tuple(problems))


def _read_pytest_lines(lines: str) -> ParsedOutput:
    if last := deque(_LAST.finditer(lines), maxlen=1):
        numbers = sum_words(_NUMBER.finditer(last[0]["numbers"]))
        passed, skipped = numbers["passed"] + numbers["xpassed"], numbers["skipped"] + numbers["xfailed"]
        counts = TestCounts(0, passed, numbers["failed"], skipped, numbers["error"])
        return summarize_tests(counts, (*_find_failed(lines), *find_problems(_USAGE, lines, most=KEPT_PROBLEMS)))
    # pytest never got to its last line: a broken conftest.py, an internal error, a kill.
    headline = find_headline("", lines) if re.search(r"^E  ", lines, re.M) else ""
    problems = (make_problem(headline),) if headline else find_error_lines(lines)
    return replace(describe_unknown(lines), problems=problems)


def _find_failed(lines: str) -> Iterator[Problem]:
    sections = {match["file"]: match["said"] for match in find_matches(_SECTION, lines, KEPT_PROBLEMS)}
    for match in find_matches(_FAILED, lines):
        test, message = _split_message(match["rest"])
        message = message or find_headline("", sections.get(test, "")) or "failed"
        yield make_problem(message, test.partition("::")[0], test=test)


def _split_message(rest: str) -> tuple[str, str]:
    """Return a node id and its message. A parameter in brackets can hold the separator itself."""
    test, separator, message = rest.partition(" - ")
    if separator and "[" in test and not test.endswith("]"):
        head, closed, tail = rest.partition("] - ")
        return (f"{head}]", tail) if closed else (rest, "")
    return test.strip(), message


def read_phpunit(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures of PHPUnit or Pest. A matcher reads PHPUnit's text."""
    if report is not None:
        return read_report(report, _describe_php_case) or ParsedOutput(understood=False)
    return load_tests("phpunit").read(output, None)


def _describe_php_case(case: JunitCase) -> Problem:
    first, _, rest = case.detail.lstrip().partition("\n")
    is_heading = "::" in first and case.name.partition(" with data set")[0] in first
    message, place = load_tests("phpunit").failures[0].explain(rest if is_heading else case.detail)
    spot = (case.file.partition("::")[0], case.place[1])
    return make_problem(message or case.message or "failed", *(place if place[0] else spot), test=case.test)


_REQUEST_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed", "error": "error"}
_TITLE = compile_re(r"^- (?P<title>\S[^\n]*)$", re.M)
_DETAIL = compile_re(r"^ +(?P<detail>(?:Received|Documented): [^\n]{1,200})$", re.M)


def read_endpoints(output: bytes, report: bytes | None) -> ParsedOutput:
    """Every request is a test; so is every operation that schemathesis tried. What kept it from asking comes first."""
    document = object_at(load_json(report) if report else None)
    if document.get("aigon") != MARK:
        return describe_unknown(read_text(output))
    rows = [row for row in objects_at(document, "requests") if text_at(row, "result") in _REQUEST_RESULTS]
    tried = document.get("schemathesis")
    xml = text_at(tried, "junit").encode("utf-8", "replace") if isinstance(tried, dict) else None
    exercised = JunitDocument(b"<testsuites/>" if xml is None else xml)
    broken = clean(text_at(document, "broken"))
    if not exercised.is_whole and not broken:
        broken = "the report of schemathesis cannot be read"
    tally = ResultTally((text_at(row, "name"), _REQUEST_RESULTS[text_at(row, "result")]) for row in rows)
    # No request is called like an operation that schemathesis tried.
    tests = tally.results() | {f"schemathesis: {test}": result for test, result in exercised.tally.results().items()}
    tally.numbers += exercised.tally.numbers
    reading = replace(tally.read(_find_request_problems(rows, exercised, broken)), tests=tests)
    if not broken:
        return reading
    return replace(reading, summary=broken, counts=reading.counts if reading.counts and reading.counts.total else None)


def _find_request_problems(rows: list[Row], exercised: JunitDocument, broken: str) -> Iterator[Problem]:
    if broken:
        yield make_problem(broken, rule="server")
    for row in rows:
        if row.get("result") != "passed":
            message = "; ".join(texts_at(row, "said")) or "failed"
            yield make_problem(message, test=text_at(row, "name"))
    for case in exercised.broken:
        yield make_problem(_describe_operation(case), test=f"schemathesis: {case.test}")


def _describe_operation(case: JunitCase) -> str:
    """Return what was wrong, without the example: that is another one with the next change."""
    titles = dict.fromkeys(match["title"] for match in _TITLE.finditer(case.detail))
    details = dict.fromkeys(match["detail"] for match in _DETAIL.finditer(case.detail))
    return "; ".join([*titles, *details]) or find_headline(case.message, case.detail)
