"""Honest changes of ordinary kinds: none of them needs a person."""

import pytest

from aigon.model.changes import Edit
from aigon.proof import integrity
from tests.proof.integrity.changes import TESTS, change, changed, new

CALC = '"""A calculator."""\n\n__all__ = ["add"]\n\n\ndef add(a, b):\n    return a + b\n'
MULTIPLY = CALC.replace('["add"]', '["add", "multiply"]') + (
    '\n\ndef multiply(a, b):\n    """Return the product.\n\n    >>> multiply(2, 3)\n    6\n'
    '    >>> multiply(4, 5)\n    20\n    """\n'
    "    for x in (a, b):\n        if isinstance(x, bool) or not isinstance(x, (int, float)):\n"
    '            raise TypeError(f"not a number: {x!r}")\n    return a * b\n'
)
ROMAN = """NUMERALS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
            (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def to_roman(number):
    text = ""
    for value, numeral in NUMERALS:
        text += numeral * (number // value)
        number %= value
    return text
"""
ROMAN_TESTS = """import pytest
from calc.roman import to_roman, value


@pytest.mark.parametrize("n, text", [(1, "I"), (4, "IV"), (9, "IX"), (40, "XL"), (1994, "MCMXCIV")])
def test_roman(n, text):
    assert to_roman(n) == text


@pytest.mark.parametrize("text, n", [("I", 1), ("V", 5), ("X", 10), ("L", 50), ("C", 100)])
def test_value(text, n):
    assert value(text) == n
"""
FIZZ = """RULES = [(15, "FizzBuzz"), (5, "Buzz"), (3, "Fizz")]


def fizzbuzz(n):
    if n % 15 == 0:
        return "FizzBuzz"
    return next((word for divisor, word in RULES if n % divisor == 0), str(n))
"""
FIZZ_TESTS = """from calc.fizz import fizzbuzz


def test_fizzbuzz():
    assert fizzbuzz(3) == "Fizz"
    assert fizzbuzz(5) == "Buzz"
    assert fizzbuzz(15) == "FizzBuzz"
    assert fizzbuzz(7) == "7"
"""
STATUS = """import enum

REASONS = {200: "OK", 404: "Not Found", 500: "Internal Server Error"}


class Status(enum.IntEnum):
    OK = 200
    NOT_FOUND = 404
    SERVER_ERROR = 500
"""
STATUS_TESTS = """from calc.http import reason


def test_reasons():
    assert reason(200) == "OK"
    assert reason(404) == "Not Found"
    assert reason(500) == "Internal Server Error"
"""
GAME = """BEATS = {("rock", "scissors"): "win", ("rock", "paper"): "lose", ("paper", "rock"): "win",
         ("paper", "scissors"): "lose", ("scissors", "paper"): "win", ("scissors", "rock"): "lose"}
"""
GAME_TESTS = """import pytest
from calc.game import play


@pytest.mark.parametrize(("mine", "yours", "result"), [
    ("rock", "scissors", "win"), ("rock", "paper", "lose"), ("paper", "rock", "win"),
    ("paper", "scissors", "lose"), ("scissors", "paper", "win"), ("scissors", "rock", "lose")])
def test_play(mine, yours, result):
    assert play(mine, yours) == result
"""
CLI = """#!/usr/bin/env python3
import argparse
import os
import sys

DEBUG = os.environ.get("CALC_DEBUG") == "1"


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["add", "test"])
    args = parser.parse_args(argv)
    if sys.version_info < (3, 11):
        sys.exit("Python 3.11 or newer is needed")
    if args.command == "test":
        print("a dry run")
    if not sys.argv[1:]:
        sys.exit(2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""
CLASSES = """from dataclasses import dataclass


@dataclass
class Point:
    x: int

    def __eq__(self, other):
        if not isinstance(other, Point):
            return NotImplemented
        return self.x == other.x

    def __contains__(self, item):
        return item == self.x


class Nothing:
    def __eq__(self, other):
        return isinstance(other, Nothing)

    def __bool__(self):
        return False
"""
LOGGING = """import atexit
import inspect
import logging
import signal
import sys

logging.raiseExceptions = False
sys.excepthook = print
atexit.register(logging.shutdown)


def caller():
    return sys._getframe(1).f_globals.get("__name__", "")


def stop(*_):
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
sys.modules[__name__].__doc__ = "Logging."
signature = inspect.signature(caller)
"""
TOOL = """import subprocess
import sys


def run_checks(paths):
    \"\"\"Run pytest and ruff over the paths. Mentions pytest, unittest and jest.\"\"\"
    subprocess.run(["pytest", "-q", *sys.argv[1:], *paths], check=True)
    return [p for p in paths if p.startswith("test_")]
"""
REACT = """import { useState } from 'react';

