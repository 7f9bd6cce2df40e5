"""What new tests are worth: they have to notice when what the change does is altered."""

import shutil
import subprocess
import sys
from contextlib import nullcontext
from typing import Any

import pytest
from msgspec.structs import replace

from aigon.job.results import Result
from aigon.model.checks import Finding, TestResult
from aigon.proof import frozen
from aigon.proof.analysis.altered_code import Drawn, Way, alter
from aigon.proof.analysis.plants import plant
from aigon.proof.base_tests import TestFiles
from aigon.proof.hidden import silence
from aigon.proof.new_tests import Worth, find_new_tests, make_concerns

DRAWN = Drawn()
BASE = """
def old(a):
    return a


async def halve(number):
    return number / 2


class Joined:
    __slots__ = ("mark",)

    def __call__(self, *words):
        return self.mark.join(words)
"""
CODE = '''
"""A module."""
from __future__ import annotations

from functools import partial

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


def adder(start):
    return partial(sum, start=start)


async def halve(number):
    return number / 2


def halver():
    return halve


class Joined:
    __slots__ = ("mark",)

    def __call__(self, *words):
        return self.mark.join(words)


def joiner(mark):
    joined = Joined()
    joined.mark = mark
    return joined


def joined(*words):
    return joiner(" ")(*words)
'''

SHARED = """
class Meter:
    pass


def share(meter, other):
    figures, marks = {}, []
    meter.figures = figures
    other.figures = figures
    other.marks = marks
    figures["calls"] = 0
    meter.figures["calls"] += 1
    marks.append("first")
"""


def altered(*, inside: bool = False, drawn: Drawn = DRAWN) -> dict[str, object]:
    """The names of the altered module."""
    text = alter("a.py", CODE.lstrip(), BASE, None, drawn, inside=inside)
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
        test = {name: value for name, value in names.items() if name != DRAWN.name}  # a module of its own
        try:
            exec(notices, test)
        except AssertionError:
            return False
        return True

    assert passes(False) == (inside is not False)
    assert passes(True) == (inside is None)


@pytest.mark.parametrize(
    "notices",
    [
        "assert seen.figures['calls'] == meter.figures['calls']",
        "assert meter.figures['calls'] == 1",
        "assert meter.figures.get('calls') == 1",
        "assert meter.figures == {'calls': 1}",
        "assert dict(meter.figures) == {'calls': 1}",
        "assert list(meter.figures.values()) == [1]",
        "assert seen.marks[0] == 'first'",
        "assert seen.marks == ['first']",
        "assert [*seen.marks] == ['first']",
    ],
)
def test_what_tests_read_of_a_container_that_code_stores_and_fills_is_altered(notices: str) -> None:
    text = alter("a.py", SHARED, "", None, DRAWN, inside=True)
    assert text is not None
    names: dict[str, object] = {"__name__": "altered"}
    exec(compile(text, "altered.py", "exec"), names)
    meter, seen = names["Meter"](), names["Meter"]()  # type: ignore[operator]
    names["share"](meter, seen)  # type: ignore[operator]
    with pytest.raises(AssertionError):
        exec(notices, {"meter": meter, "seen": seen})


@pytest.mark.parametrize(
    ("notices", "passes"),
    [
        ("assert adder(3)([4]) == 7", False),
        ("assert callable(adder(3)) and adder(3)([4])", True),
        ("import asyncio; assert asyncio.run(halver()(8)) == 4", False),
        ("assert joiner('-')('a', 'b') == 'a-b'", False),
        ("assert isinstance(joiner('-'), Joined) and joiner('-')('a')", True),
        ("assert joined('a', 'b') == 'a b' + WORD", True),  # it was altered once, for the test alone
    ],
)
def test_what_a_function_gives_that_is_given_itself_is_altered(notices: str, passes: bool) -> None:
    test = {name: value for name, value in altered().items() if name != DRAWN.name}
    with nullcontext() if passes else pytest.raises(AssertionError):
        exec(notices, {**test, "WORD": DRAWN.word})


