"""What a project is checked by: its profile, or the validation script in its place, and the spec's own lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from aigon.checks.project_checks import ProjectChecks, require_tools, resolve_checks
from aigon.config.loading import parse_configuration
from aigon.errors import AigonError
from aigon.job.options import Options
from tests.compare.bench import job_of, looked, ran, spec_of, world_of
from tests.lab import Lab, scrubbed

TESTED: dict[str, Any] = {"tests": {"command": "true"}}


def checks(lab: Lab, options: Options | None = None, extra: str = "", **config: Any) -> ProjectChecks:
    """The checks of `lab` under this configuration; `extra` is more of the spec."""
    document = json.dumps({"profile": "generic", **config}).encode()
    spec = spec_of("x <!-- verify: true -->", extra=extra)
    return resolve_checks(
        lab.root, parse_configuration([("config.json", document)]), spec, options or Options("42"), scrubbed(lab.home)
    )


def script_of(found: ProjectChecks) -> tuple[str, str]:
    """File name and source of the validation script."""
    (script,) = [check for check in found.checks if check.name == "script"]
    return Path(script.argv[-1]).name, script.source


def names(found: ProjectChecks) -> list[str]:
    return [check.name for check in found.checks]


@pytest.fixture
def scripted(lab: Lab) -> Lab:
    """A repository with a validation script in every place."""
    for name in ("flag.sh", "profile.sh", "ralph.sh", ".aigon/validation.sh"):
        lab.write(name, "#!/bin/sh\nexit 0\n", executable=True)
    return lab


def test_of_several_validation_scripts_the_nearest_is_taken(scripted: Lab) -> None:
    ralph, own = {"validationScript": "ralph.sh"}, {"generic": {"validationScript": "profile.sh"}}
    flag = Options("42", validation_script="flag.sh")
    found = [
        checks(scripted, flag, ralph=ralph, profiles=own),
        checks(scripted, ralph=ralph, profiles=own),
        checks(scripted, ralph=ralph, profiles={"library": {"validationScript": "profile.sh"}}),
        checks(scripted),
    ]
    assert [script_of(each) for each in found] == [
        ("flag.sh", "--validation-script"),
        ("profile.sh", "profiles.generic.validationScript in .aigon/config.json"),
        ("ralph.sh", "ralph.validationScript in .aigon/config.json"),
        ("validation.sh", ".aigon/validation.sh"),
    ]


def test_a_validation_script_stands_in_for_the_checks_of_the_profile_or_beside_them(scripted: Lab) -> None:
    assert names(checks(scripted, checks=TESTED)) == ["script"]
    assert names(checks(scripted, checks=TESTED, validation={"mode": "add"})) == ["tests", "script"]


def test_without_a_script_there_is_none(lab: Lab) -> None:
    assert names(checks(lab, checks=TESTED)) == ["tests"]


@pytest.mark.parametrize(
    ("options", "config", "source"),
    [
        (Options("42", validation_script="no.sh"), {}, "--validation-script"),
        (Options("42"), {"profiles": {"generic": {"validationScript": "no.sh"}}}, "profiles.generic"),
        (Options("42"), {"ralph": {"validationScript": "no.sh"}}, "ralph.validationScript"),
    ],
)
def test_a_configured_script_that_is_missing_is_exit_2_with_its_source(
    scripted: Lab, options: Options, config: dict[str, Any], source: str
) -> None:
    with pytest.raises(AigonError) as error:
        checks(scripted, options, **config)
    assert error.value.code == 2 and "no.sh" in error.value.what and error.value.where.startswith(source)


def test_a_script_without_its_run_bit_is_run_with_bash(lab: Lab) -> None:
    lab.write("plain.sh", "[[ -n $BASH_VERSION ]]\n")
    lab.write("own.py", "#!/usr/bin/env python3\nraise SystemExit(0)\n", executable=True)
    with world_of(lab) as world:
        for name in ("plain.sh", "own.py"):
            found = checks(lab, Options("42", validation_script=name))
            assert ran(world, found.checks)["script"].status == "pass"


def test_the_lines_of_validation_are_one_script(lab: Lab, tmp_path: Path) -> None:
    lab.write("sub/x", "")
    text = f"## Validation\n\nSome prose.\n\n```bash\ncd sub\nNAME=one\necho $NAME $PWD > {tmp_path}/said\n```\n"
    found = checks(lab, extra=text, checks=TESTED)
    assert names(found) == ["tests", "spec"]
    with world_of(lab) as world:
        assert ran(world, found.checks)["spec"].status == "pass"
    assert (tmp_path / "said").read_text() == f"one {lab.root}/sub\n"


def test_the_first_line_of_validation_that_fails_ends_it(lab: Lab, tmp_path: Path) -> None:
    text = f"## Validation\n\n```bash\necho before\nfalse\ntouch {tmp_path}/after\n```\n"
    with world_of(lab) as world:
        finding = ran(world, checks(lab, extra=text).checks)["spec"]
    assert (finding.status, finding.summary) == ("fail", "exit 1: before")
    assert not (tmp_path / "after").exists()


def test_validation_is_one_more_check_beside_a_validation_script(scripted: Lab) -> None:
    assert names(checks(scripted, extra="## Validation\n\n```\ntrue\n```\n", checks=TESTED)) == ["script", "spec"]


def test_a_criterion_of_a_role_that_is_missing_is_decided_by_the_script(lab: Lab) -> None:
    lab.write(".aigon/validation.sh", "test -f done.txt\n")
    spec = spec_of("All tests pass", "Lint is clean")
    found = checks(lab).checks
    with world_of(lab) as world:
        seen = []
        for done in (False, True):
            lab.write("done.txt", "") if done else None
            seen.append([(v.status, v.method) for v in looked(world, job_of(spec, *found)).verdicts])
    assert seen == [[("unmet", "check:script")] * 2, [("met", "check:script")] * 2]


@pytest.mark.parametrize("name", ["git", "criterion-1", "spec"])
def test_a_name_that_something_else_goes_by_is_refused(lab: Lab, name: str) -> None:
    text = "## Validation\n\n```\ntrue\n```\n"
    with pytest.raises(AigonError) as error:
        checks(lab, extra=text, checks={name: {"command": "true"}})
    assert error.value.code == 2 and f"'{name}'" in error.value.what


def test_missing_tools_are_named_all_at_once_with_how_to_get_them(lab: Lab) -> None:
    found = checks(lab, checks={"lint": {"command": ["no-such-linter"]}, "types": {"command": ["no-such-typer"]}})
    with pytest.raises(AigonError) as error:
        require_tools(found.checks)
    assert error.value.code == 7
    assert "no-such-linter (for lint), no-such-typer (for types)" in error.value.what
    assert '"enabled": false' in error.value.hint and "Install no-such-linter" in error.value.hint


def test_a_make_target_is_opaque(lab: Lab) -> None:
    lab.write("Makefile", "test:\n\t@echo ran 0 tests\n")
    found = checks(lab, checks={"tests": {"command": "make test"}})
    (check,) = found.checks
    assert (check.role, check.parser) == ("tests", "text")


def test_a_check_that_is_turned_off_is_said_to_be_absent(lab: Lab) -> None:
    lab.write("test_x.py", "def test_x(): pass\n")
    lab.write("pyproject.toml", "[project]\nname = 'x'\n")
    assert "tests" in names(checks(lab))
    found = checks(lab, checks={"tests": {"enabled": False}})
    assert "tests" not in names(found)
    assert any("turned off" in absent.why for absent in found.absent)
