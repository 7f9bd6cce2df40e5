"""Whatever a tool writes, a parser describes it: no exception, no hang, bounded in what it keeps."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aigon.core.model import Problem, Reading
from aigon.parsers import known
from tests.parsers.captured import FOLDER, read

CAPTURES = sorted(FOLDER.iterdir())
LARGE = 20 * 1024 * 1024
FLOODS = (
    ("junit", b"<testcase><failure>" + b"x" * 500),
    ("pytest", b"FAILED a::b[c - d\n"),
    ("ruff", b"a.py:1:1: F401 unused\n"),
    ("eslint", b"  1:1  error  " + b" " * 3900 + b"x y\n"),
    ("jest", b'{"testResults": [\n'),
    ("node", b"a\n"),
    ("build", b"error: \xff\x00\n"),
    ("text", b"x" * 3999 + b"\n"),
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A capture with a part cut out and something else put in."""
    data = draw(st.sampled_from(CAPTURES)).read_bytes()
    begin = draw(st.integers(0, len(data)))
    end = draw(st.integers(begin, len(data)))
    return data[:begin] + draw(st.binary(max_size=20)) + data[end:]


def sound(found: Reading) -> None:
    assert len(found.problems) <= 200
    assert len(found.summary) <= 200
    for problem in found.problems:
        sound_problem(problem)
    assert len(found.tests) <= 200_000
    for test, result in found.tests.items():
        assert 0 < len(test) <= 520 and test.isprintable() and test.encode() is not None
        assert result in ("passed", "failed", "error", "skipped")
    if found.counts is not None:
        c = found.counts
        assert c.total == c.passed + c.failed + c.skipped + c.errors


def sound_problem(problem: Problem) -> None:
    for words in (problem.message, problem.file, problem.rule, problem.test):
        assert len(words) <= 500
        assert words.encode() is not None
        assert not any(ord(c) < 32 for c in words)
    assert 0 <= problem.line < 10**9


@pytest.mark.parametrize("name", known())
@settings(max_examples=40, deadline=None)
@given(output=st.binary(max_size=300), report=st.none() | st.binary(max_size=300))
def test_any_bytes_can_be_read(name: str, output: bytes, report: bytes | None) -> None:
    sound(read(name, output, report))


@pytest.mark.parametrize("name", known())
@settings(max_examples=40, deadline=None)
@given(output=mutated(), report=st.none() | mutated())
def test_any_damaged_output_can_be_read(name: str, output: bytes, report: bytes | None) -> None:
    sound(read(name, output, report))


@pytest.mark.parametrize("name", known())
def test_every_capture_can_be_read_by_every_parser(name: str) -> None:
    for capture in CAPTURES:
        sound(read(name, capture.read_bytes(), None))
        sound(read(name, b"", capture.read_bytes()))


@pytest.mark.parametrize(("name", "piece"), FLOODS, ids=[name for name, _ in FLOODS])
def test_twenty_megabytes_are_read_in_seconds(name: str, piece: bytes) -> None:
    data = piece * (LARGE // len(piece))
    began = time.process_time()
    sound(read(name, b"", data) if name == "junit" else read(name, data))
    assert time.process_time() - began < 20


def test_the_summary_after_twenty_megabytes_of_output_is_found() -> None:
    found = read("pytest", b"noise\n" * (LARGE // 6) + b"=== 1 failed, 2 passed in 3.00s ===\n")
    assert found.summary == "2/3 passed"


@pytest.mark.parametrize("name", ["ruff", "eslint", "jest", "vitest", "mypy"])
@pytest.mark.parametrize(
    "report",
    [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b'[{"filename": 3, "location": [], "message": {}}]'],
    ids=["lists", "dicts", "digits", "types"],
)
def test_odd_json_is_no_accident(name: str, report: bytes) -> None:
    sound(read(name, b"", report))
    sound(read(name, report, None))


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_deep_xml_is_no_accident(depth: int) -> None:
    sound(read("junit", b"", b"<testsuite>" * depth + b"</testsuite>" * depth))


def test_half_a_character_in_json_can_still_be_written() -> None:
    message = b'"\\ud800 \\u001b[31mred\\u0007\\u202e"'
    row = b'[{"filename": "a.py", "code": "X1", "message": ' + message + b', "location": {"row": 2}}]'
    assert read("ruff", row).problems == (Problem("? red", "a.py", 2, "X1"),)