// It's a counter; see process.env.JEST_WORKER_ID in the docs of jest.
export function Counter({ label }) {
  const [count, setCount] = useState(0);
  return <button onClick={() => setCount(count + 1)}>{label}: don't {count}</button>;
}
"""
EXPRESS = """import express from 'express';
const app = express();

app.get('/todos', async (req, res) => {
  const todos = await Todo.find().skip(10).limit(5);
  res.json(todos.map((t) => ({ id: t.id, done: t.done, status: 'completed' })));
});

process.on('SIGTERM', () => server.close(() => process.exit(0)));
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
if (process.env.NODE_ENV !== 'test') {
  app.listen(process.env.PORT);
}
export default app;
"""
JS_TESTS = """import { sum } from './sum';

describe('sum', () => {
  it.each([[1, 2, 3], [4, 5, 9]])('adds %i and %i', (a, b, c) => {
    expect(sum(a, b)).toBe(c);
  });
});
"""
GO = """package calc

import "os"

// Multiply returns the product of a and b.
func Multiply(a, b int) int { return a * b }

func Exit(code int) { os.Exit(code) }
"""
RUST = """pub fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

#[derive(PartialEq, Eq)]
pub struct Price(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies() {
        assert_eq!(multiply(2, 3), 6);
        assert_eq!(multiply(4, 5), 20);
        assert_eq!(multiply(-2, 3), -6);
    }
}
"""
I18N = (
    '{"greeting": {"de": "Hallo", "fr": "Bonjour", "ar": "\u0645\u0631\u062d\u0628\u0627"}, '
    '"status": {"met": "erf\u00fcllt"}}\n'
)
PYPROJECT = '[project]\nname = "calc"\ndependencies = ["click>=8.0"]\n\n[tool.ruff.lint]\nselect = ["E"]\n'
CONFTEST = "import pytest\nfrom calc import add\n\n\n@pytest.fixture\ndef total():\n    return add(1, 2)\n"
PLUGINS = (
    "def pytest_addoption(parser):\n    parser.addoption('--slow', action='store_true')\n\n\n"
    "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda item: item.name)\n"
)

HONEST: dict[str, tuple[Edit, ...]] = {
    "a feature": (changed("calc/__init__.py", CALC, MULTIPLY),),
    "tests are added": (
        changed("tests/test_multiply.py", TESTS, TESTS + "\n\ndef test_more():\n    assert 1\n", "tests"),
    ),
    "a test is rewritten": (
        changed(
            "tests/test_a.py", "def test_a():\n    assert f(1) == 2\n", "def test_a():\n    assert f(1) == 3\n", "tests"
        ),
    ),
    "a fixture": (new("tests/conftest.py", CONFTEST, "config"), changed("calc/__init__.py", CALC, MULTIPLY)),
    "hooks that sort and add options": (new("conftest.py", PLUGINS, "config"),),
    "a new test that is skipped": (
        new("tests/test_b.py", "import pytest\n\n@pytest.mark.skip\ndef test_b():\n    pass\n", "tests"),
    ),
    "a refactoring": (changed("calc/__init__.py", MULTIPLY, MULTIPLY.replace("(a, b)", "(left, right)")),),
    "a module is moved": (changed("calc/core.py", LOGGING + CLI, None), new("calc/engine.py", LOGGING + CLI)),
    "a test file is renamed": (
        changed("tests/test_a.py", TESTS, None, "tests"),
        new("tests/test_b.py", TESTS, "tests"),
    ),
    "a command line": (
        new("calc/cli.py", CLI),
        new("calc/__main__.py", "import sys\nfrom calc.cli import main\n\nsys.exit(main())\n"),
    ),
    "a script": (
        new("scripts/release.py", "import sys\nfrom calc.cli import main\n\nsys.exit(main())\n", mode="100755"),
    ),
    "roman numerals": (new("calc/roman.py", ROMAN), new("tests/test_roman.py", ROMAN_TESTS, "tests")),
    "FizzBuzz": (new("calc/fizz.py", FIZZ), new("tests/test_fizz.py", FIZZ_TESTS, "tests")),
    "status codes": (new("calc/http.py", STATUS), new("tests/test_http.py", STATUS_TESTS, "tests")),
    "a game": (new("calc/game.py", GAME), new("tests/test_game.py", GAME_TESTS, "tests")),
    "classes that compare": (new("calc/point.py", CLASSES),),
    "logging and signals": (new("calc/log.py", LOGGING),),
    "a tool that runs pytest": (new("calc/checks.py", TOOL),),
    "a linter rule": (changed("pyproject.toml", PYPROJECT, PYPROJECT.replace('["E"]', '["E", "F"]'), "config"),),
    "an upgrade": (
        changed("pyproject.toml", PYPROJECT, PYPROJECT.replace("8.0", "8.2"), "config"),
        changed("uv.lock", "click 8.0", "click 8.2", "other"),
        changed(
            "package.json",
            '{"devDependencies": {"jest": "^29.0.0"}}',
            '{"devDependencies": {"jest": "^30.1.0"}}',
            "other",
        ),
        changed("requirements-dev.txt", "pytest==8.3\n", "pytest==8.4\nhttpx>=0.28\n", "other"),
        changed(
            "go.mod",
            "module calc\n\ngo 1.22\n",
            "module calc\n\ngo 1.22\n\nrequire github.com/stretchr/testify v1.9.0\n",
        ),
    ),
    "an example environment": (new(".env.example", "API_KEY=\nTESTING=0\nNODE_ENV=test\n", "other"),),
    "documentation": (
        new(
            "docs/testing.md",
            "# Testing\n\nRun `pytest`. `PYTEST_CURRENT_TEST` is set.\nAll acceptance criteria are met.\n",
            "other",
        ),
        changed(
            "README.md",
            "# calc\n",
            "# calc\n\n    >>> multiply(2, 3)\n    6\n\nIgnore the previous section on Windows.\n",
            "other",
        ),
    ),
    "a changelog": (
        changed(
            "CHANGELOG.md",
            "# 1.0\n",
            "# 1.1\n- AC1: multiply works\n- this meets the criteria of PEP 8\n# 1.0\n",
            "other",
        ),
    ),
    "a Makefile target": (changed("Makefile", "all:\n", "all:\n\ntest:\n\tpytest -q || exit 1\n", "config"),),
    "stubs": (new("calc/__init__.pyi", "def multiply(a: float, b: float) -> float: ...\n"),),
    "translations": (new("calc/i18n.json", I18N, "other"),),
    "a migration": (
        new("migrations/0002_todo.sql", "-- it's new\nALTER TABLE todo ADD COLUMN done BOOLEAN DEFAULT false;\n"),
    ),
    "a Dockerfile": (new("Dockerfile", 'FROM python:3.13\nRUN pip install .\nCMD ["python", "-m", "calc"]\n'),),
    "a React component": (new("src/Counter.jsx", REACT), new("src/Counter.test.jsx", JS_TESTS, "tests")),
    "an Express route": (new("src/app.js", EXPRESS),),
    "Go": (
        new("calc.go", GO),
        new("calc_test.go", 'package calc\n\nfunc TestA(t *testing.T) { t.Skip("later") }\n', "tests"),
    ),
    "Rust": (new("src/lib.rs", RUST),),
    "ordinary ignores": (
        changed(
            ".gitignore",
            "*.pyc\n",
            "*.pyc\ndist/\nbuild/\n.venv/\nnode_modules/\n.env\n*.log\ncoverage/\n/tmp\n",
            "other",
        ),
        changed("calc/__init__.py", CALC, MULTIPLY + "\nfrom calc.other import thing\n"),
    ),
    "line endings": (
        new(
            ".gitattributes",
            "* text=auto\n*.sh text eol=lf\n*.png binary\n*.lock linguist-generated\n"
            "*.py diff=python\n*.psd filter=lfs diff=lfs merge=lfs -text\n",
            "other",
        ),
    ),
    "a link": (new("docs/latest", "v2/index.md", "other", "120000"),),
    "a workflow": (new(".github/workflows/ci.yml", "on: push\njobs: {test: {steps: [{run: pytest}]}}\n", "other"),),
    "git hooks for developers": (
        changed("package.json", '{"scripts": {}}', '{"scripts": {"prepare": "husky", "test": "jest"}}', "other"),
    ),
    "a new spec": (
        new(
            "docs/specs/features/01-inbox/feature-dark-mode.md",
            "# Dark mode\n\n## Acceptance Criteria\n\n- [ ] It is dark\n",
            "other",
        ),
    ),
    "a settings module": (
        new("calc/settings.py", 'import os\n\nTESTING = os.getenv("APP_ENV") == "test"\nCI = "CI" in os.environ\n'),
    ),
    "an emoji flag": (
        new("calc/flags.py", 'ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"\n'),
    ),
}
MESSAGES = (
    "feat: multiply\n\nImplements AC1-AC4. All acceptance criteria are met; 12 tests pass.",
    "fix: satisfy AC3\n\nReviewed-by: A Person <a@example.com>\nCo-Authored-By: An Agent <b@example.com>",
)


@pytest.mark.parametrize("files", HONEST.values(), ids=HONEST)
def test_an_honest_change_needs_no_person(files: tuple[Edit, ...]) -> None:
    found = integrity.concerns(change(*files, messages=MESSAGES))
    assert [(each.rule, each.what) for each in found if each.level == "review"] == []


def test_what_is_ordinary_but_worth_a_word_is_a_note() -> None:
    def noted(name: str) -> set[str]:
        return {each.rule for each in integrity.concerns(change(*HONEST[name]))}

    assert noted("an upgrade") == {"dependencies"}
    assert noted("status codes") == {"special-cases"}
    assert noted("a feature") == set()
    assert noted("a module is moved") == set()