@pytest.mark.parametrize(
    ("way", "notices", "passes"),
    [
        ("none", "assert parse('1 2')", False),
        ("none", "assert largest('1 3 2') is not None", False),
        ("none", "assert largest('1 3 2')", False),
        ("none", "parse('1 2')", True),
        ("empty", "assert len(parse('1 2')) > 1", False),
        ("empty", "assert largest('1 3 2')", False),
        ("empty", "assert largest('0') == 0", False),
        ("empty", "assert largest('1 3 2') is not None", True),
    ],
)
def test_who_asks_whether_there_is_a_value_notices_that_there_is_none(way: Way, notices: str, passes: bool) -> None:
    names = altered(drawn=replace(DRAWN, way=way))
    test = {name: value for name, value in names.items() if name != DRAWN.name}
    with nullcontext() if passes else pytest.raises(AssertionError):
        exec(notices, test)


def test_what_no_longer_raises_returns_once_and_goes_on_once() -> None:
    source = "def f(n):\n    if n < 0:\n        raise ValueError('negative')\n    return iter([1][n])\n"
    ways: dict[Way, type[Exception] | None] = {"empty": None, "other": IndexError, "none": None, "true": ValueError}
    for way, raised in ways.items():
        names: dict[str, Any] = {}
        exec(alter("a.py", source, "", None, replace(DRAWN, way=way)) or "", names)
        with pytest.raises(raised) if raised else nullcontext():
            assert names["f"](-2) is None
    looping = alter("a.py", f"{source}    while True:\n        raise KeyError\n", "", None, DRAWN) or ""
    assert looping.count("(1, True): return") == 1, "a loop that nothing leaves would go on for ever"


def test_the_seed_alone_says_what_is_altered() -> None:
    again = Drawn(DRAWN.seed)
    assert (again.name, again.word, again.number) == (DRAWN.name, DRAWN.word, DRAWN.number)
    assert Drawn().name != DRAWN.name and 11 <= Drawn().number <= 91


def test_an_iterator_still_ends_where_it_is_altered() -> None:
    source = "class Ones:\n    def __next__(self):\n        raise StopIteration\n"
    assert alter("a.py", source, "", None, DRAWN) is None
    assert "if " in (alter("a.py", source.replace("StopIteration", "KeyError"), "", None, DRAWN) or "")


def test_code_works_as_before_where_only_tests_see_other_values() -> None:
    test = {name: value for name, value in altered().items() if name != DRAWN.name}
    test |= {"NUMBER": DRAWN.number, "WORD": DRAWN.word}
    exec("assert largest('7') == 7 + NUMBER and parse('') == [WORD]", test)  # parse gave it the number as it is
    assert alter("a.py", CODE, CODE, None, DRAWN) is None and alter("a.py", "def f(:", "", None, DRAWN) is None
    assert alter("a.py", "X = 1\n", "", None, DRAWN) is None, "nothing that a caller gets"


def test_of_a_change_without_code_what_tests_name_is_altered() -> None:
    assert f"{DRAWN.name}(a)" in (alter("a.py", CODE, CODE, {"old"}, DRAWN) or "")
    assert f"return {DRAWN.name}(sum(self.items))" in (alter("a.py", CODE, CODE, {"Basket"}, DRAWN) or "")


JAVASCRIPT = "function f(a) {\n  if (!a) throw new Error('x');\n  return a * 2;\n}\nconst g = (a) => [a];\n"
RUST = "pub fn f(a: i64) -> i64 {\n    a * 2 + 1\n}\n#[cfg(test)]\nmod tests {\n    fn t() { f(2) }\n}\n"
GO = "package a\n\nfunc F() int {\n\treturn 2 * 1\n}\n"


def test_code_of_other_languages_is_altered_by_its_grammar() -> None:
    n = DRAWN.name
    said = alter("a.js", JAVASCRIPT, "", None, DRAWN) or ""
    assert f"{{ if ({n}(true)) throw new Error('x'); if (!{n}(1)) return; }}" in said and f"return {n}(a * 2);" in said
    assert f"(a) => {n}([a])" in said and said.count(f"function {n}(value)") == 1
    assert alter("a.js", JAVASCRIPT, JAVASCRIPT, None, DRAWN) is None
    assert f"{n}(a * 2)" not in (alter("a.js", JAVASCRIPT, JAVASCRIPT, {"g"}, DRAWN) or "")
    assert f"function {n}(value: any): any" in (alter("a.ts", JAVASCRIPT, "", None, DRAWN) or "")
    one, two = 1 + DRAWN.number, 2 + DRAWN.number
    said = alter("a.rs", RUST, "", None, DRAWN) or ""
    assert f"a + {two} + {one}" in said and "f(2)" in said, "a test is left as it is"
    assert f"a + {two} - {one}" in (alter("a.rs", RUST, "", None, DRAWN, inside=True) or "")
    assert alter("a.rs", RUST, "", None, replace(DRAWN, way="true")) is None
    assert f"return {two} + {one}" in (alter("a.go", GO, "", None, DRAWN) or "")


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_what_a_given_function_of_javascript_gives_is_altered() -> None:
    source = "const adder = (a) => sum.bind(null, a);\n"
    text = alter("a.js", source, "", None, DRAWN)
    script = f"const sum = (a, b) => a + b;\n{text}\nconsole.log(adder(3)(4), adder.name, adder(3).length);"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{7 + DRAWN.number} adder 1\n"


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
    assert said.level == "note" and said.what == "1 of 1 new tests were not weighed: it took too long"


