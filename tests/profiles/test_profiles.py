"""The shipped profiles: they load, and what they say of projects that are neither Python nor Node, or both."""

import sys
from pathlib import Path

import pytest

from aigon.checks import parsers
from aigon.checks.project import ProjectOnDisk
from aigon.errors import AigonError, Exit
from aigon.files.resources import read_profiles
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.profile import PROTECTION, detect_profile, load_profiles
from tests.projects import environment, files, managers, names, package, resolved, shipped


def ecosystems() -> list[Ecosystem]:
    return list({part.ecosystem.name: part.ecosystem for p in shipped().values() for part in p.parts}.values())


@pytest.mark.parametrize("name", sorted(read_profiles()))
def test_each_shipped_document_loads(name: str) -> None:
    found = {f"ecosystems/{each.name}" for each in ecosystems()} | set(shipped()) | {PROTECTION}
    assert name in found


def test_each_parser_that_a_profile_names_exists() -> None:
    candidates = [c for each in ecosystems() for choice in each.roles.values() for c in choice.candidates]
    assert len(candidates) > 10
    assert {candidate.settings["parser"] for candidate in candidates} <= set(parsers.list_parsers())


def test_each_command_that_may_be_missing_says_how_to_get_it() -> None:
    for each in ecosystems():
        for choice in each.roles.values():
            for candidate in choice.candidates:
                assert candidate.hint or "{python}" in candidate.argv[0], (each.name, choice.role)


def test_a_project_of_no_known_kind_has_no_checks_and_says_why(tmp_path: Path) -> None:
    files(tmp_path, {"main.c": ""})
    resolution = resolved(tmp_path)
    assert (resolution.profile, resolution.checks) == ("generic", ())
    assert [absent.role for absent in resolution.absent] == ["tests", "build", "lint", "types"]
    [why] = {absent.why for absent in resolution.absent}
    assert why.startswith("nothing here of Python")


def test_python_and_node_together_have_checks_with_names_of_their_own(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"test": "x", "lint": "y"})
    files(tmp_path, {"test_a.py": ""})
    environment(tmp_path / ".venv", "pytest")
    resolution = resolved(tmp_path)
    assert [(c.name, c.title) for c in resolution.checks] == [
        ("tests", "Tests"),
        ("tests-node", "Tests (node)"),
        ("lint", "Lint"),
    ]
    assert ("lint", "Python") in [(absent.role, absent.ecosystem) for absent in resolution.absent]


def test_two_own_profiles_that_match_equally_well_are_a_usage_error(tmp_path: Path) -> None:
    own = "description: {}\ndetect: {{file: Makefile}}\npriority: 20\n"
    files(
        tmp_path, {"Makefile": "", ".aigon/profiles/a.yaml": own.format("A"), ".aigon/profiles/b.yaml": own.format("B")}
    )
    all_ = load_profiles(read_profiles(), read_profiles(tmp_path / ".aigon/profiles"))
    with pytest.raises(AigonError, match="a and b match equally well") as caught:
        detect_profile(all_.values(), ProjectOnDisk(tmp_path, {}))
    assert (caught.value.code, "--profile a" in caught.value.hint) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        ("pyproject.toml", "[tool.ruff\n", "pyproject.toml is not valid TOML"),
        ("package.json", "{,}", "package.json is not valid JSON"),
        ("setup.cfg", "no section\n", "setup.cfg is not valid INI"),
    ],
)
def test_a_broken_configuration_file_is_said_and_never_read_as_absence(
    tmp_path: Path, file: str, content: str, what: str
) -> None:
    files(tmp_path, {file: content})
    with pytest.raises(AigonError) as caught:
        resolved(tmp_path)
    assert caught.value.what.startswith(what)
    assert (caught.value.where, caught.value.code) == (file, Exit.USAGE)


def test_a_byte_order_mark_does_not_hide_a_configuration(tmp_path: Path) -> None:
    managers(tmp_path)
    (tmp_path / "package.json").write_bytes(b'\xef\xbb\xbf{"scripts": {"test": "x"}}')
    assert names(resolved(tmp_path)) == ["tests"]


def test_looking_at_a_project_runs_none_of_its_code(tmp_path: Path) -> None:
    managers(tmp_path)
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    python = dict.fromkeys(("setup.py", "conftest.py", "test_a.py", "sitecustomize.py", "pytest.py", "mypy.py"), trap)
    files(tmp_path, {**python, "mypy.ini": "[mypy]\n", "ruff.toml": ""})
    package(tmp_path, scripts={"test": f"touch {tmp_path}/ran", "preinstall": f"touch {tmp_path}/ran"})
    (tmp_path / "bin/python3").symlink_to(sys.executable)
    assert len(resolved(tmp_path).checks) == 4
    assert not (tmp_path / "ran").exists()
