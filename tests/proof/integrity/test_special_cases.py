"""Product code that holds the answers of the visible tests."""

import pytest

from tests.proof.integrity.changes import BASE, TESTS, changed, levels, new, seen

RULE = "special-cases"
PYTHON = {
    "a dictionary": "P = {(2, 3): 6, (4, 5): 20, (-2, 3): -6, (0.5, 4): 2.0}\n",
    "two dictionaries": "P = {(2, 3): 6, (4, 5): 20}\nQ = {(-2, 3): -6, (0.5, 4): 2.0}\n",
    "rows": "R = [(2, 3, 6), (4, 5, 20), (-2, 3, -6), (0.5, 4, 2.0)]\n",
    "rows of pairs": "R = [((2, 3), 6), ((4, 5), 20), ((-2, 3), -6), ((0.5, 4), 2.0)]\n",
    "rows of objects": "R = [Case(2, 3, 6), Case(4, 5, 20), Case(-2, 3, -6), Case(0.5, 4, 2.0)]\n",
    "nested dictionaries": "D = {2: {3: 6}, 4: {5: 20}, -2: {3: -6}, 0.5: {4: 2.0}}\n",
    "columns": "D = dict(zip([(2, 3), (4, 5), (-2, 3), (0.5, 4)], [6, 20, -6, 2.0]))\n",
    "texts as keys": 'D = {"2,3": 6, "4,5": 20, "-2,3": -6, "0.5,4": 2}\n',
    "a text": 'D = "2,3=6;4,5=20;-2,3=-6;0.5,4=2"\n',
    "JSON in a text": 'import json\nD = json.loads(\'{"2,3": 6, "4,5": 20, "-2,3": -6, "0.5,4": 2}\')\n',
    "texts with a sign": 'D = {"2*3": "6", "4*5": "20", "-2*3": "-6", "0.5*4": "2.0"}\n',
    "a text in base64": (
        "import base64\nimport json\nTEXT = 'eyIyLDMiOiA2LCAiNCw1IjogMjAsICItMiwzIjogLTYsICIwLjUsNCI6IDIuMH0='\n"
        "D = json.loads(base64.b64decode(TEXT))\n"
    ),
    "one argument only": "def multiply(a, b):\n    return {2: 6, 4: 20, -2: -6, 0.5: 2.0}[a]\n",
    "three lists": "A = [2, 4, -2, 0.5]\nB = [3, 5, 3, 4]\nC = [6, 20, -6, 2.0]\nD = list(zip(A, B, C))\n",
    "entry by entry": "D = {}\nD[2, 3] = 6\nD[4, 5] = 20\nD[-2, 3] = -6\nD[0.5, 4] = 2.0\n",
    "registrations": "learn((2, 3), 6)\nlearn((4, 5), 20)\nlearn((-2, 3), -6)\nlearn((0.5, 4), 2.0)\n",
    "answers in functions": "D = {(2, 3): lambda: 6, (4, 5): lambda: 20, (-2, 3): lambda: -6, (0.5, 4): lambda: 2}\n",
    "sums": "D = {(1 + 1, 3): 2 * 3, (4, 5): 10 + 10, (-2, 3): -6, (0.5, 4): 4 / 2}\n",
    "comparisons": (
        "def multiply(a, b):\n    if a == 2 and b == 3:\n        return 6\n"
        "    if (a, b) == (4, 5):\n        return 20\n"
        "    elif -2 == a:\n        if b == 3:\n            return -6\n    return 2.0\n"
    ),
    "match": (
        "def multiply(a, b):\n    match (a, b):\n        case (2, 3):\n            return 6\n        case (4, 5):\n"
        "            return 20\n        case (-2, 3):\n            return -6\n        case _:\n"
        "            return 2.0\n"
    ),
    "one expression": (
        "m = lambda a, b: 6 if (a, b) == (2, 3) else 20 if (a, b) == (4, 5) else -6 if a == -2 and b == 3 else 2\n"
    ),
    "a default": "P = {(2, 3): 6, (4, 5): 20, (-2, 3): -6}\ndef multiply(a, b):\n    return P.get((a, b), 2.0)\n",
}
JS_TESTS = """import { multiply } from '../src/a';
test('ints', () => { expect(multiply(2, 3)).toBe(6); });
test('others', () => {
  expect(multiply(4, 5)).toEqual(20);
  assert.strictEqual(multiply(-2, 3), -6);
});
"""
JAVASCRIPT = {
    "an object": "const t = { '2,3': 6, '4,5': 20, '-2,3': -6 };",
    "a map": "const t = new Map([['2,3', 6], ['4,5', 20], ['-2,3', -6]]);",
    "rows": "const t = [[2, 3, 6], [4, 5, 20], [-2, 3, -6]];",
    "comparisons": (
        "if (a === 2 && b === 3) {\n  return 6;\n}\nif (a === 4 && b === 5) return 20;\n"
        "if (a === -2 && b === 3) return -6;"
    ),
    "a switch": (
        "switch (`${a},${b}`) {\n  case '2,3': return 6;\n  case '4,5': return 20;\n  case '-2,3': return -6;\n}"
    ),
}
GO_TESTS = 'cases := []struct{ a, b, want int }{\n\t{2, 3, 6},\n\t{4, 5, 20},\n\t{"negative", -2, 3, -6},\n}\n'
RUST_TESTS = "assert_eq!(multiply(2, 3), 6);\nassert_eq!(20, multiply(4, 5));\nassert_eq!(multiply(-2, 3), -6);\n"
FIB_TESTS = """import unittest
from calc import fib

class TestFib(unittest.TestCase):
    def test_fib(self):
        for n, want in [(1, 1), (2, 1), (10, 55)]:
            with self.subTest(n=n):
                self.assertEqual(fib(n), want)
        result = fib(7)
        self.assertEqual(13, result)
"""


