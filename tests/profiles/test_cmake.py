"""Projects that CMake builds."""

import os
import shutil
from pathlib import Path

import pytest

from aigon.checks.project_checks import resolve_checks
from aigon.config.loading import parse_configuration
from aigon.job.options import Options
from tests.checks.parsers.captured import read
from tests.profiles.test_apple import ran
from tests.projects import check, files, names, program, resolved

NOTHING, OPTIONS = parse_configuration([]), Options("")
LISTS = "cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nadd_executable(demo demo.c)\n"
TESTED = f"{LISTS}enable_testing()\nadd_test(NAME adds COMMAND demo)\nadd_test(NAME lacks COMMAND demo more)\n"
DEMO = "int main(int count, char **words) { return count > 1; }\n"


def test_tests_are_those_that_cmake_knows_of_and_come_before_a_makefile(tmp_path: Path) -> None:
    files(tmp_path, {"CMakeLists.txt": LISTS, "demo.c": DEMO})
    assert {c.name: c.missing for c in resolved(tmp_path).checks} == {"build": "cmake"}
    for name in ("cmake", "ctest", "make"):
        program(tmp_path / "bin" / name)
    files(tmp_path, {"tests/CMakeLists.txt": "add_test(NAME a COMMAND demo)\n", "Makefile": "test:\n\tx\nlint:\n\ty\n"})
    found = resolved(tmp_path)
    assert {c.name: c.shown or " ".join(c.argv) for c in found.checks} == {
        "tests": "cmake --build, then ctest",
        "build": "cmake --build",
        "lint": f"{tmp_path}/bin/make lint",
    }


@pytest.mark.parametrize("other", ["pyproject.toml", "setup.py", "binding.gyp"])
def test_a_package_whose_own_build_calls_cmake_is_not_built_by_it(tmp_path: Path, other: str) -> None:
    files(tmp_path, {"CMakeLists.txt": TESTED, other: ""})
    assert "build" not in names(resolved(tmp_path))


@pytest.mark.parametrize(
    "build", [{"CMakeLists.txt": LISTS}, {"configure.ac": ""}, {"Makefile": "x:\n", "src/a.c": ""}]
)
def test_scripts_of_a_build_are_no_python_project_unless_it_says_how_they_are_tested(
    tmp_path: Path, build: dict[str, str]
) -> None:
    files(tmp_path, build | {"third/gtest/x_test.py": "import unittest\n"})
    assert "tests" not in names(resolved(tmp_path))
    files(tmp_path, {"tests/conftest.py": ""})
    assert check(resolved(tmp_path), "tests").parser == "pytest"


def test_folders_of_cmake_belong_to_the_root_that_builds_them(tmp_path: Path) -> None:
    files(
        tmp_path,
        {"CMakeLists.txt": TESTED, "lib/CMakeLists.txt": LISTS, "support/package.json": '{"scripts": {"test": "x"}}'},
    )
    assert resolve_checks(tmp_path, NOTHING, None, OPTIONS, {"PATH": ""}).folders == {}
    (tmp_path / "CMakeLists.txt").unlink()
    assert set(resolve_checks(tmp_path, NOTHING, None, OPTIONS, {"PATH": ""}).folders) == {"lib", "support"}
    files(tmp_path, {"app/pubspec.yaml": ""})
    assert "lib" not in resolve_checks(tmp_path, NOTHING, None, OPTIONS, {"PATH": ""}).folders


@pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "ctest", "cc"))), reason="CMake or a C compiler is not installed"
)
def test_the_real_ctest_names_the_test_that_fails_and_leaves_the_tree_alone(tmp_path: Path) -> None:
    files(tmp_path, {"CMakeLists.txt": TESTED, "demo.c": DEMO})
    before = sorted(tmp_path.iterdir())
    tests = check(resolved(tmp_path, path=os.environ["PATH"]), "tests")
    assert ran(tmp_path, tests).returncode != 0
    found = read("junit", b"", (tmp_path / "report").read_bytes())
    assert found.counts is not None
    assert (found.counts.total, found.counts.failed) == (2, 1)
    assert set(before) == {path for path in tmp_path.iterdir() if path.name not in ("report", "scratch")}
