"""RSpec: its JSON report, or its text; Minitest and test-unit, alone, under rake or Rails: their text."""

import re
from collections.abc import Iterator

from aigon.checks.parsers.documents import Row, as_line, as_row, as_rows, as_string, as_strings, load_json
from aigon.checks.parsers.output import READ_MATCHES, find_matches, find_sections, parse_number, read_text, sum_groups
from aigon.checks.parsers.readings import ResultTally, describe_unknown, make_problem, summarize_tests
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other word, pending, is also of an example that is known to fail."""
_EXAMPLES = compile_re(
    r"^(?P<examples>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<pending>\d+) pending)?"
    r"(?:, (?P<errors>\d+) errors? occurred outside of examples)?$",
    re.M,
)
_RERUN = compile_re(r"^rspec (?P<place>\S+?\.rb)(?::(?P<line>\d+)|\[\S+\])? # (?P<test>[^\n]+)$", re.M)
_FRAME = compile_re(r"^(?:# )?(?:\./)?(?P<file>[^\s:][^:\n]*\.rb):(?P<line>\d+):in ", re.M)
_ERROR = compile_re(r"^(?P<what>[A-Z][\w:]{0,200}):\n[ \t]*(?P<why>[^\n]+)", re.M)
_FOREIGN = ("/", "<", "vendor/", "../")

_FINISHED = compile_re(r"^Finished in \d", re.M)
_RUNS = compile_re(
    r"^(?P<runs>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors, "
    r"(?:(?P<skips>\d+) skips|(?P<pendings>\d+) pendings, (?P<omissions>\d+) omissions, \d+ notifications)$",
    re.M,
)
_BROKEN = compile_re(
    r"^ +\d+\) (?:Failure|Error):\n(?P<test>[^\s\[]{1,300})(?: \[(?P<file>[^\]:\n]+):(?P<line>\d+)\])?:?\n"
    r"(?P<said>(?:[^\n]+\n){0,40})",
    re.M,
)
_OWN_FRAME = compile_re(r"^[ \t]+(?P<file>[^\s:/<][^:\n]*\.rb):(?P<line>\d+):in ", re.M)
_ANY_FRAME = compile_re(r"[ \t]+\S[^:\n]*:\d+:in ")


def read_rspec(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Errors outside of examples (a file that cannot be loaded) count as errors."""
    document = as_row(load_json(report))
    if isinstance(document.get("examples"), list) and isinstance(document.get("summary"), dict):
        return _read_document(document)
    lines = read_text(output)
    if not (totals := list(_EXAMPLES.finditer(lines))[-1:]):
        return describe_unknown(lines)
    numbers = sum_groups(totals)
    passed = max(0, numbers["examples"] - numbers["failed"] - numbers["pending"])
    counts = TestCounts(0, passed, numbers["failed"], numbers["pending"], numbers["errors"])
    # The list of failed examples at the end.
    places = ((match, match["place"].removeprefix("./")) for match in find_matches(_RERUN, lines))
    failed = (make_problem("failed", file, match["line"], test=f"{file}::{match['test']}") for match, file in places)
    return summarize_tests(counts, failed)


def _read_document(document: Row) -> ParsedOutput:
    examples = as_rows(document["examples"])
    tally = ResultTally(
        (_name_example(each), _RESULTS.get(as_string(each.get("status")), "skipped")) for each in examples
    )
    errors = as_line(as_row(document["summary"]).get("errors_outside_of_examples_count"))
    messages = as_strings(document.get("messages"))[:READ_MATCHES] if errors else []
    outside = (_describe_error(message) for message in messages if "error occurred" in message)
    failed = (_describe_example(each) for each in examples if each.get("status") == "failed")
    return tally.read((*outside, *failed), errors)


def _describe_error(message: str) -> Problem:
    """`An error occurred while loading ./spec/a_spec.rb.`, what failed, the error, and where it came from."""
    frames = _FRAME.finditer(message[:20_000])
    own = next((match for match in frames if match[0][0] == "#" and not match["file"].startswith(_FOREIGN)), None)
    place = (own["file"], parse_number(own["line"])) if own else ("", 0)
    error = _ERROR.search(message[:20_000])
    first = next((each for each in message.split("\n") if each.strip()), "")
    loaded = first.rpartition("while loading ")[2].strip().removesuffix(".") if "loading" in first else ""
    text = f"{error['what']}: {error['why']}" if error else first
    return make_problem(text, *place, test=loaded.removeprefix("./"))


def _describe_example(example: Row) -> Problem:
    exception = as_row(example.get("exception"))
    place = (as_string(example.get("file_path")).removeprefix("./"), as_line(example.get("line_number")))
    # The innermost frame of the project; paths in it are relative by now, those of gems are not.
    for frame in as_strings(exception.get("backtrace"))[:1000]:
        match = _FRAME.match(frame[:1000])
        if match and not match["file"].startswith(_FOREIGN):
            place = (match["file"], parse_number(match["line"]))
            break
    message = " ".join(as_string(exception.get("message"))[:1000].replace("(compared using ==)", "").split())
    name = as_string(exception.get("class"))
    if not name.startswith("RSpec::"):
        message = f"{name}: {message}" if name else message or "failed"
    return make_problem(message, *place, test=_name_example(example))


def _name_example(example: Row) -> str:
    file = as_string(example.get("file_path")).removeprefix("./")
    return f"{file}::{as_string(example.get('full_description')) or as_string(example.get('id'))}"


def read_minitest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures; of several runs (rake may start some) all of them.

    A total counts only behind `Finished in`: a test can print others.
    """
    lines = read_text(output or report or b"")
    totals = [total for _, body in find_sections(_FINISHED, lines) if (total := _RUNS.search(body))]
    if not totals:
        return describe_unknown(lines)
    numbers = sum_groups(totals)
    skipped = numbers["skips"] + numbers["pendings"] + numbers["omissions"]
    passed = max(0, numbers["runs"] - numbers["failed"] - numbers["errors"] - skipped)
    counts = TestCounts(0, passed, numbers["failed"], skipped, numbers["errors"])
    return summarize_tests(counts, _find_broken(lines))


def _find_broken(lines: str) -> Iterator[Problem]:
    for match in find_matches(_BROKEN, lines):
        spot = match if match["file"] else _OWN_FRAME.search(match["said"])
        place = (spot["file"], parse_number(spot["line"])) if spot else ("", 0)
        said = (line.strip() for line in match["said"].split("\n") if not _ANY_FRAME.match(line))
        yield make_problem(" ".join(filter(None, said))[:300], *place, test=match["test"].removesuffix(":"))
