"""The shipped profiles on Go projects."""

import shutil
import subprocess
from pathlib import Path

import pytest

from aigon.files.resources import read_profiles
from aigon.profiles.profile import load_protections
from aigon.profiles.protection import Protection
from tests.projects import check, files, names, program, resolved

MODULE = "module example.com/demo\n\ngo 1.24\n"
CODE = {"go.mod": MODULE, "sum/sum.go": "package sum\n", "sum/sum_test.go": "package sum\n"}


def go(root: Path, script: str = "exit 0") -> str:
    return program(root / "bin/go", script)


def test_a_module_is_tested_built_and_vetted(tmp_path: Path) -> None:
    binary = go(tmp_path)
    files(tmp_path, CODE)
    resolution = resolved(tmp_path)
    assert {c.name: c.argv for c in resolution.checks} == {
        "tests": (binary, "test", "-json", "-count=1", "-fullpath", "./..."),
        "build": (binary, "build", "-o", "/dev/null", "./..."),
        "lint": (binary, "vet", "./..."),
    }
    assert [c.parser for c in resolution.checks] == ["gotest", "gobuild", "govet"]
    assert not any(c.exclusive or c.missing for c in resolution.checks)


@pytest.mark.parametrize(
    ("version", "whole"),
    [
        ("go 1.20", False),
        ("go 1.9", False),
        ("go 1.21", True),
        ("go 1.21.3", True),
        ("go 1.30", True),
        ("go 2.0", True),
    ],
)
def test_whole_paths_are_asked_for_where_the_module_needs_a_go_that_knows_how(
    tmp_path: Path, version: str, whole: bool
) -> None:
    go(tmp_path)
    files(tmp_path, {**CODE, "go.mod": f"module example.com/demo\n\n{version}\n"})
    assert ("-fullpath" in check(resolved(tmp_path), "tests").argv) == whole


def test_without_test_files_there_are_no_tests(tmp_path: Path) -> None:
    go(tmp_path)
    files(tmp_path, {"go.mod": MODULE, "a.go": "package a\n"})
    resolution = resolved(tmp_path)
    assert names(resolution) == ["build", "lint"]
    assert [each.why for each in resolution.absent if each.role == "tests"] == ["no *_test.go files"]


def test_without_go_every_check_says_how_to_get_it(tmp_path: Path) -> None:
    files(tmp_path, CODE)
    assert {(c.missing, c.hint) for c in resolved(tmp_path).checks} == {
        ("go", "Install Go and put it on PATH: https://go.dev/dl")
    }


def test_each_module_of_a_workspace_is_meant(tmp_path: Path) -> None:
    """`./...` would be the packages of one module, or none."""
    listing = 'if [ "$1" = list ]; then printf "/r/a b/...\\n/r/c/...\\n"; else echo "$#: $*"; fi'
    binary = go(tmp_path, listing)
    files(tmp_path, {"go.work": "go 1.24\n\nuse ./a\nuse ./b\n", "a/go.mod": MODULE, "a/a_test.go": "package a\n"})
    said = {}
    for each in resolved(tmp_path).checks:
        argv = [shutil.which("bash") or each.argv[0], *each.argv[1:]]
        said[each.name] = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert binary in check(resolved(tmp_path), "tests").argv[-1]
    assert said == {
        "tests": "6: test -json -count=1 -fullpath /r/a b/... /r/c/...\n",
        "build": "5: build -o /dev/null /r/a b/... /r/c/...\n",
        "lint": "3: vet /r/a b/... /r/c/...\n",
    }


def test_a_workspace_whose_modules_cannot_be_listed_is_red(tmp_path: Path) -> None:
    go(tmp_path, '[ "$1" = list ] && exit 7; exit 0')
    files(tmp_path, {"go.work": "go 1.24\n", "a_test.go": "package a\n"})
    for each in resolved(tmp_path).checks:
        argv = [shutil.which("bash") or each.argv[0], *each.argv[1:]]
        assert subprocess.run(argv, check=False).returncode == 7


@pytest.mark.parametrize(
    ("configuration", "report"),
    [
        ({".golangci.yml": 'version: "2"\n'}, "--output.json.path={report}"),
        ({".golangci.yaml": "linters: {}\nversion: 2\n"}, "--output.json.path={report}"),
        ({".golangci.toml": 'version = "2"\n'}, "--output.json.path={report}"),
        ({".golangci.json": '{"version": "2"}'}, "--output.json.path={report}"),
        ({".golangci.yml": "linters:\n  enable: [revive]\n"}, "--out-format=json:{report},line-number"),
        ({".golangci.json": "{}"}, "--out-format=json:{report},line-number"),
    ],
)
def test_golangci_lint_is_asked_in_the_words_of_its_configurations_version(
    tmp_path: Path, configuration: dict[str, str], report: str
) -> None:
    go(tmp_path)
    files(tmp_path, {**CODE, **configuration})
    lint = check(resolved(tmp_path), "lint")
    assert (lint.missing, lint.parser) == ("golangci-lint", "golangci")
    binary = program(tmp_path / "bin/golangci-lint")
    argv = check(resolved(tmp_path), "lint").argv
    assert argv[:3] == (binary, "run", "--issues-exit-code=1")
    assert report in argv


def test_formatting_is_a_check_where_the_project_speaks_of_it(tmp_path: Path) -> None:
    go(tmp_path)
    files(tmp_path, {**CODE, "Makefile": "fmt:\n\tgofmt -l .\n"})
    assert check(resolved(tmp_path), "lint-format").missing == "gofmt"
    program(tmp_path / "bin/gofmt", 'for f in "$@"; do case $f in *bad.go) echo "$f";; esac; done')
    argv = check(resolved(tmp_path), "lint-format").argv
    argv = (shutil.which("bash") or argv[0], *argv[1:])
    files(tmp_path, {"vendor/x/bad.go": "", "testdata/bad.go": "", ".cache/bad.go": ""})
    assert subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False).returncode == 0
    files(tmp_path, {"sum/bad.go": ""})
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "./sum/bad.go\n")


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("sum/sum_test.go", "tests"),
        ("sum/testdata/golden.txt", "tests"),
        (".golangci.yml", "config"),
        ("go.work", "config"),
        ("sum/sum.go", "product"),
    ],
)
def test_what_a_file_is_for_is_told_by_its_path(path: str, part: str) -> None:
    assert Protection(load_protections(read_profiles(), {})).part(path) == part


def test_examples_beside_a_package_at_the_root_make_no_program_of_it(tmp_path: Path) -> None:
    files(tmp_path, {"go.mod": "module x\n", "x.go": "package x\n", "_examples/a/main.go": "package main\n"})
    assert resolved(tmp_path).profile == "library"
    files(tmp_path, {"cmd/x/main.go": "package main\n"})
    assert resolved(tmp_path).profile == "generic"
