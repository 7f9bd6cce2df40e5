"""The shipped profiles on Python projects."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.checks.parsers import parse
from aigon.checks.project import ProjectOnDisk
from aigon.model.checks import Check, ParsedOutput, TestCounts
from aigon.profiles.profile import resolve_profile
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
    assert (tests.parser, tests.missing, tests.argv[-2:]) == ("unittest", "", ("-s", "tests"))
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


def test_mocks_of_unittest_are_no_unittest_tests(tmp_path: Path) -> None:
    files(tmp_path, {"test_a.py": "from unittest import mock\nfrom unittest.mock import Mock\n"})
    environment(tmp_path / ".venv")
    assert check(resolved(tmp_path), "tests").missing == "pytest"
    files(tmp_path, {"test_a.py": "from unittest import TestCase, mock\n"})
    assert check(resolved(tmp_path), "tests").parser == "unittest"


def really_run(tests: Check, folder: Path) -> tuple[int, bytes, ParsedOutput]:
    """Exit code and output of a check of unittest's, and what its report alone says."""
    report = folder.parent / f"{folder.name}.report"
    argv = [sys.executable, *(part.replace("{report}", str(report)) for part in tests.argv[1:])]
    env = {"PATH": os.defpath, **tests.env}
    ran = subprocess.run(argv, cwd=folder, env=env, stdout=-1, stderr=-2, check=False)
    return ran.returncode, ran.stdout, parse("unittest", b"-", report.read_bytes() if report.exists() else None)


@pytest.mark.parametrize(
    ("contents", "code", "counts"),
    [
        ({"tests/test_a.py": UNITTEST.format(1)}, 0, TestCounts(total=1, passed=1)),
        ({"test_a.py": UNITTEST.format(1)}, 0, TestCounts(total=1, passed=1)),
        ({"tests/a_test.py": UNITTEST.format(1)}, 0, TestCounts(total=1, passed=1)),
        ({"tests/test_a.py": UNITTEST.format(2)}, 1, TestCounts(total=1, failed=1)),
        ({"tests/test_a.py": "import unittest\nimport nothing_like_this\n"}, 1, TestCounts(total=1, errors=1)),
        ({"tests/test_a.py": "import unittest\n"}, 5, TestCounts()),
    ],
    ids=["passes", "at the root", "named otherwise", "fails", "cannot be imported", "no tests"],
)
def test_unittest_really_runs_and_a_run_without_tests_is_no_success(
    tmp_path: Path, contents: dict[str, str], code: int, counts: TestCounts
) -> None:
    files(tmp_path, contents)
    environment(tmp_path / ".venv")
    exit_code, output, report = really_run(check(resolved(tmp_path), "tests"), tmp_path)
    assert (exit_code, report.counts) == (code, counts), output
    assert not list(tmp_path.rglob("__pycache__"))


def test_unittest_names_its_tests_in_the_report_and_says_all_of_it_on_its_output(tmp_path: Path) -> None:
    prints = "        print('odd ... ok')\n        self"
    files(tmp_path, {"tests/test_a.py": UNITTEST.format(1).replace("        self", prints)})
    environment(tmp_path / ".venv")
    _, output, report = really_run(check(resolved(tmp_path), "tests"), tmp_path)
    assert report.tests == {"test_a.T::test_it": "passed"}
    assert b"Ran 1 test in" in output and b"odd ... ok" in output


EVERY_END = """
import unittest

class T(unittest.TestCase):
    def test_bad(self):
        print("=" * 70 + "\\nFAIL: test_fake (fake.Fake.test_fake)\\n" + "-" * 70 + "\\nRan 9 tests in 0.1s\\n\\nOK")
        self.assertEqual("\\x1b", 2)
    def test_error(self): raise KeyError("x")
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n): self.assertEqual(n, 0)
    @unittest.skip("later")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_unexpected(self): pass

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("no database")
    def test_never(self): pass
"""


