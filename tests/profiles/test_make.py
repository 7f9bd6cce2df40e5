"""Projects that have nothing but targets of their own: make, just, Task."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.projects import check, files, managers, names, package, program, resolved

RUNNERS = ("make", "just", "task")


def runners(root: Path) -> None:
    for name in RUNNERS:
        program(root / "bin" / name)


def found(root: Path, contents: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Program and arguments by check."""
    runners(root)
    files(root, contents)
    return {c.name: (Path(c.argv[0]).name, *c.argv[1:]) for c in resolved(root).checks}


@pytest.mark.parametrize("name", ["Makefile", "makefile", "GNUmakefile"])
def test_targets_of_a_makefile_are_checks_that_run_alone(tmp_path: Path, name: str) -> None:
    text = ".PHONY: test lint\nPY := python3\n\ntest: build\n\tpytest\n\nlint:\n\truff\n\n"
    text += "typecheck:\n\tmypy\n\nbuild:\n\tcc\n"
    assert found(tmp_path, {name: text}) == {
        "tests": ("make", "test"),
        "build": ("make", "build"),
        "lint": ("make", "lint"),
        "types": ("make", "typecheck"),
    }
    assert all(c.exclusive and not c.missing for c in resolved(tmp_path).checks)
    assert check(resolved(tmp_path), "tests").parser == "any"


@pytest.mark.parametrize(
    "rule",
    [
        "test:\n\ttrue\n",
        "test::\n\ttrue\n",
        "test : deps\n\ttrue\n",
        "test: ; true\n",
        "unit test:\n\ttrue\n",
        "test unit $(OTHER):\n\ttrue\n",
        "a.o $(B) test b/c: x\n\ttrue\n",
        "test: CFLAGS = -g\ntest: all\n\ttrue\n",
        "ifdef X\n  test:\n\ttrue\nendif\n",
        "test: | folder\n\ttrue\n",
        "test &: a\n\ttrue\n",
        "# a comment\ntest: # another\n\ttrue\n",
        "test:\r\n\ttrue\r\n",
    ],
)
def test_a_rule_is_a_rule_however_it_is_written(tmp_path: Path, rule: str) -> None:
    assert found(tmp_path, {"Makefile": rule}) == {"tests": ("make", "test")}


@pytest.mark.parametrize(
    "text",
    [
        "test := x\n",
        "test ::= x\n",
        "test :::= x\n",
        "test = a: b\n",
        "test ?= x\n",
        "test += a:b\n",
        "test: CFLAGS = -g\n",
        "test: export CFLAGS := -g\n",
        "test: override A.B ?= 1\n",
        "test-%: x\n\ttrue\n",
        "%.test: x\n\ttrue\n",
        "unit-test: x\n\ttrue\n",
        "test/unit: x\n\ttrue\n",
        ".PHONY: test\n",
        "# test: x\n",
        "all:\n\ttest: -f x\n",
        "TEST: x\n\ttrue\n",
        "$(test): x\n\ttrue\n",
        "A = $(test:%.c=%.o)\n",
    ],
)
def test_what_only_looks_like_a_target_is_none(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, {"Makefile": f"all:\n\ttrue\n{text}"}) == {}


def test_a_rule_may_stand_in_an_included_file(tmp_path: Path) -> None:
    files(tmp_path, {"mk/rules.mk": "test:\n\ttrue\n"})
    assert found(tmp_path, {"Makefile": "all:\n\ttrue\n"}) == {}
    assert found(tmp_path, {"Makefile": "-include mk/*.mk\nall:\n\ttrue\n"}) == {"tests": ("make", "test")}


def test_check_stands_for_tests_where_there_is_no_better_name(tmp_path: Path) -> None:
    assert found(tmp_path, {"Makefile": "check:\n\ttrue\n"}) == {"tests": ("make", "check")}
    assert found(tmp_path, {"Makefile": "check:\n\ttrue\ntests:\n\ttrue\n"}) == {"tests": ("make", "tests")}
    assert found(tmp_path, {"Makefile": "check:\n\ttrue\ntest:\n\ttrue\n"}) == {"tests": ("make", "test")}


@pytest.mark.parametrize(
    ("recipe", "there"),
    [
        ("test:\n  true\n", True),
        ("@test:\n  true\n", True),
        ("test *args: build\n  true\n", True),
        ("test filter='a:=b' $X='':\n  true\n", True),
        ("[group('ci')]\ntest: (build 'x')\n  true\n", True),
        ("unit:\n  true\nalias test := unit\n", True),
        ("test := 'a:b'\n", False),
        ("_test:\n  true\n", False),
        ("test-all:\n  true\n", False),
        ("all:\n  test: x\n", False),
        ("# test:\nset shell := ['bash', '-c']\n", False),
    ],
)
def test_recipes_of_just(tmp_path: Path, recipe: str, there: bool) -> None:
    assert found(tmp_path, {"justfile": recipe}) == ({"tests": ("just", "test")} if there else {})


