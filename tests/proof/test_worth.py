"""What new tests are worth: they have to notice when what the change does is altered."""

import pytest

from aigon.job.results import Result
from aigon.model.checks import Finding, TestResult
from aigon.proof import frozen
from aigon.proof.kept_tests import TestFiles
from aigon.proof.worth import python
from aigon.proof.worth.new_tests import Worth, find_new_tests, make_concerns

BASE = """
def old(a):
    return a
"""
CODE = '''
"""A module."""
from __future__ import annotations

LIMIT = 5


class Basket:
    def __init__(self, items):
        self.items = list(items)

    def total(self):
        return sum(self.items)


def old(a):
    return a


def parse(text):
    if not text:
        raise ValueError(text)
    return [float(word) for word in text.split()]


def largest(text):
    return max(parse(text))


def pairs(text):
    for number in parse(text):
        yield number, str(number)


def put(into, what):
    into.append(what)
'''


def altered(*, inside: bool = False, named: set[str] | None = None) -> dict[str, object]:
    """The names of the altered module."""
    text = python.alter(CODE.lstrip(), BASE, named, inside=inside)
    assert text is not None
    names: dict[str, object] = {"__name__": "altered"}
    exec(compile(text, "altered.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("notices", "inside"),
    [
        ("assert parse('1 2') == [1.0, 2.0]", False),
        ("assert parse('1 2')", None),
        ("parse('1 2')", None),
        ("assert largest('1 3 2') == 3", False),
        ("assert list(pairs('1')) == [(1.0, '1.0')]", False),
        ("assert Basket([1, 2]).total() == 3", False),
        ("assert Basket([1]).items == [1]", True),
        ("assert LIMIT == 5", True),
        ("there = []; put(there, 3); assert there == [3]", True),
        ("there = []; put(there, 3); assert there", None),
        ("assert old(3) == 3", None),
    ],
)
def test_only_an_assertion_notices_what_is_altered(notices: str, inside: bool | None) -> None:
    def passes(where: bool) -> bool:
        names = altered(inside=where)
        test = {name: value for name, value in names.items() if name != "aigon_alter"}  # a module of its own
        try:
            exec(notices, test)
        except AssertionError:
            return False
        return True

    assert passes(False) == (inside is not False)
    assert passes(True) == (inside is None)


def test_code_works_as_before_where_only_tests_see_other_values() -> None:
    test = {name: value for name, value in altered().items() if name != "aigon_alter"}
    exec("assert largest('7') == 24 and parse('') is None", test)  # parse gave it the number as it is
    assert python.alter(CODE, CODE) is None and python.alter("def f(:", "") is None
    assert python.alter("X = 1\n", "") is None, "nothing that a caller gets"


def test_of_a_change_without_code_what_tests_name_is_altered() -> None:
    assert "aigon_alter(a)" in (python.alter(CODE, CODE, {"old"}) or "")
    assert "return aigon_alter(sum(self.items))" in (python.alter(CODE, CODE, {"Basket"}) or "")


def result(**tests: TestResult) -> Result:
    return Result(Finding("tests", "tests", "Tests", "pass", ""), tests=tests, reported=True)


def test_new_are_the_tests_that_pass_and_that_the_base_does_not_have() -> None:
    now = {"tests": result(old="passed", new="passed", red="failed", left="skipped")}
    none = TestFiles({}, {})
    assert find_new_tests(now, {"tests": frozen.Tested({"old": "passed"}, True)}, (), none) == {"new": "tests"}
    now = {"tests": Result(now["tests"].finding, tests={"tests.test_a::test_x": "passed", "b::y": "passed"})}
    assert find_new_tests(now, {}, ["tests/test_a.py"], none) == {"tests.test_a::test_x": "tests"}


def test_a_test_that_moved_is_not_new() -> None:
    text = "def test_a():\n    assert old(3) == 3\n"
    files = TestFiles({"tests/test_x.py": text}, {"tests/test_y.py": text + text.replace("3", "4").replace("_a", "_b")})
    now = {
        "tests": Result(result().finding, tests={"tests.test_y::test_a": "passed", "tests.test_y::test_b": "passed"})
    }
    base = {"tests": frozen.Tested({"tests.test_x::test_a": "passed"}, True)}
    assert find_new_tests(now, base, (), files) == {"tests.test_y::test_b": "tests"}


def test_only_what_does_not_pass_without_them_has_to_be_looked_at() -> None:
    worth = Worth(("a", "b", "c"), ("b",))
    (note,) = make_concerns(worth, {})
    assert note.level == "note" and note.what.startswith("1 of 3 new tests count for nothing") and "b" in note.what
    (review,) = make_concerns(worth, {"criterion-1": "criterion 1: it is 47, wanted >= 100"})
    assert review.level == "review" and review.what.startswith("criterion 1: it is 47, wanted >= 100, without b")
    assert not list(make_concerns(Worth(("a",)), {}))
    (said,) = make_concerns(Worth(("a",), (), "it took too long"), {})
    assert said.level == "note" and "not weighed (it took too long)" in said.what
