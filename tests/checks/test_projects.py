"""Repositories with more than one project: which are found, what their checks are called and where they run."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from aigon.checks.project import ProjectOnDisk
from aigon.checks.project_checks import ProjectChecks, find_unchecked_folders, resolve_checks
from aigon.config.loading import parse_configuration
from aigon.config.models import Config
from aigon.errors import AigonError, Exit
from aigon.files.resources import read_profiles
from aigon.job.options import Options
from aigon.profiles.ecosystem import find_setups
from aigon.profiles.profile import load_ecosystems
from tests.lab import Lab
from tests.projects import environment, files, managers

BACKEND = {"backend/pyproject.toml": "[tool.pytest.ini_options]\n", "backend/tests/test_a.py": "def test_a(): pass\n"}
FRONTEND = {"frontend/package.json": json.dumps({"scripts": {"test": "node --test", "build": "true"}})}


def checks(root: Path, config: Mapping[str, object] | None = None, profile: str | None = None) -> ProjectChecks:
    managers(root)
    return resolve_checks(root, configured(config), None, Options("", profile=profile), {"PATH": f"{root}/bin"})


def configured(document: Mapping[str, object] | None) -> Config:
    return parse_configuration([("config.json", json.dumps(document or {}).encode())])


def places(found: ProjectChecks) -> list[tuple[str, str]]:
    return [(check.name, check.cwd) for check in found.checks]


def test_projects_in_folders_have_a_profile_and_checks_of_their_own(tmp_path: Path) -> None:
    files(tmp_path, BACKEND | FRONTEND | {"README.md": "", "docs/package.json": '{"scripts": {"test": "x"}}'})
    found = checks(tmp_path)
    assert found.folders == {"backend": "generic", "frontend": "generic"}
    assert places(found) == [
        ("tests-backend", "backend"), ("tests-frontend", "frontend"), ("build-frontend", "frontend")
    ]  # fmt: skip
    assert found.checks[0].title == "Tests (backend)"
    assert ("lint", "backend") in [(absent.role, absent.ecosystem) for absent in found.absent]


def test_a_root_with_tests_of_its_own_is_the_project_and_the_others_are_named(tmp_path: Path) -> None:
    files(tmp_path, FRONTEND | {"pyproject.toml": "[tool.pytest.ini_options]\n", "test_a.py": ""})
    found = checks(tmp_path)
    assert (places(found)[0], found.folders) == (("tests", "."), {})
    assert find_unchecked_folders(tmp_path, configured(None), found, {"PATH": ""}) == ("frontend",)


def test_a_module_called_setup_is_no_project(tmp_path: Path) -> None:
    files(tmp_path, {"app/__init__.py": "", "app/setup.py": "", "tool/setup.py": ""})
    assert find_unchecked_folders(tmp_path, configured(None), checks(tmp_path), {"PATH": ""}) == ("tool",)


def test_a_root_that_has_only_a_linter_keeps_it_beside_its_projects(tmp_path: Path) -> None:
    files(tmp_path, BACKEND | {"package.json": '{"scripts": {"lint": "x"}}'})
    found = checks(tmp_path)
    assert places(found) == [("lint", "."), ("tests-backend", "backend")]
    assert found.folders == {".": "generic", "backend": "generic"}


def test_tests_at_a_root_without_a_manifest_run_beside_those_of_the_projects(tmp_path: Path) -> None:
    files(tmp_path, FRONTEND | {"tests/test_all.py": "import pytest\n"})
    assert places(checks(tmp_path))[:2] == [("tests", "."), ("tests-frontend", "frontend")]


def test_members_of_a_workspace_belong_to_the_root(tmp_path: Path) -> None:
    root = {"package.json": json.dumps({"workspaces": ["packages/*"], "scripts": {"test": "x"}})}
    files(tmp_path, root | {"packages/a/package.json": '{"scripts": {"test": "y"}}'})
    assert places(checks(tmp_path)) == [("tests", ".")]


def test_what_is_installed_at_the_root_serves_the_projects_below(tmp_path: Path) -> None:
    files(tmp_path, BACKEND)
    environment(tmp_path / ".venv", "pytest")
    assert checks(tmp_path).checks[0].missing == ""
    assert checks(tmp_path).checks[0].argv[0] == f"{tmp_path}/.venv/bin/python"


def test_the_configuration_names_the_projects_and_changes_their_checks(tmp_path: Path) -> None:
    files(tmp_path, BACKEND | FRONTEND | {"deep/er/package.json": '{"scripts": {"test": "x"}}'})
    paths = {"deep/er/": "library", "backend": {}}
    found = checks(tmp_path, {"paths": paths, "checks": {"tests-deep-er": {"timeout": 7, "paths": ["deep/**"]}}})
    assert found.folders == {"deep/er": "library", "backend": "generic"}
    [tests, backend] = (check for check in found.checks if check.role == "tests")
    assert (tests.name, tests.cwd, tests.timeout, tests.paths) == ("tests-deep-er", "deep/er", 7, ("deep/**",))
    assert backend.name == "tests-backend"


@pytest.mark.parametrize(
    ("paths", "what", "hint"),
    [
        ({"bakend": "web"}, "There is no folder 'bakend'", "Fix the path"),
        ({"../x": "web"}, "There is no folder '../x'", "Fix the path"),
        ({"/": "web"}, "There is no folder '/'", "Fix the path"),
        ({"backend": "wep"}, "backend: There is no profile 'wep'", "Did you mean 'web'?"),
        ({"backend": {"profil": "web"}}, "Unknown configuration key 'paths.backend.profil'", "'profile'"),
    ],
)
def test_a_path_that_cannot_be_is_said(tmp_path: Path, paths: Mapping[str, object], what: str, hint: str) -> None:
    files(tmp_path, BACKEND)
    with pytest.raises(AigonError) as caught:
        checks(tmp_path, {"paths": paths})
    assert (caught.value.code, what in caught.value.what, hint in caught.value.hint) == (Exit.USAGE, True, True)


def test_dependencies_of_projects_in_folders_are_known_to_the_clean_room(tmp_path: Path) -> None:
    files(tmp_path, FRONTEND | {"frontend/package-lock.json": "", "package.json": "{}", "package-lock.json": ""})
    files(tmp_path, {"packages/a/package.json": "{}"})
    setups = find_setups(ProjectOnDisk(tmp_path, {}), load_ecosystems(read_profiles(), {}).values())
    npm = {(each.lock, each.makes, each.cwd) for each in setups if each.argv[:2] == ("npm", "ci")}
    assert ("package-lock.json", "node_modules", ".") in npm
    assert ("frontend/package-lock.json", "frontend/node_modules", "frontend") in npm
    assert ("package-lock.json", "packages/a/node_modules", ".") in npm


def test_init_writes_down_the_projects_that_it_found(lab: Lab) -> None:
    lab.path(".aigon/config.json").unlink()
    files(lab.root, BACKEND | FRONTEND)
    done = lab.aigon("init", "--no-commands")
    assert done.code == 0, done.err
    assert "Profile of backend: generic\nProfile of frontend: generic\nChecks:" in done.out
    assert "tests-frontend: " in done.out and "  (in backend)" in done.out
    config = json.loads(lab.path(".aigon/config.json").read_text())
    assert config["paths"] == {"backend": "generic", "frontend": "generic"}
    assert "profile" not in config


def test_a_root_that_only_lists_python_members_leaves_their_checks_to_them(tmp_path: Path) -> None:
    root = "[tool.uv.workspace]\nmembers = ['backend']\n"
    files(tmp_path, BACKEND | {"pyproject.toml": root})
    assert checks(tmp_path).folders.get("backend") == "generic"
    files(tmp_path, {"pyproject.toml": f"{root}[tool.pytest]\n"})
    assert (checks(tmp_path).folders, places(checks(tmp_path))[0]) == ({}, ("tests", "."))


@pytest.mark.parametrize("folder", ["deps/jemalloc", "external/lib", "playground/app", "thirdparty/x", "fuzz"])
def test_code_of_others_and_playgrounds_are_no_projects(tmp_path: Path, folder: str) -> None:
    files(tmp_path, {f"{folder}/package.json": '{"scripts": {"test": "x"}}', "a.sh": ""})
    assert checks(tmp_path).folders == {}


def test_a_profile_beside_paths_adds_only_what_the_root_itself_has(tmp_path: Path) -> None:
    files(tmp_path, BACKEND | FRONTEND)
    config: dict[str, object] = {"profile": "generic", "paths": {"backend": "generic", "frontend": "generic"}}
    assert all(folder != "." for _, folder in places(checks(tmp_path, config)))
    files(tmp_path, {"tests/test_all.py": "import pytest\n"})
    assert [name for name, folder in places(checks(tmp_path, config)) if folder == "."] == ["tests"]
