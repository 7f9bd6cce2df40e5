"""An implementation broken in one place at a time, on the lines that it added."""

import pytest

from aigon.prove.witness import MOST, list_mutants

BASE = "def add(a, b):\n    return a + b\n"
ADDED = '''

def grade(points):
    """Say what points are worth."""
    if points >= 10:
        return "good"
    return points * 2 or None
'''


def test_only_added_lines_are_altered_each_in_one_place() -> None:
    mutants = list_mutants({"calc.py": (BASE, BASE + ADDED)})
    assert {mutant.name.partition(" ")[2] for mutant in mutants} == {
        "if (not (points >= 10)):",
        "if points > 10:",
        "if points >= 11:",
        'return "good_zq"',
        "return None",
        "return points + 2 or None",
        "return points * 3 or None",
        "return points * 2 and None",
    }
    assert all(mutant.data.decode().startswith(BASE) for mutant in mutants)


@pytest.mark.parametrize(
    ("path", "text", "altered"),
    [
        ("a.js", "function f(a) {\n  return a < 3;\n}\n", "return a <= 3;"),
        ("a.go", "package a\n\nfunc f(a int) bool {\n\treturn a == 3\n}\n", "return a != 3"),
        ("a.rs", "fn f(a: i32) -> bool {\n    a > 3 && true\n}\n", "a >= 3 && true"),
    ],
)
def test_other_languages_are_altered_as_well(path: str, text: str, altered: str) -> None:
    assert altered in [mutant.name.partition(" ")[2] for mutant in list_mutants({path: ("", text)})]


def test_many_places_are_sampled_evenly_and_others_left() -> None:
    text = "".join(f"x{number} = {number} + 1\n" for number in range(200))
    mutants = list_mutants({"a.py": ("", text), "b.sh": ("", "echo 1"), "c.py": ("", "def (")})
    assert len(mutants) == MOST
    assert mutants[0].name.startswith("a.py:1:")
    assert mutants[-1].name.startswith("a.py:19")
