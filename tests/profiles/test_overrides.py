"""What `.aigon/config.json` says under `checks`: changed, added and removed checks."""

from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from tests.projects import check, environment, files, names, program, resolved


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Python project with tests and a linter."""
    files(tmp_path, {"test_a.py": "", "ruff.toml": ""})
    environment(tmp_path / ".venv", "pytest")
    program(tmp_path / ".venv/bin/ruff")
    program(tmp_path / "bin/bash")
    return tmp_path


def refused(root: Path, overrides: dict[str, object]) -> AigonError:
    with pytest.raises(AigonError) as caught:
        resolved(root, overrides)
    assert (caught.value.code, caught.value.where) == (Exit.USAGE, ".aigon/config.json")
    return caught.value


def test_without_a_command_only_what_is_said_changes(project: Path) -> None:
    plain = check(resolved(project), "tests")
    said = {"timeout": "20m", "exclusive": True, "when": "final", "paths": "src", "cwd": "sub", "env": {"A": "1"}}
    changed = check(resolved(project, {"tests": said}), "tests")
    assert (changed.argv, changed.parser) == (plain.argv, "pytest")
    assert (changed.timeout, changed.exclusive, changed.when) == (1200.0, True, "final")
    assert (changed.paths, changed.cwd, changed.env) == (("src",), "sub", {**plain.env, "A": "1"})
    assert changed.source == ".aigon/config.json"


def test_a_command_as_text_runs_in_bash_as_it_is_written(project: Path) -> None:
    command = 'for i in 1 2; do echo "${i} {x}"; done | sort'
    tests = check(resolved(project, {"tests": {"command": command}}), "tests")
    assert tests.argv == (str(project / "bin/bash"), "-c", command)
    assert (tests.parser, tests.missing) == ("text", "")


def test_a_command_as_list_has_its_program_looked_up(project: Path) -> None:
    command = ["{tool:ruff}", "check", "--output-file={report}"]
    lint = check(resolved(project, {"lint": {"command": command, "parser": "ruff"}}), "lint")
    assert lint.argv == (str(project / ".venv/bin/ruff"), "check", "--output-file={report}")
    assert lint.parser == "ruff"


def test_a_command_whose_program_is_not_there_is_missing_not_gone(project: Path) -> None:
    lint = check(resolved(project, {"lint": {"command": ["flake8", "."]}}), "lint")
    assert (lint.missing, lint.hint) == ("flake8", "Install flake8 and put it on PATH, or change checks.lint.command")


def test_a_new_command_takes_the_place_of_one_that_could_not_run(project: Path) -> None:
    (project / ".venv/bin/ruff").unlink()
    assert check(resolved(project), "lint").missing == "ruff"
    assert check(resolved(project, {"lint": {"command": "./lint.sh"}}), "lint").missing == ""


def test_a_new_name_adds_a_check_of_the_role_that_its_name_says(project: Path) -> None:
    added = {"types": {"command": "x"}, "tests-slow": {"command": "x"}, "migrations": {"command": "x", "role": "build"}}
    resolution = resolved(project, {**added, "licences": {"command": ["./l.sh"]}})
    assert names(resolution) == ["tests", "lint", "types", "tests-slow", "migrations", "licences"]
    assert [c.role for c in resolution.checks[2:]] == ["types", "tests", "build", "script"]
    assert "types" not in [absent.role for absent in resolution.absent]


def test_a_check_that_is_turned_off_is_absent_and_says_so(project: Path) -> None:
    resolution = resolved(project, {"lint": {"enabled": False}})
    assert names(resolution) == ["tests"]
    assert "lint is turned off in .aigon/config.json" in [absent.why for absent in resolution.absent]


def test_settings_for_a_role_that_the_project_does_not_have_yet_do_no_harm(project: Path) -> None:
    assert names(resolved(project, {"build": {"timeout": 5}, "types": {"enabled": False}})) == ["tests", "lint"]


def test_null_is_as_good_as_not_said(project: Path) -> None:
    assert check(resolved(project, {"tests": {"timeout": None, "command": None}}), "tests").timeout == 600.0


@pytest.mark.parametrize(
    ("overrides", "what", "hint"),
    [
        ({"tests": {"timout": 5}}, "Unknown key 'checks.tests.timout'", "Did you mean 'timeout'?"),
        ({"tests": {"timeout": -5}}, "checks.tests.timeout must be a time", "90s"),
        ({"tests": {"command": " "}}, "checks.tests.command must not be empty", ""),
        ({"tests": {"command": []}}, "checks.tests.command must not be empty", ""),
        ({"tests": {"command": 5}}, "checks.tests.command must be a list", ""),
        ({"tests": {"cwd": "../x"}}, "checks.tests.cwd must be a path inside", ""),
        ({"tests": "pytest"}, "checks.tests must be a mapping", ""),
        ({"tset": {"timeout": 5}}, "checks.tset needs the key 'command'", "tests"),
        ({"lnt": {"enabled": False}}, "There is no check 'lnt' to turn off", "Did you mean 'lint'?"),
        ({"x": {"command": "x", "role": "lints"}}, "checks.x.role cannot be 'lints'", "Did you mean 'lint'?"),
        ({"a/b": {"command": "x"}}, "checks.a/b is not a name for a check", ""),
    ],
)
def test_a_mistake_names_the_key_and_what_would_be_right(
    project: Path, overrides: dict[str, object], what: str, hint: str
) -> None:
    error = refused(project, overrides)
    assert error.what.startswith(what)
    assert hint in error.hint