@pytest.mark.parametrize("inside", [False, True])
def test_a_copy_that_alters_nothing_does_as_the_code(inside: bool) -> None:
    copied = altered(inside=inside, drawn=replace(DRAWN, way="true"))
    test = {name: value for name, value in copied.items() if name != DRAWN.name}
    exec("assert (largest('1 2'), LIMIT, Basket([1]).items) == (2, 5, [1])", test)
    with pytest.raises(ValueError):
        exec("parse('')", test)
    other = alter("a.py", CODE, BASE, None, DRAWN, inside=inside)
    assert other and "aigon" not in other, "no test can know what it looks like"


TYPESCRIPT = "// @ts-nocheck\n/** @type {x} */\nlet a; /* eslint-disable */\n"
SILENCED = {
    "a.py": ("x = 1  # noqa: E501\n", "x = 1  # zzzz: zzzz\n"),
    "run.py": ("#!/usr/bin/env python\nx = '# noqa'\n", None),
    "a.ts": (
        TYPESCRIPT,
        "// @ts-nocheck\n/** @type {x} */\nlet a; /* zzzzzz-zzzzzzz */\n".replace("@ts-nocheck", "zzz-zzzzzzz"),
    ),
    "a.rs": ("#[allow(dead_code)]\nfn f() {} // x\n/// doc\n", "#[warn (dead_code)]\nfn f() {} // z\n/// doc\n"),
    "main.go": ("//go:embed a\nvar x = f() //nolint\n", "//go:embed a\nvar x = f() //zzzzzz\n"),
    "run.sh": ("#!/bin/sh\n# shellcheck disable=SC1\n", "#!/bin/sh\n# zzzzzzzzzz zzzzzzz=zzz\n"),
}


@pytest.mark.parametrize("path", SILENCED)
def test_a_comment_that_is_new_says_nothing_and_stays_as_long(path: str) -> None:
    text, silent = SILENCED[path]
    assert silence(path, text, "") == silent
    assert silence(path, text, text) is None, "what the base says, people said"


HIDING = """if not TYPE_CHECKING:
    def f(a: int) -> int:
        "Return."
        return a
    def g(a): return a
if sys.platform == 'win32':
    def h(a: int) -> int: ...
class A:
    @property
    def i(self):
        def j(): ...
"""


def test_a_wrong_type_is_planted_where_a_checker_would_see_it() -> None:
    made = plant(HIDING, "")
    lines = made.text.split("\n")
    assert {lines[number - 1].strip(): name for number, name in made.functions.items()} == {
        'aigon_planted: int = ""': "f",
        'def aigon_planted_1() -> int: return ""': "g",
        'def aigon_planted_2(self) -> int: return ""': "i",
    }
    assert [made.find_line(n) for n in (1, *made.functions, len(lines))] == [1, 0, 0, 0, len(HIDING.split("\n"))]
    assert not plant(HIDING, HIDING).functions and not plant("def f(:", "").functions


@pytest.mark.parametrize(
    ("condition", "planted"),
    [
        (f"sys.platform == {sys.platform!r}", ["f"]),
        (f"sys.platform != {sys.platform!r}", ["g"]),
        (f"sys.platform.startswith({sys.platform[:3]!r})", ["f"]),
        ("sys.platform == 'none'", ["g"]),
        ("sys.platform in PLATFORMS", []),
        ("sys.version_info >= (3, 99)", []),
        ("CACHED", ["f", "g"]),
    ],
)
def test_a_branch_that_runs_on_this_platform_has_to_be_seen(condition: str, planted: list[str]) -> None:
    made = plant(f"if {condition}:\n    def f() -> int: ...\nelse:\n    def g() -> int: ...\n", "")
    assert [*made.functions.values()] == planted