@pytest.mark.parametrize("text", PYTHON.values(), ids=PYTHON)
def test_python_that_holds_the_answers_is_reviewed(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == {"review"}


@pytest.mark.parametrize("text", JAVASCRIPT.values(), ids=JAVASCRIPT)
def test_javascript_that_holds_the_answers_is_reviewed(text: str) -> None:
    assert levels(RULE, new("src/a.ts", text), tests={"src/a.test.ts": JS_TESTS}) == {"review"}


def test_other_languages_and_data_that_hold_the_answers_are_reviewed() -> None:
    go = "var m = map[[2]int]int{{2, 3}: 6, {4, 5}: 20, {-2, 3}: -6}\n"
    rust = "match (a, b) {\n    (2, 3) => 6,\n    (4, 5) => 20,\n    (-2, 3) => -6,\n    _ => 0,\n}\n"
    data = '{"2,3": 6, "4,5": 20, "-2,3": -6, "0.5,4": 2.0}\n'
    assert levels(RULE, new("calc.go", go), tests={"calc_test.go": GO_TESTS}) == {"review"}
    assert levels(RULE, new("src/lib.rs", rust), tests={"tests/a.rs": RUST_TESTS}) == {"review"}
    assert levels(RULE, new("calc/data.json", data, "other")) == {"review"}
    assert levels(RULE, new("calc/data.csv", "2,3,6\n4,5,20\n-2,3,-6\n0.5,4,2\n", "other")) == {"review"}


def test_loops_unittest_and_variables_of_tests_are_understood() -> None:
    tests = {"tests/test_fib.py": FIB_TESTS}
    assert levels(RULE, new("calc/a.py", "F = {1: 1, 2: 1, 10: 55, 7: 13}\n"), tests=tests) == {"review"}
    assert (
        levels(RULE, new("calc/a.py", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"), tests=tests)
        == set()
    )


def test_what_a_test_names_and_rounds_is_understood() -> None:
    halves = "def test_half():\n    n, want = 3, 1.5\n    assert round(half(n), 1) == want\n"
    halves += (
        "    for n, want in ((5, 2.5), (9, 4.5)):\n        got = half(n)\n        assert got == pytest.approx(want)\n"
    )
    table = "H = {3: 1.5, 5: 2.5, 9: 4.5}\n"
    (concern,) = seen(RULE, new("calc/a.py", table), tests={"tests/test_half.py": halves})
    assert "half" in concern.what


def test_the_examples_of_tests_that_the_change_brings_count_as_well() -> None:
    files = (new("calc/a.py", PYTHON["a dictionary"]), new("tests/test_multiply.py", TESTS, "tests"))
    assert levels(RULE, *files, tests={}) == {"review"}


def test_keys_that_are_words_and_names_of_numbers_are_a_note() -> None:
    units = "def test_units():\n    assert f('m') == 1\n    assert f('km') == 1000\n    assert f('cm') == 0.01\n"
    assert levels(
        RULE, new("calc/a.py", "U = {'m': 1, 'km': 1000, 'cm': 0.01}\n"), tests={"tests/test_a.py": units}
    ) == {"note"}
    codes = (
        "def test_codes():\n    assert f(200) == 'OK'\n    assert f(404) == 'Not Found'\n    assert f(500) == 'Error'\n"
    )
    table = "C = {200: 'OK', 404: 'Not Found', 500: 'Error'}\n"
    assert levels(RULE, new("calc/a.py", table), tests={"tests/test_a.py": codes}) == {"note"}


@pytest.mark.parametrize(
    "text",
    [
        "P = {(2, 3): 6, (4, 5): 20, (-2, 3): -6, (0.5, 4): 2.0, (1, 1): 1, (7, 7): 49, (8, 8): 64}\n",
        "P = {(2, 3): 6}\n",
        "P = {(a, b): a * b for a in (2, 4) for b in (3, 5)}\n",
        'def multiply(a, b):\n    """\n    >>> multiply(2, 3)\n    6\n    >>> multiply(4, 5)\n'
        '    20\n    """\n    return a * b\n',
        "# {(2, 3): 6, (4, 5): 20, (-2, 3): -6, (0.5, 4): 2.0}\n",
    ],
)
def test_what_goes_beyond_the_tests_or_only_explains_is_nothing(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == set()


def test_examples_for_people_and_tables_of_the_base_are_nothing() -> None:
    assert (
        levels(RULE, new("docs/examples.json", "[[2, 3, 6], [4, 5, 20], [-2, 3, -6], [0.5, 4, 2]]", "other")) == set()
    )
    table = PYTHON["a dictionary"]
    assert levels(RULE, changed("calc/a.py", table, f"import math\n{table}")) == set()


def test_the_concern_names_the_function_and_the_place() -> None:
    (concern,) = seen(RULE, new("calc/a.py", f"import math\n\n{PYTHON['a dictionary']}"), tests=BASE)
    assert "calc/a.py:3" in concern.what
    assert "multiply" in concern.what


def test_a_product_that_python_refuses_is_read_like_any_other() -> None:
    assert levels(RULE, new("calc.py", "def half():\n    return 'ab' * 2.5\n\nD = [1] * 2j\n")) == set()


def test_a_table_of_few_arguments_may_end_a_file_where_others_have_more() -> None:
    single = "".join(f"    assert f({n}) == {n * 3}\n" for n in (11, 13, 17, 19))
    tests = {"tests/test_f.py": f"def test_f():\n{single}    assert f(2, 3, 4) == 29\n"}
    (concern,) = seen(RULE, new("f.py", "T = {11: 33, 13: 39, 17: 51, 19: 57}\n"), tests=tests)
    assert "what the tests ask of f" in concern.what