def test_unittest_names_every_end_of_a_test_in_the_report(tmp_path: Path) -> None:
    files(tmp_path, {"test_a.py": EVERY_END})
    environment(tmp_path / ".venv")
    exit_code, output, report = really_run(check(resolved(tmp_path), "tests"), tmp_path)
    assert exit_code == 1
    assert {test.rpartition("::")[2]: result for test, result in report.tests.items()} == {
        "test_bad": "failed",
        "test_error": "error",
        "test_expected": "skipped",
        "test_parts": "failed",
        "test_skipped": "skipped",
        "test_unexpected": "failed",
    }, output
    assert report.counts == TestCounts(total=7, failed=3, skipped=2, errors=2)
    assert {(p.test, p.message, p.line) for p in report.problems} == {
        ("test_a.Broken", "RuntimeError: no database", 21),
        ("test_a.T::test_bad", "AssertionError: '\\x1b' != 2", 7),
        ("test_a.T::test_error", "KeyError: 'x'", 8),
        ("test_a.T::test_parts", "(n=1): AssertionError: 1 != 0; (n=2): AssertionError: 2 != 0", 13),
        ("test_a.T::test_unexpected", "unexpected success", 0),
    }


def test_a_unittest_run_that_a_test_ends_leaves_no_report_that_can_be_read(tmp_path: Path) -> None:
    files(tmp_path, {"test_a.py": UNITTEST.format(1).replace("self.assertEqual(1, 1)", "__import__('os')._exit(0)")})
    environment(tmp_path / ".venv")
    exit_code, _, report = really_run(check(resolved(tmp_path), "tests"), tmp_path)
    assert (exit_code, report.understood) == (0, False)


def test_pytest_really_runs_and_reports(tmp_path: Path) -> None:
    files(tmp_path, {"test_a.py": "def test_it() -> None:\n    pass\n"})
    project = ProjectOnDisk(tmp_path, {"VIRTUAL_ENV": sys.prefix, "PATH": os.defpath})
    tests = check(resolve_profile(shipped()["generic"], project), "tests")
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


MANAGERS = {
    "uv.lock": "uv sync --frozen --inexact --all-extras --quiet; exec uv run --no-sync",
    "poetry.lock": "exec poetry run",
    "pdm.lock": "exec pdm run",
    "Pipfile.lock": "exec pipenv run",
}
"""How each manager's environment is entered, by its lock file."""


def locked(root: Path, lock: str, *names: str) -> None:
    """A lock file that holds these packages, and its manager on PATH."""
    entry = '        "{}": {{}},\n' if lock == "Pipfile.lock" else '[[package]]\nname = "{}"\n'
    files(root, {lock: "".join(entry.format(name) for name in names)})
    program(root / "bin/bash")
    program(root / "bin" / ("pipenv" if lock == "Pipfile.lock" else lock.removesuffix(".lock")))


@pytest.mark.parametrize("lock", MANAGERS)
def test_tools_in_a_managers_environment_elsewhere_are_run_by_the_manager(tmp_path: Path, lock: str) -> None:
    tools = "[tool.ruff.format]\n[tool.mypy]\n[tool.pyright]\n[tool.pytest.ini_options]\n"
    files(tmp_path, {"pyproject.toml": tools, "test_a.py": ""})
    locked(tmp_path, lock, "pytest", "ruff", "mypy", "pyright")
    resolution, run = resolved(tmp_path), MANAGERS[lock]
    assert {c.name: c.argv[1:] for c in resolution.checks} == {
        "tests": ("-c", f"{run} python -m pytest -q --junitxml='{{report}}'"),
        "lint": ("-c", f"{run} ruff check --no-fix --no-fix-only --output-format json ."),
        "lint-format": ("-c", f"{run} ruff format --check ."),
        "types": ("-c", f"{run} python -m mypy --no-color-output --no-pretty --hide-error-context ."),
        "types-pyright": ("-c", f"{run} pyright --outputjson"),
    }
    assert not any(c.missing for c in resolution.checks)


def test_a_manager_is_asked_only_for_what_the_lock_file_holds_and_is_lacking(tmp_path: Path) -> None:
    files(tmp_path, {"pytest.ini": "", "ruff.toml": "", "a.py": ""})
    locked(tmp_path, "uv.lock", "pytest-cov", "ruff-lsp")
    assert [c.missing for c in resolved(tmp_path).checks] == ["python3", "ruff"]
    locked(tmp_path, "uv.lock", "pytest", "ruff")
    environment(tmp_path / ".venv", "pytest")
    ruff = program(tmp_path / ".venv/bin/ruff")
    assert [c.argv[0] for c in resolved(tmp_path).checks] == [f"{tmp_path}/.venv/bin/python", ruff]


