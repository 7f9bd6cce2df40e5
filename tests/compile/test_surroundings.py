"""What a project has, as the rules that propose need it: looked up on disk, nothing run."""

from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.compile.own_programs import knows_help
from aigon.compile.proposals import Surroundings
from aigon.compile.surroundings import surroundings
from aigon.model.checks import Check
from tests.projects import environment, files, package, program

PYTEST = Check("tests", "tests", ("python", "-m", "pytest", "-q"), parser="pytest")


def seen(root: Path, *checks: Check, texts: tuple[str, ...] = ()) -> Surroundings:
    program(root / "bin/python3")
    project = ProjectOnDisk(root, {"PATH": f"{root}/bin"})
    return surroundings(project, checks, f"{root}/bin", texts)


def test_a_python_project_with_its_sources_in_src(tmp_path: Path) -> None:
    files(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "calc"\n[project.scripts]\ncalculate = "calc.cli:main"\n',
            "src/calc/__init__.py": "from calc.ops import add\n",
            "src/calc/ops.py": "def add(a): ...\nasync def later(): ...\nclass Sum: ...\n    def method(self): ...\n",
            "src/calc/cli.py": "import click\n",
            "tests/test_ops.py": "import calc\n",
            "tests/helpers.py": "def helper(): ...\n",
        },
    )
    environment(tmp_path / ".venv", "pytest", "coverage")
    found = seen(tmp_path, PYTEST, texts=("`python3 x.py` works", "`nonsense --help` shows `--x`"))
    assert found.python == "python3" and found.programs == {"python3"}
    assert found.modules == dict.fromkeys(("calc", "calc.ops", "calc.cli"), "PYTHONPATH=src ")
    assert found.functions == {"add": ("calc.ops",), "later": ("calc.ops",), "Sum": ("calc.ops",)}
    assert found.runners == {"tests/test_ops.py": "python3 -m pytest tests/test_ops.py"}
    assert found.entries == {"calculate": "PYTHONPATH=src python3 -m calc.cli"}
    assert (
        found.coverage.startswith("PYTHONPATH=src python3 -m coverage run --data-file=")
        and "=calc -m" in found.coverage
    )
    assert found.coverage.endswith("--format=total")


def test_runners_of_other_kinds_and_tests_that_nothing_is_known_to_run(tmp_path: Path) -> None:
    package(tmp_path, name="web", bin="./cli.js", devDependencies={"vitest": "1", "@vitest/coverage-v8": "1"})
    files(
        tmp_path,
        {
            "src/a.test.ts": "import { test } from 'vitest'",
            "test/b.test.js": "import test from 'node:test'",
            "node_modules/x/c.test.js": "",
            "pkg/d_test.go": "package pkg",
            "tests/test_e.py": "import unittest\n",
            "tests/test_f.py": "def test_f(): ...\n",
        },
    )
    environment(tmp_path / ".venv")
    found = seen(tmp_path)
    assert found.runners == {
        "src/a.test.ts": "npx --no-install vitest run src/a.test.ts",
        "test/b.test.js": "node --test test/b.test.js",
        "pkg/d_test.go": "go test ./pkg",
        "tests/test_e.py": "python3 -m unittest tests/test_e.py",
    }
    assert found.entries == {"web": "node cli.js"} and "vitest run --coverage.enabled" in found.coverage


def test_a_program_is_only_asked_for_help_that_knows_the_option(tmp_path: Path) -> None:
    files(
        tmp_path,
        {
            "deploy.sh": "rsync everything\n",
            "tool.sh": 'case "$1" in --help) echo use;; esac\n',
            "wipe.py": "import shutil\n",
            "app/__main__.py": "from app.cli import main\n",
            "app/cli.py": "import argparse\n",
            "bare/__main__.py": "print('working')\n",
        },
    )
    found = seen(tmp_path)
    project = ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin"})

    def knows(*words: str) -> bool:
        return knows_help(project, found, words)

    assert knows("./tool.sh") and knows("python3", "-m", "app") and knows("git") and knows("./not-there-yet.sh")
    assert not knows("./deploy.sh") and not knows("python3", "wipe.py") and not knows("python3", "-m", "bare")
    assert not knows("make", "deploy") and not knows("/opt/thing") and not knows("../out.sh")


def test_files_that_cannot_be_read_as_what_they_are_called_are_no_obstacle(tmp_path: Path) -> None:
    files(tmp_path, {"package.json": "[1", "pyproject.toml": "= no", "a.py": "def f(", "test_a.py": "\x00"})
    found = seen(tmp_path, PYTEST)
    assert list(found.modules) == ["a"] and found.entries == {} and found.functions == {"f": ("a",)}
