"""The tests of any bytes notice what they are there for: a parser that breaks, is slow, or makes things up."""

import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aigon.checks import parsers
from aigon.files import resources
from tests.checks.parsers import costs, liked
from tests.checks.parsers.cases import Case, made
from tests.checks.parsers.fuzz import complaint_of

SOURCE = """
import re
from aigon.model.checks import ParsedOutput, TestCounts

_TAIL = re.compile(r"PATTERN")


def read(output, report):
    if report == b"break":
        return 1 // 0
    if report == b"invent":
        return ParsedOutput("3/3 passed", TestCounts(3, 3))
    if report == b"wrong":
        return ParsedOutput("3/4 passed", TestCounts(4, 3))
    _TAIL.search((report or output).decode("utf-8", "replace"))
    return ParsedOutput(understood=False)
"""


@pytest.fixture
def bad(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Adds a parser with every fault there is, whose pattern is the given one; its name, another one in each test."""
    name = f"bad{uuid.uuid4().hex}"

    def added(pattern: str) -> str:
        (tmp_path / f"{name}.py").write_text(SOURCE.replace("PATTERN", pattern))
        resources._list_modules.cache_clear()
        return name

    parsers.__path__.append(str(tmp_path))
    resources._list_modules.cache_clear()
    yield added
    parsers.__path__.remove(str(tmp_path))
    resources._list_modules.cache_clear()
    sys.modules.pop(f"aigon.checks.parsers.{name}", None)


def test_an_exception_is_a_complaint_with_its_place(bad: Callable[[str], str]) -> None:
    assert complaint_of(Case(bad("x"), b"", b"break", "")).startswith("ZeroDivisionError at bad")


def test_counts_out_of_garbage_are_a_complaint(bad: Callable[[str], str]) -> None:
    assert complaint_of(Case(bad("x"), b"", b"invent", "", garbage=True)).endswith("errors=0)")
    assert complaint_of(Case(bad("x"), b"", b"wrong", "")).startswith("AssertionError at soundness.py")


def test_a_pattern_that_is_slow_on_long_runs_is_a_complaint(bad: Callable[[str], str]) -> None:
    """It begins anew at each of many spaces."""
    name = bad("(?: |x)+$")
    flood = costs.floods(name)["all its patterns like"]
    # A disturbed measurement of the smaller text hides it, and of three in a row the kindest counts.
    assert any("times as long" in costs.growth(name, flood, False, 32_000).complaint for _ in range(5))


def test_a_pattern_that_tries_many_ways_in_every_line_is_a_complaint(bad: Callable[[str], str]) -> None:
    """Its time is linear in the input, at a price that nobody can pay."""
    name = bad("(?: {1,9}){1,3}!")
    assert "on ' '" in costs.slowest(name, liked.runs(name), 8_000)


def test_the_same_number_makes_the_same_input() -> None:
    assert made("pytest", 3, 7) == made("pytest", 3, 7)
    assert made("pytest", 3, 7) != made("pytest", 4, 7)