def test_unittest_runs_in_a_managers_environment_unless_the_project_holds_one(tmp_path: Path) -> None:
    files(tmp_path, {"test_a.py": UNITTEST})
    locked(tmp_path, "poetry.lock", "requests")
    assert check(resolved(tmp_path), "tests").argv[2] == 'exec poetry run python -c "$@"'
    environment(tmp_path / ".venv")
    assert check(resolved(tmp_path), "tests").argv[0] == f"{tmp_path}/.venv/bin/python"


def test_hatch_runs_pytest_where_one_of_its_environments_has_it(tmp_path: Path) -> None:
    files(tmp_path, {"pyproject.toml": '[tool.hatch.envs.default]\ndependencies = ["coverage", "pytest>=8"]\n'})
    files(tmp_path, {"test_a.py": ""})
    program(tmp_path / "bin/hatch")
    assert check(resolved(tmp_path), "tests").argv[1:5] == ("run", "python", "-m", "pytest")
    files(tmp_path, {"pyproject.toml": "[tool.hatch.envs.hatch-test]\nparallel = true\n"})
    assert check(resolved(tmp_path), "tests").argv[1:3] == ("test", "-q")


TOX = "[testenv]\ndeps = pytest\ncommands = pytest\n"
NOX = "import nox\n\n@nox.session\ndef tests(session):\n    session.run('pytest')\n"
REPORTING = "PYTEST_ADDOPTS=--junitxml='{report}'"


@pytest.mark.parametrize(
    ("tool", "contents", "last"),
    [
        ("tox", {"tox.ini": TOX}, "-epy"),
        ("tox", {"tox.ini": "[testenv:tests]\ncommands = pytest\n"}, "-etests"),
        ("tox", {"tox.ini": "[tox]\nenvlist = odd\n"}, "tox"),
        ("tox", {"tox.toml": '[env_run_base]\ncommands = [["pytest"]]\n'}, "-epy"),
        ("tox", {"pyproject.toml": '[tool.tox.env_run_base]\ncommands = [["pytest"]]\n'}, "-epy"),
        ("tox", {"pyproject.toml": '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\n"""\n'}, "-epy"),
        ("nox", {"noxfile.py": NOX}, "--session=tests"),
        ("nox", {"noxfile.py": NOX.replace("tests", "check")}, "nox"),
    ],
)
def test_tox_and_nox_leave_the_report_of_a_pytest_that_cannot_be_imported(
    tmp_path: Path, tool: str, contents: dict[str, str], last: str
) -> None:
    files(tmp_path, {"pytest.ini": "", "tests/test_a.py": "", **contents})
    assert check(resolved(tmp_path), "tests").missing == "python3"
    found = program(tmp_path / "bin" / tool)
    tests = check(resolved(tmp_path), "tests")
    assert REPORTING in tests.argv and found in tests.argv
    assert (tests.parser, tests.argv[-1].removeprefix(f"{tmp_path}/bin/")) == ("pytest", last)
    environment(tmp_path / ".venv", "pytest")
    assert check(resolved(tmp_path), "tests").argv[2] == "pytest"


@pytest.mark.parametrize(
    "own",
    [TOX + "    --junitxml=x.xml\n", "[testenv:tests]\npass_env = CI\ncommands = pytest\n"],
    ids=["report", "variables"],
)
def test_a_tox_that_takes_no_wish_for_a_report_is_asked_for_none(tmp_path: Path, own: str) -> None:
    files(tmp_path, {"pytest.ini": "", "tox.ini": own, "a.py": ""})
    program(tmp_path / "bin/tox")
    tests = check(resolved(tmp_path), "tests")
    assert (tests.parser, tests.argv[0]) == ("pytest", f"{tmp_path}/bin/tox")
    assert "{report}" not in " ".join(tests.argv)


