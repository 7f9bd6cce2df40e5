"""RSpec: its JSON report. A matcher reads its text."""

import re

from aigon.checks.parsers.matchers import load_tests
from aigon.checks.parsers.output import READ_MATCHES, Row, load_json, parse_number
from aigon.checks.parsers.readings import ResultTally, make_problem
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, object_at, objects_at, text_at, texts_at

_RESULTS: dict[str, TestResult] = {"passed": "passed", "failed": "failed"}
"""The other word, pending, is also of an example that is known to fail."""
_FRAME = compile_re(r"^(?:# )?(?:\./)?(?P<file>[^\s:][^:\n]*\.rb):(?P<line>\d+):in ", re.M)
_ERROR = compile_re(r"^(?P<what>[A-Z][\w:]{0,200}):\n[ \t]*(?P<why>[^\n]+)", re.M)
_FOREIGN = ("/", "<", "vendor/", "../")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures. Errors outside of examples (a file that cannot be loaded) count as errors."""
    document = object_at(load_json(report))
    if isinstance(document.get("examples"), list) and isinstance(document.get("summary"), dict):
        return _read_document(document)
    return load_tests("rspec").read(output, None)


def _read_document(document: Row) -> ParsedOutput:
    examples = objects_at(document, "examples")
    tally = ResultTally((_name_example(each), _RESULTS.get(text_at(each, "status"), "skipped")) for each in examples)
    errors = count_at(document, "summary", "errors_outside_of_examples_count")
    messages = texts_at(document, "messages")[:READ_MATCHES] if errors else []
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
    exception = object_at(example, "exception")
    place = (text_at(example, "file_path").removeprefix("./"), count_at(example, "line_number"))
    # The innermost frame of the project; paths in it are relative by now, those of gems are not.
    for frame in texts_at(exception, "backtrace")[:1000]:
        match = _FRAME.match(frame[:1000])
        if match and not match["file"].startswith(_FOREIGN):
            place = (match["file"], parse_number(match["line"]))
            break
    message = " ".join(text_at(exception, "message")[:1000].replace("(compared using ==)", "").split())
    name = text_at(exception, "class")
    if not name.startswith("RSpec::"):
        message = f"{name}: {message}" if name else message or "failed"
    return make_problem(message, *place, test=_name_example(example))


def _name_example(example: Row) -> str:
    file = text_at(example, "file_path").removeprefix("./")
    return f"{file}::{text_at(example, 'full_description') or text_at(example, 'id')}"