@pytest.mark.parametrize(
    ("tasks", "there"),
    [
        ("tasks:\n  test: go test\n", True),
        ("tasks:\n  test:\n    cmds: [true]\n", True),
        (
            "vars:\n  test: x\ntasks:\n\n  # all\n    \n  a:\n    cmds:\n      - true\n\n  'test':\n    cmds: [true]\n",
            True,
        ),
        ('tasks: # mine\n    a: b\n# between\n    "test": c\n', True),
        ("vars:\n  test: x\ntasks:\n  a: b\n", False),
        ("tasks:\n  a:\n    vars:\n      test: x\n", False),
        ("tasks:\n  test:unit: x\n  unit:test: y\n", False),
        ("tasks:\n  a: b\nincludes:\n  test: ./sub\n", False),
    ],
)
def test_tasks_of_task_are_run_even_where_it_holds_them_for_done(tmp_path: Path, tasks: str, there: bool) -> None:
    expected = {"tests": ("task", "--force", "test")} if there else {}
    assert found(tmp_path, {"Taskfile.yml": f"version: '3'\n\n{tasks}"}) == expected


def test_a_long_file_is_read_quickly(tmp_path: Path) -> None:
    runners(tmp_path)
    files(tmp_path, {"Makefile": "a b c: d\n\ttest x y z\n" * 20_000, "justfile": "test " * 20_000})
    files(tmp_path, {"Taskfile.yml": "tasks:\n" + "    \n  # x\n  a: b\n" * 20_000})
    began = time.process_time()
    assert names(resolved(tmp_path)) == []
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("file", "runner"), [("Makefile", "make"), ("justfile", "just"), ("Taskfile.dist.yaml", "task")]
)
def test_a_runner_that_is_not_there_is_missing(tmp_path: Path, file: str, runner: str) -> None:
    files(tmp_path, {file: "tasks:\n  x: y\n  test: z\ntest:\n\ttrue\n"})
    tests = check(resolved(tmp_path), "tests")
    assert tests.missing == runner
    assert tests.hint.startswith(f"Install {runner.capitalize() if runner == 'task' else runner} and put it on PATH")


def test_targets_stand_back_where_an_ecosystem_has_the_check(tmp_path: Path) -> None:
    managers(tmp_path)
    runners(tmp_path)
    package(tmp_path, scripts={"test": "x"})
    files(tmp_path, {"Makefile": "test:\n\tnpm test\nlint:\n\ttrue\n", "node_modules/a": ""})
    argv = {c.name: Path(c.argv[0]).name for c in resolved(tmp_path).checks}
    assert argv == {"tests": "npm", "lint": "make"}


def test_make_agrees_on_what_is_a_rule(tmp_path: Path) -> None:
    if not (make := shutil.which("make")):
        pytest.skip("make is not installed")
    rules = {"a/Makefile": "x test y:\n\t@echo ran\n", "b/Makefile": "test: A := 1\nall:\n\t@true\n"}
    files(tmp_path, rules)
    env = {"PATH": os.environ["PATH"]}  # below a make it would say which folder it enters
    said = [
        subprocess.run([make, "test"], cwd=tmp_path / name, env=env, capture_output=True, text=True).stdout
        for name in ("a", "b")
    ]
    assert said[0] == "ran\n" and "ran" not in said[1]
    assert [names(resolved(tmp_path / name, path=str(Path(make).parent))) for name in ("a", "b")] == [["tests"], []]


def test_a_makefile_that_hands_everything_on_has_the_targets_of_the_inner_one(tmp_path: Path) -> None:
    inner = "all: server\n\ntest: server\n\t./runtest\n"
    hands_on = "default: all\n\n.DEFAULT:\n\tcd src && $(MAKE) $@\n"
    found_checks = found(tmp_path, {"Makefile": hands_on, "src/Makefile": inner, "src/server.c": ""})
    assert found_checks == {"tests": ("make", "test"), "build": ("make", "all")}
    files(tmp_path, {"Makefile": "default:\n\tcd src && $(MAKE)\n"})
    assert names(resolved(tmp_path)) == []


def test_all_builds_compiled_sources_and_is_anything_elsewhere(tmp_path: Path) -> None:
    assert found(tmp_path, {"Makefile": "all: a.o\n", "a.c": ""}) == {"build": ("make", "all")}
    assert found(tmp_path, {"Makefile": "all: a.o\nbuild:\n\tcc a.c\n"}) == {"build": ("make", "build")}
    assert found(tmp_path, {"Makefile": "all: lint\n", "pyproject.toml": ""}) == {}


def test_all_of_a_project_without_compiled_sources_is_no_build(tmp_path: Path) -> None:
    assert found(tmp_path, {"Makefile": "all: lint\n", "run.sh": ""}) == {}