MANAGE = "import sys, unittest\n# execute_from_command_line\nassert sys.argv[1:] == ['test', '--no-input']\n"
RUNNER = "unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromName('shop.tests'))\n"
STUB = "from django.test import TestCase\n\n# Create your tests here.\n"


def test_django_runs_its_own_tests_unless_pytest_is_configured(tmp_path: Path) -> None:
    files(tmp_path, {"manage.py": MANAGE, "shop/tests.py": STUB})
    environment(tmp_path / ".venv", "django", "pytest")
    assert "tests" not in names(resolved(tmp_path))
    files(tmp_path, {"shop/tests.py": STUB + "class T(TestCase):\n"})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.parser, tests.argv[-4:]) == ("unittest", ("{report}", "manage.py", "test", "--no-input"))
    files(tmp_path, {"site/settings/base.py": "TEST_RUNNER = 'site.Runner'\n"})
    assert check(resolved(tmp_path), "tests").argv[1:] == ("manage.py", "test", "--no-input")
    files(tmp_path, {"pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = site.settings\n"})
    assert check(resolved(tmp_path), "tests").parser == "pytest"


def test_the_runner_that_manage_py_starts_names_its_tests_in_the_report(tmp_path: Path) -> None:
    files(tmp_path, {"manage.py": MANAGE + RUNNER, "shop/tests.py": UNITTEST.format(1)})
    files(tmp_path, {"shop/test_b.py": "class B(TestCase): pass\n"})
    environment(tmp_path / ".venv", "django")
    exit_code, output, report = really_run(check(resolved(tmp_path), "tests"), tmp_path)
    assert (exit_code, report.tests) == (0, {"shop.tests.T::test_it": "passed"}), output


FLAKE8 = ("-m", "flake8", "--extend-exclude=.venv,venv,.nox,.eggs,node_modules,build,dist")
PYLINT = ("-m", "pylint", "--output-format=json", "--recursive=y")


@pytest.mark.parametrize(
    ("contents", "modules", "argv"),
    [
        ({".flake8": "", "a.py": ""}, ["flake8"], FLAKE8),
        ({"tox.ini": "[flake8]\nextend-exclude = x\n", "a.py": ""}, ["flake8"], FLAKE8[:2]),
        ({"setup.cfg": "[flake8]\n"}, ["flake8"], FLAKE8),
        ({"pyproject.toml": "[tool.flake8]\n"}, ["flake8", "flake8p"], FLAKE8),
        ({".pylintrc": "[MAIN]\nignore-paths = x\n", "a.py": ""}, ["pylint"], (*PYLINT, ".")),
        ({"setup.cfg": "[pylint.main]\nignore-paths = x\n", "src/a.py": ""}, ["pylint"], (*PYLINT, "src")),
    ],
)
def test_flake8_and_pylint_lint_where_they_are_configured(
    tmp_path: Path, contents: dict[str, str], modules: list[str], argv: tuple[str, ...]
) -> None:
    files(tmp_path, contents)
    environment(tmp_path / ".venv", *modules)
    lint = check(resolved(tmp_path), "lint")
    assert (lint.parser, lint.missing, lint.argv[1:]) == (modules[0], "", argv)
    files(tmp_path, {"ruff.toml": ""})
    assert check(resolved(tmp_path), "lint").parser == "ruff"


def test_flake8_without_the_plugin_that_reads_its_configuration_cannot_run(tmp_path: Path) -> None:
    files(tmp_path, {"pyproject.toml": "[tool.flake8]\n"})
    environment(tmp_path / ".venv", "flake8")
    assert check(resolved(tmp_path), "lint").missing == "Flake8-pyproject"


