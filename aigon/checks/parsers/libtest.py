"""Parse Rust's test binaries under `cargo test`: one block for each binary, and why each of its tests failed.

A block ends with its own sum, not with the first line that looks like one: `failures:` is followed by what failing
tests printed, which can be the output of another `cargo test`.
"""

import re

from msgspec import Struct, field

from aigon.checks.parsers.output import parse_number
from aigon.checks.parsers.readings import KEPT_PROBLEMS, KEPT_TESTS
from aigon.model.checks import TestResult
from aigon.text.patterns import compile_re

_RUNNING = compile_re(r"^ +Running (?:(?:unittests )?(?P<path>[^\s(`][^(\n]*?) \()?`?(?P<binary>[^\s()`]+)[`)]?")
_DOCTESTS = compile_re(r"^ +Doc-tests (?P<crate>\S+)$")
_SUM = compile_re(
    r"^test result: (?:ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored; "
    r"(?P<measured>\d+) measured; \d+ filtered out(?:; finished in .*)?$"
)
_HASH = compile_re(r"-[0-9a-f]{16}(?:\.exe)?$")
_EXPECTATION = compile_re(r" - (?:should panic|compile fail|compile)$")
_BEGIN = compile_re(r"^running (?P<number>\d+) tests?$")
_TEST = compile_re(r"^test (?P<name>\S.*?) \.\.\. (?P<result>.*)$")
_DETAIL = compile_re(r"^---- (?P<name>.+?) (?:stdout|stderr) ----$")
_FAILED = compile_re(r"^error: (?:doc)?test failed, to rerun pass ")
_CRASH = compile_re(r"^  process didn't exit successfully: .*? \((?P<how>(?:signal|exit).*)\)$")
_LONGEST_DETAIL = 1000
"""Lines kept of one failure."""
Sum = tuple[int, int, int]
"""Passed, failed, ignored."""

_PANIC = compile_re(
    r"^thread '[^\n]*?'(?: \(\d+\))? panicked at (?:"
    r"'(?P<old>(?:[^\n]*\n){0,20}?[^\n]*)', (?P<old_file>[^\n:']{1,300}):(?P<old_line>\d+):\d+"
    r"|(?P<file>[^\n:']{1,300}):(?P<line>\d+):\d+:?)$"
    r"(?P<said>(?:\n(?!stack backtrace:|note: |thread '|---- )[^\n]+){0,20})",
    re.M,
)
_EXPECTED = compile_re(
    r"^note: (?P<said>(?:test|panic) did not [^\n]+?)(?: at (?P<file>[^\s:]+):(?P<line>\d+):\d+)?$"
    r"(?P<more>(?:\n +(?:panic message|expected substring): [^\n]*){0,2})",
    re.M,
)
_ERROR = compile_re(r"^Error: (?P<said>[^\n]+)$", re.M)
_COMPILED = compile_re(r"^(?:Test compiled successfully, but [^\n]*|error(?:\[\w+\])?: [^\n]+)$", re.M)
_LIBRARY = compile_re(r"/rustc/|/usr/src/rustc|library/")
_SPAN = 8_000
"""Characters of a test's output that are read."""


class TestBinary(Struct):
    """One binary's run. `title` is empty if cargo's line on it is missing; `announced` is how many tests it said it
    would run; `counted` is its own sum, None if it never got that far; `crash` is how it died then."""

    __test__ = False
    title: str
    announced: int
    results: list[tuple[str, TestResult]] = field(default_factory=list)
    details: dict[str, list[str]] = field(default_factory=dict)
    counted: Sum | None = None
    crash: str = ""

    @property
    def failed(self) -> list[str]:
        return [name for name, result in self.results if result == "failed"] or list(self.details)

    @property
    def sum_of_results(self) -> Sum:
        """Return the sum of the results that were printed."""
        results = [result for _, result in self.results]
        return results.count("passed"), results.count("failed"), results.count("skipped")


