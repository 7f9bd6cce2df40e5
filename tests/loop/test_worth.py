"""New tests count only if they notice what the change does; what is hidden from checkers is seen all the same."""

import json

import pytest

from aigon.proof.analysis.altered_code import Drawn
from tests.lab import Lab

LOOP = ("feature-implement", "42", "--loop", "--max-iterations", "1")
CALC = "def add(a, b):\n    return a + b\n\n\ndef sign(a):\n    return 1 if a > 0 else -1\n"
TESTS = "import calc\n\n\ndef test_adds():\n    assert calc.add(2, 3) == 5\n"
PROJECT = '[project]\nname = "calc"\nversion = "1"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'
PROJECT += 'pythonpath = ["."]\n'
COUNTED = "Five tests <!-- metric: cat tests/test_*.py | grep -c 'def test_' >= 5 -->"
BUILDS = "printf '\\n\\ndef double(a):\\n    return 2 * a\\n' >> calc.py\n"
ASSERTING = "".join(f"\n\ndef test_{n}():\n    assert calc.double({n}) == {2 * n}\n" for n in range(4))
CALLING = "".join(f"\n\ndef test_{n}():\n    calc.double({n})\n    assert calc.add({n}, 1)\n" for n in range(4))


def weighed_in(lab: Lab, agent: str, new: str, *criteria: str, **files: str) -> str:
    """Run a feature whose agent writes `new` tests; what was printed."""
    for name, text in {"calc.py": CALC, "tests/test_calc.py": TESTS, "pyproject.toml": PROJECT, **files}.items():
        lab.write(name, text)
    lab.write(".gitignore", "__pycache__/\n.pytest_cache/\n.mypy_cache/\n")
    lab.spec(*criteria)
    lab.agent(f"{agent}\ncat > tests/test_more.py <<'PY'\nimport calc\n{new}PY\n" if new else agent)
    lab.commit("a project")
    ran = lab.aigon(*LOOP, timeout=300)
    return f"exit {ran.code}\n{ran.out}{ran.err}"


@pytest.mark.slow
def test_a_count_is_not_reached_by_tests_that_assert_nothing_of_the_change(lab: Lab) -> None:
    said = weighed_in(lab, BUILDS, CALLING, COUNTED)
    assert said.startswith("exit 4"), said
    assert "new-tests" in said and "criterion 1: it is 1, wanted >= 5" in said, said
    record = json.loads(next(lab.root.glob(".aigon/runs/*/*/proof/worth.json")).read_text())
    assert set(record["worthless"]) <= set(record["tests"]) and Drawn(record["seed"]).word


@pytest.mark.slow
def test_tests_that_assert_what_the_change_does_are_counted(lab: Lab) -> None:
    assert weighed_in(lab, BUILDS, ASSERTING, COUNTED).startswith("exit 0")
    assert "4 new tests" in lab.state()["checks"][-1]["summary"]


@pytest.mark.slow
@pytest.mark.parametrize(("asserts", "code"), [("calc.sign({n})", 4), ("assert calc.sign({n}) == 1", 0)])
def test_tests_of_code_that_was_there_have_to_notice_what_it_does(lab: Lab, asserts: str, code: int) -> None:
    new = "".join(f"\n\ndef test_{n}():\n    {asserts.format(n=n)}\n" for n in range(1, 5))
    assert weighed_in(lab, "", new, COUNTED).startswith(f"exit {code}")


@pytest.mark.slow
@pytest.mark.parametrize(("asserts", "code"), [("assert calc.double(2) == 4", 0), ("assert True", 4)])
def test_the_first_tests_of_a_project_have_to_notice_the_change(lab: Lab, asserts: str, code: int) -> None:
    none = {"tests/test_calc.py": "# none yet\n"}
    said = weighed_in(lab, BUILDS, f"\n\ndef test_doubles():\n    {asserts}\n", "All tests pass", **none)
    assert said.startswith(f"exit {code}"), said
    assert ("new-tests" in said, "base-tests" in said) == (code == 4, False), said
