"""RSpec: its JSON report, or the text that ends with `9 examples, 4 failures, 2 pending`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers import _json
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other word, pending, is also of an example that is known to fail."""
_TOTAL = re.compile(
    r"^(?P<examples>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<pending>\d+) pending)?"
    r"(?:, (?P<errors>\d+) errors? occurred outside of examples)?$",
    re.M,
)
_RERUN = re.compile(r"^rspec (?P<place>\S+?\.rb)(?::(?P<line>\d+)|\[\S+\])? # (?P<test>[^\n]+)$", re.M)
_FRAME = re.compile(r"^(?P<file>[^\s:][^:\n]*\.rb):(?P<line>\d+):in ")
_ERROR = re.compile(r"^(?P<what>[A-Z][\w:]{0,200}):\n[ \t]*(?P<why>[^\n]+)", re.M)
_FOREIGN = ("/", "<", "vendor/", "../")
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures. What went wrong outside of examples (a file that cannot be loaded) counts as errors."""
    found = _json.document(report) if report is not None else None
    if isinstance(found, dict) and isinstance(found.get("examples"), list) and isinstance(found.get("summary"), dict):
        return _from_json(found)
    lines = text(output)
    return printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not RSpec's."""
    totals = list(_TOTAL.finditer(lines))[-1:]
    if not totals:
        return None
    said = {word: number(digits) for word, digits in totals[0].groupdict().items()}
    passed = max(0, said["examples"] - said["failed"] - said["pending"])
    return tests(TestCounts(0, passed, said["failed"], said["pending"], said["errors"]), _reruns(lines))


def _reruns(lines: str) -> Iterator[Problem]:
    """The list of failed examples at the end."""
    for match in islice(_RERUN.finditer(lines), _READ):
        file = match["place"].removeprefix("./")
        yield problem("failed", file, number(match["line"]), test=f"{file}::{match['test']}")


def _from_json(found: _json.Row) -> ParsedOutput:
    examples, numbers, seen = _json.rows(found["examples"]), Counter[TestResult](), Seen()
    for each in examples:
        result = _RESULTS.get(_json.string(each.get("status")), "skipped")
        numbers[result] += 1
        seen.add(_name(each), result)
    summary = found["summary"]
    outside = _json.integer(summary.get("errors_outside_of_examples_count")) if isinstance(summary, dict) else 0
    counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], outside)
    return replace(tests(counts, _problems(found, examples, outside)), tests=seen.results())


def _problems(found: _json.Row, examples: list[_json.Row], outside: int) -> Iterator[Problem]:
    for message in _json.strings(found.get("messages"))[:_READ] if outside else ():
        if "error occurred" in message:
            yield _outside(message)
    for each in examples:
        if each.get("status") == "failed":
            yield _problem(each)


def _outside(message: str) -> Problem:
    """`An error occurred while loading ./spec/a_spec.rb.`, what failed, the error, and where it came from."""
    frames = re.findall(r"^# (?:\./)?([^\s:][^:\n]*\.rb):(\d+):in ", message[:20_000], re.M)
    file, line = next(((f, n) for f, n in frames if not f.startswith(_FOREIGN)), ("", ""))
    said = _ERROR.search(message[:20_000])
    first = next((each for each in message.split("\n") if each.strip()), "")
    return problem(f"{said['what']}: {said['why']}" if said else first, file, number(line), test=_loaded(first))


def _loaded(first: str) -> str:
    return (
        first.rpartition("while loading ")[2].strip().removesuffix(".").removeprefix("./") if "loading" in first else ""
    )


def _problem(example: _json.Row) -> Problem:
    exception = example.get("exception")
    thrown = exception if isinstance(exception, dict) else {}
    file, line = _place(_json.strings(thrown.get("backtrace")))
    if not file:
        file, line = (
            _json.string(example.get("file_path")).removeprefix("./"),
            _json.integer(example.get("line_number")),
        )
    return problem(_said(thrown), file, line, test=_name(example))


def _place(frames: list[str]) -> tuple[str, int]:
    """The innermost frame of the project; paths in it are relative by now, those of gems are not."""
    for frame in frames[:1000]:
        match = _FRAME.match(frame.removeprefix("./")[:1000])
        if match and not match["file"].startswith(_FOREIGN):
            return match["file"], number(match["line"])
    return "", 0


def _said(thrown: _json.Row) -> str:
    message = " ".join(_json.string(thrown.get("message"))[:1000].replace("(compared using ==)", "").split())
    name = _json.string(thrown.get("class"))
    return message if name.startswith("RSpec::") else f"{name}: {message}" if name else message or "failed"


def _name(example: _json.Row) -> str:
    file = _json.string(example.get("file_path")).removeprefix("./")
    return f"{file}::{_json.string(example.get('full_description')) or _json.string(example.get('id'))}"