@pytest.mark.parametrize(
    ("contents", "tool"),
    [
        ({"pyproject.toml": "[tool.ruff.format]\n[tool.black]\n"}, "ruff"),
        ({"ruff.toml": "[format]\n"}, "ruff"),
        ({".pre-commit-config.yaml": "repos:\n  - hooks:\n      - id: ruff-format\n"}, "ruff"),
        ({"Makefile": "lint:\n\truff format . --check\n"}, "ruff"),
        ({"noxfile.py": 'session.run("ruff", "format", "--check", ".")\n'}, "ruff"),
        ({"pyproject.toml": "[tool.black]\n"}, "black"),
        ({".pre-commit-config.yaml": "repos:\n  - hooks:\n      - id: black\n"}, "black"),
        ({"ruff.toml": "line-length = 100\n"}, ""),
        ({"Makefile": "format:\n\truff format .\n\truff check --diff\n"}, ""),
    ],
)
def test_formatting_is_checked_only_where_the_project_says_so(
    tmp_path: Path, contents: dict[str, str], tool: str
) -> None:
    files(tmp_path, {"a.py": "", **contents})
    for name in ("ruff", "black"):
        program(tmp_path / "bin" / name)
    found = [c for c in resolved(tmp_path).checks if c.name == "lint-format"]
    assert [c.parser for c in found] == ([tool] if tool else [])
    assert all("--check" in c.argv and c.role == "lint" for c in found)


def test_pyright_is_a_type_check_of_its_own_beside_mypy(tmp_path: Path) -> None:
    files(tmp_path, {"pyrightconfig.json": "{} // with a comment\n", "a.py": ""})
    environment(tmp_path / ".venv")
    resolution, python = resolved(tmp_path), f"{tmp_path}/.venv/bin/python"
    assert "types" not in [each.role for each in resolution.absent]
    assert check(resolution, "types-pyright").missing == "pyright"
    pyright = program(tmp_path / ".venv/bin/pyright")
    files(tmp_path, {"mypy.ini": "[mypy]\n"})
    assert check(resolved(tmp_path), "types").missing == "mypy"
    assert check(resolved(tmp_path), "types-pyright").argv == (pyright, "--outputjson", "--pythonpath", python)


def test_basedpyright_checks_what_is_its_own_or_what_pyright_is_not_there_for(tmp_path: Path) -> None:
    based = program(tmp_path / "bin/basedpyright")
    for section in ("[tool.pyright]\n", "[tool.basedpyright]\n"):
        files(tmp_path, {"pyproject.toml": section})
        assert check(resolved(tmp_path), "types-pyright").argv[0] == based
    pyright = program(tmp_path / "bin/pyright")
    assert check(resolved(tmp_path), "types-pyright").argv[0] == based
    files(tmp_path, {"pyproject.toml": "[tool.pyright]\n"})
    assert check(resolved(tmp_path), "types-pyright").argv[0] == pyright


def test_a_package_is_built_by_whatever_builds_it_here(tmp_path: Path) -> None:
    files(tmp_path, {"pyproject.toml": BUILD_SYSTEM})
    environment(tmp_path / ".venv")
    assert check(resolved(tmp_path), "build").missing == "build"
    program(tmp_path / "bin/uv")
    assert check(resolved(tmp_path), "build").argv[1:] == ("build", "--out-dir", "{scratch}")
    environment(tmp_path / ".venv", "pip")
    assert check(resolved(tmp_path), "build").argv[1:4] == ("-m", "pip", "wheel")
    files(tmp_path, {"uv.lock": ""})
    assert check(resolved(tmp_path), "build").argv[1] == "build"
    environment(tmp_path / ".venv", "pip", "build")
    assert check(resolved(tmp_path), "build").argv[1:3] == ("-m", "build")


@pytest.mark.parametrize("place", ["scripts/check", "scripts/lint.sh"])
def test_a_formatter_that_the_project_checks_with_in_a_script_is_found(tmp_path: Path, place: str) -> None:
    files(tmp_path, {"pyproject.toml": "[tool.ruff]\n", place: "ruff format --check src\n"})
    assert names(resolved(tmp_path)) == ["lint", "lint-format"]
    files(tmp_path, {place: "ruff format src\n"})
    assert names(resolved(tmp_path)) == ["lint"]


def test_the_root_of_a_workspace_finds_the_linter_that_its_members_configure(tmp_path: Path) -> None:
    files(
        tmp_path, {"pyproject.toml": '[tool.uv.workspace]\nmembers = ["api"]\n', "api/pyproject.toml": "[tool.ruff]\n"}
    )
    assert names(resolved(tmp_path)) == ["lint"]
