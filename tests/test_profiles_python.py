"""The shipped profiles on Python projects."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.core.profile import resolve
from aigon.ports.project import ProjectOnDisk
from tests.projects import check, environment, files, names, program, resolved, shipped

BUILD_SYSTEM = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
UNITTEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, {})\n"


def test_a_pytest_library_has_tests_lint_types_and_build(tmp_path: Path) -> None:
    tools = "[tool.ruff]\n[tool.mypy]\nstrict = true\n[tool.pytest.ini_options]\n"
    files(tmp_path, {"pyproject.toml": BUILD_SYSTEM + tools, "src/lib/__init__.py": ""})
    environment(tmp_path / ".venv", "pytest", "mypy", "build")
    ruff, python = program(tmp_path / ".venv/bin/ruff"), str(tmp_path / ".venv/bin/python")
    resolution = resolved(tmp_path)
    assert (resolution.profile, resolution.absent) == ("library", ())
    assert names(resolution) == ["tests", "build", "lint", "types"]
    assert [c.argv for c in resolution.checks] == [
        (python, "-m", "pytest", "-q", "--junitxml={report}"),
        (python, "-m", "build", "--outdir", "{scratch}"),
        (ruff, "check", "--no-fix", "--no-fix-only", "--output-format", "json", "."),
        (python, "-m", "mypy", "--no-color-output", "--no-pretty", "--hide-error-context", "src"),
    ]
    assert [c.parser for c in resolution.checks] == ["pytest", "build", "ruff", "mypy"]
    assert [c.timeout for c in resolution.checks] == [600.0, 600.0, 120.0, 300.0]
    assert not any(c.missing for c in resolution.checks)


def test_what_a_python_project_configures_but_has_not_installed_is_missing(tmp_path: Path) -> None:
    files(tmp_path, {"pyproject.toml": BUILD_SYSTEM, "ruff.toml": "", "mypy.ini": "[mypy]\n", "pytest.ini": ""})
    environment(tmp_path / ".venv")
    resolution = resolved(tmp_path)
    assert {c.name: c.missing for c in resolution.checks} == {
        "tests": "pytest",
        "build": "build",
        "lint": "ruff",
        "types": "mypy",
    }
    python = tmp_path / ".venv/bin/python"
    assert all(f"{python} -m pip install {c.missing}" in c.hint for c in resolution.checks)


def test_without_any_python_the_interpreter_is_what_is_missing(tmp_path: Path) -> None:
    files(tmp_path, {"pytest.ini": "[pytest]\n", "test_a.py": ""})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.missing, tests.argv[0]) == ("python3", "python3")


def test_a_project_that_only_uses_unittest_runs_with_unittest(tmp_path: Path) -> None:
    files(tmp_path, {"tests/test_a.py": UNITTEST})
    environment(tmp_path / ".venv")
    tests = check(resolved(tmp_path), "tests")
    assert (tests.parser, tests.missing, tests.argv[-2:]) == ("text", "", ("-s", "tests"))
    files(tmp_path, {"tests/__init__.py": ""})
    assert check(resolved(tmp_path), "tests").argv[-2:] == ("-s", ".")


@pytest.mark.parametrize("sign", ["pytest.ini", "tests/conftest.py"])
def test_unittest_does_not_stand_in_for_a_pytest_that_is_not_installed(tmp_path: Path, sign: str) -> None:
    files(tmp_path, {"tests/test_a.py": UNITTEST, sign: ""})
    environment(tmp_path / ".venv")
    assert check(resolved(tmp_path), "tests").missing == "pytest"


def test_pytest_runs_unittest_tests_where_it_is_installed(tmp_path: Path) -> None:
    files(tmp_path, {"tests/test_a.py": UNITTEST})
    environment(tmp_path / ".venv", "pytest")
    assert check(resolved(tmp_path), "tests").parser == "pytest"


@pytest.mark.parametrize(
    ("contents", "code"),
    [
        ({"tests/test_a.py": UNITTEST.format(1)}, 0),
        ({"test_a.py": UNITTEST.format(1)}, 0),
        ({"tests/test_a.py": UNITTEST.format(2)}, 1),
        ({"tests/test_a.py": "import unittest\n"}, 5),
    ],
)
def test_unittest_really_runs_and_a_run_without_tests_is_no_success(
    tmp_path: Path, contents: dict[str, str], code: int
) -> None:
    files(tmp_path, contents)
    environment(tmp_path / ".venv")
    tests = check(resolved(tmp_path), "tests")
    ran = subprocess.run((sys.executable, *tests.argv[1:]), cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == code, ran.stderr


def test_pytest_really_runs_and_reports(tmp_path: Path) -> None:
    files(tmp_path, {"test_a.py": "def test_it() -> None:\n    pass\n"})
    project = ProjectOnDisk(tmp_path, {"VIRTUAL_ENV": sys.prefix, "PATH": os.defpath})
    tests = check(resolve(shipped()["generic"], project), "tests")
    report = tmp_path / "report.xml"
    argv = [each.replace("{report}", str(report)) for each in tests.argv]
    env = {"PATH": os.defpath, **tests.env}
    assert subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False).returncode == 0
    assert b'tests="1"' in report.read_bytes()
    assert not (tmp_path / "__pycache__").exists()


def test_mypy_gets_no_target_where_its_configuration_has_one(tmp_path: Path) -> None:
    files(tmp_path, {"setup.cfg": "[mypy]\nfiles = a.py\n", "a.py": ""})
    environment(tmp_path / ".venv", "mypy")
    assert check(resolved(tmp_path), "types").argv[-1] == "--hide-error-context"
    files(tmp_path, {"setup.cfg": "[mypy]\nstrict = true\n"})
    assert check(resolved(tmp_path), "types").argv[-1] == "."


def test_a_mypy_from_outside_is_told_where_the_libraries_are(tmp_path: Path) -> None:
    files(tmp_path, {"mypy.ini": "[mypy]\n", "a.py": ""})
    environment(tmp_path / ".venv")
    mypy = program(tmp_path / "bin/mypy")
    python = str(tmp_path / ".venv/bin/python")
    assert check(resolved(tmp_path), "types").argv[:3] == (mypy, "--python-executable", python)