class _LibtestReader:
    """Collects binaries line by line; `binaries` has those that ended."""

    def __init__(self) -> None:
        self.binaries: list[TestBinary] = []
        self._title = ""
        self._binary: TestBinary | None = None
        self._failing: frozenset[str] | None = None
        self._last = self._detail = self._waiting = ""

    def read_line(self, line: str) -> None:
        if self._binary is not None and self._failing is not None:
            self._read_failure_line(self._binary, self._failing, line)
        elif begin := _BEGIN.match(line):
            # Within a run that has no sum yet it is a test's own output.
            if self._binary is None or self._binary.counted is not None:
                self.close()
                self._binary, self._title = TestBinary(self._title, parse_number(begin["number"])), ""
        elif title := _find_title(line):
            self.close()
            self._title = title
        elif self._binary is not None:
            self._read_run_line(self._binary, line)
        elif self.binaries and (crash := _CRASH.match(line)):
            self.binaries[-1].crash = crash["how"]
        self._last = line if line.strip() else self._last

    def close(self) -> None:
        if self._binary is not None:
            self.binaries.append(self._binary)
        self._binary, self._failing, self._waiting = None, None, ""

    def _read_run_line(self, binary: TestBinary, line: str) -> None:
        test = _TEST.match(line)
        result = _find_result(test["result"] if test else line)
        name = test["name"] if test else self._waiting
        if _FAILED.match(line):
            self.close()
        elif test and not result:  # on one thread its output comes between the name and the result
            binary.counted, self._waiting = None, name
        elif result and name:
            binary.counted, self._waiting = None if test else binary.counted, ""
            if len(binary.results) < KEPT_TESTS:
                binary.results.append((_EXPECTATION.sub("", name), result))
        elif line == "failures:":
            self._detail, self._failing = "", frozenset(binary.failed)
        elif (counted := _find_sum(line)) and sum(counted) == binary.announced:
            binary.counted = counted

    def _read_failure_line(self, binary: TestBinary, failing: frozenset[str], line: str) -> None:
        counted = _find_sum(line)
        # Its own sum is of as many tests, and the list of those that failed ends just before it.
        is_below_list = self._last.startswith("    ") and _EXPECTATION.sub("", self._last.strip()) in (
            failing or binary.details
        )
        if counted and sum(counted) == binary.announced and is_below_list:
            binary.counted = counted
            self.close()
        elif (opened := _DETAIL.match(line)) and len(binary.details) < KEPT_PROBLEMS:
            self._detail = _EXPECTATION.sub("", opened["name"])
            binary.details.setdefault(self._detail, [])
        elif self._detail and len(binary.details[self._detail]) < _LONGEST_DETAIL:
            binary.details[self._detail].append(line)


def read_binaries(lines: str) -> list[TestBinary]:
    """Return every binary's run, in the order of the output."""
    reader = _LibtestReader()
    for line in lines.split("\n"):
        reader.read_line(line)
    reader.close()
    return reader.binaries


def _find_title(line: str) -> str:
    """Return what cargo says is run next: `demo src/lib.rs`, `tests/it.rs`, `demo (doc)`; '' for any other line."""
    if doctests := _DOCTESTS.match(line):
        return f"{doctests['crate']} (doc)"
    running = _RUNNING.match(line)
    if running is None:
        return ""
    stem, path = _HASH.sub("", re.split(r"[/\\]", running["binary"])[-1]), running["path"] or ""
    file = re.split(r"[/\\]", path)[-1].removesuffix(".rs")
    return path if file == stem else f"{stem} {path}".strip()


def _find_result(text: str) -> TestResult | None:
    """Return the result behind a test's name; None for anything else, which the test printed."""
    if text == "ok" or text.startswith(("ok <", "bench: ")):
        return "passed"
    if text.startswith("FAILED"):
        return "failed"
    return "skipped" if text == "ignored" or text.startswith("ignored, ") else None


def _find_sum(line: str) -> Sum | None:
    """Return the sum of one binary. A measured bench ran."""
    match = _SUM.match(line)
    if match is None:
        return None
    passed, failed, ignored, measured = map(parse_number, match.group("passed", "failed", "ignored", "measured"))
    return passed + measured, failed, ignored


def explain_failure(output: str) -> tuple[str, str, int]:
    """Return message, file and line: of a panic, an `Err`, an expected panic that did not come, or the last words."""
    output = output[-_SPAN:]
    message, file, line = "", "", 0
    if panics := list(_PANIC.finditer(output)):
        panic = panics[-1]
        # Before Rust 1.73 message and place stood in one sentence.
        message = _join_values(panic["said"] if panic["old"] is None else panic["old"]) or "panicked"
        if not _LIBRARY.match(panic["old_file"] or panic["file"]):
            file, line = panic["old_file"] or panic["file"], parse_number(panic["old_line"] or panic["line"])
    if expected := _EXPECTED.search(output):
        said = _join_values(expected["said"], expected["more"])
        return said, expected["file"] or file, parse_number(expected["line"]) or line
    if message:
        return message, file, line
    if error := _ERROR.search(output):
        return error["said"], "", 0
    compiled = _COMPILED.search(output)
    last = [text.strip() for text in output.split("\n") if text.strip() and not text.strip().startswith("note: ")]
    return compiled[0] if compiled else last[-1] if last else "failed", "", 0


def _join_values(*parts: str) -> str:
    """Return `assertion failed`, `  left: 1`, ` right: 2` on one line."""
    lines = [line.strip() for part in parts for line in part.split("\n") if line.strip()]
    head, *values = [line.rstrip(",") for line in lines] or [""]
    return f"{head}: {', '.join(values)}" if values and not head.endswith(":") else " ".join([head, *values])
