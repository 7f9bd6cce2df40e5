"""Profiles as documents: what is accepted, what is refused and how it is said, which one is taken."""

from pathlib import Path

import pytest

from aigon.checks.project import ProjectOnDisk
from aigon.errors import AigonError, Exit
from aigon.files.resources import read_profiles
from aigon.profiles.profile import detect_profile, find_profile, load_profiles, parse_profile, resolve_profile
from tests.projects import files, program, shipped

OWN = b"""
description: Ours
detect: {file: go.mod}
priority: 50
timeouts: {tests: 20m}
roles:
  tests:
    absent: no Go tests
    candidates:
      - if: {glob: "**/*_test.go"}
        argv: ["{tool:go}", test, ./...]
        hint: Install Go
        when: final
        exclusive: true
        paths: ["**/*.go"]
"""


def refused(document: str | bytes, file: str = "") -> AigonError:
    with pytest.raises(AigonError) as caught:
        parse_profile("ours", document.encode() if isinstance(document, str) else document, file=file)
    assert caught.value.code is Exit.USAGE
    return caught.value


def test_a_profile_of_a_projects_own_needs_no_shared_ecosystem(tmp_path: Path) -> None:
    files(tmp_path, {"go.mod": "", "a/a_test.go": ""})
    go = program(tmp_path / "bin/go")
    project = ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin"})
    [check] = resolve_profile(parse_profile("ours", OWN), project).checks
    assert (check.name, check.argv, check.timeout) == ("tests", (go, "test", "./..."), 1200.0)
    assert (check.when, check.exclusive, check.paths) == ("final", True, ("**/*.go",))
    assert (check.missing, check.source) == ("", "profiles/ours.yaml")


def test_what_is_configured_but_not_installed_is_a_check_that_says_how_to_get_it(tmp_path: Path) -> None:
    files(tmp_path, {"go.mod": "", "a_test.go": ""})
    [check] = resolve_profile(parse_profile("ours", OWN), ProjectOnDisk(tmp_path, {"PATH": str(tmp_path)})).checks
    assert (check.missing, check.hint, check.argv[0]) == ("go", "Install Go", "go")


def test_what_the_project_does_not_have_is_absent_with_the_reason(tmp_path: Path) -> None:
    resolution = resolve_profile(parse_profile("ours", OWN), ProjectOnDisk(tmp_path, {"PATH": ""}))
    assert resolution.checks == ()
    assert [(absent.role, absent.why) for absent in resolution.absent] == [("tests", "no Go tests")]


def test_a_profile_of_a_projects_own_replaces_the_shipped_one_of_its_name() -> None:
    both = load_profiles(read_profiles(), {"library": OWN, "ours": OWN})
    assert (both["library"].description, both["library"].file) == ("Ours", ".aigon/profiles/library.yaml")
    assert set(both) == {*shipped(), "ours"}


def test_an_ecosystem_of_a_projects_own_comes_in_by_the_same_door(tmp_path: Path) -> None:
    ecosystem = OWN.replace(b"description: Ours", b"title: Go\nabsent: no go.mod")
    ecosystem = ecosystem.replace(b"priority: 50\ntimeouts: {tests: 20m}\n", b"")
    own = {"ecosystems/go": ecosystem, "go": b"description: Go\necosystems: {go: [tests], python: [lint]}\n"}
    resolution = resolve_profile(load_profiles(read_profiles(), own)["go"], ProjectOnDisk(tmp_path, {"PATH": ""}))
    assert [absent.role for absent in resolution.absent] == ["tests", "lint"]
    assert resolution.absent[0].why == "nothing here of Go or Python"


def test_the_highest_priority_that_matches_is_taken(tmp_path: Path) -> None:
    both = load_profiles(read_profiles(), {"ours": OWN})
    assert detect_profile(both.values(), ProjectOnDisk(tmp_path, {})).name == "generic"
    files(tmp_path, {"go.mod": ""})
    assert detect_profile(both.values(), ProjectOnDisk(tmp_path, {})).name == "ours"


def test_two_profiles_that_match_equally_well_have_to_be_chosen_from(tmp_path: Path) -> None:
    files(tmp_path, {"go.mod": ""})
    both = load_profiles(read_profiles(), {"ours": OWN, "another": OWN})
    with pytest.raises(AigonError, match="another and ours match equally well") as caught:
        detect_profile(both.values(), ProjectOnDisk(tmp_path, {}))
    assert "--profile another" in caught.value.hint


def test_a_profile_without_detection_is_only_taken_by_name(tmp_path: Path) -> None:
    quiet = load_profiles({}, {"quiet": b"description: Quiet\n"})
    with pytest.raises(AigonError, match="No profile matches") as caught:
        detect_profile(quiet.values(), ProjectOnDisk(tmp_path, {}))
    assert "--profile" in caught.value.hint
    assert find_profile(quiet, "quiet").description == "Quiet"


def test_an_unknown_profile_is_answered_with_the_nearest() -> None:
    with pytest.raises(AigonError, match="no profile 'libary'") as caught:
        find_profile(shipped(), "libary")
    assert "Did you mean 'library'?" in caught.value.hint


def test_an_unknown_key_names_the_file_the_key_and_the_nearest() -> None:
    error = refused("description: x\nprioritty: 1\n", ".aigon/profiles/ours.yaml")
    assert (error.what, error.where) == ("Unknown key 'prioritty'", ".aigon/profiles/ours.yaml")
    assert "Did you mean 'priority'?" in error.hint


def test_an_unknown_key_deep_inside_is_named_by_its_whole_path() -> None:
    error = refused(OWN.replace(b"exclusive:", b"exclusiv:"))
    assert error.what == "Unknown key 'roles.tests.candidates.0.exclusiv'"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("{file: go.mod}", "{fil: go.mod}", "Unknown key 'detect.fil'"),
        ("{file: go.mod}", "{file: a, glob: b}", "detect must have exactly one key"),
        ("{file: go.mod}", "{file: /etc/passwd}", "detect.file must be a path inside the project"),
        ("{file: go.mod}", "{file: ../x}", "detect.file must be a path inside the project"),
        ("{file: go.mod}", "{any: []}", "detect.any must name at least one condition"),
        ("{file: go.mod}", "{always: false}", "detect.always can only be true"),
        ("{file: go.mod}", "{json: {file: a, key: b, matching: '('}}", "detect.json.matching is not a regular"),
        ("{file: go.mod}", "{toml: {file: a}}", "detect.toml needs the key 'key'"),
        ("priority: 50", "priority: high", "priority must be a whole number"),
        ("priority: 50", "priority: true", "priority must be a whole number"),
        ("20m", "0", "timeouts.tests must be a time"),
        ("20m", "20 minutes", "timeouts.tests must be a time"),
        ("20m", ".nan", "timeouts.tests must be a time"),
        ("when: final", "when: never", "roles.tests.candidates.0.when cannot be 'never'"),
        ('["{tool:go}", test, ./...]', "go test", "roles.tests.candidates.0.argv must be a list"),
        ("{tool:go}", "{pythn}", "roles.tests.candidates.0.argv has the unknown placeholder {pythn}"),
        ("{tool:go}", "{tol:go}", "roles.tests.candidates.0.argv has the unknown placeholder {tol}"),
        ("  tests:\n", "  test:\n", "Unknown key 'roles.test'"),
        ("hint: Install Go", "needs: [{file: x, hint: y}]", "roles.tests.candidates.0.needs.0 needs the key 'name'"),
    ],
)
def test_a_value_that_is_wrong_is_named_by_its_path(old: str, new: str, what: str) -> None:
    assert refused(OWN.decode().replace(old, new)).what.startswith(what)


def test_a_profile_that_uses_an_unknown_ecosystem_names_the_nearest() -> None:
    with pytest.raises(AigonError, match="pyton is not an ecosystem") as caught:
        load_profiles(read_profiles(), {"ours": b"description: x\necosystems: {pyton: [tests]}\n"})
    assert "Did you mean 'python'?" in caught.value.hint


@pytest.mark.parametrize(
    ("document", "what", "where"),
    [
        (b"description: [x\n", "Not valid YAML", "profiles/ours.yaml:2"),
        (b"description: \xff\n", "Not valid YAML", "profiles/ours.yaml"),
        (b"description: !!python/object:os.system x\n", "Not valid YAML", "profiles/ours.yaml:1"),
        (b"", "The file is empty", "profiles/ours.yaml"),
        (b"- a\n", "The document must be a mapping", "profiles/ours.yaml"),
        (b"description: x\npriority: 1\npriority: 2\n", "The key 'priority' occurs twice", "profiles/ours.yaml:3"),
        (b"priority: 1\n", "The document needs the key 'description'", "profiles/ours.yaml"),
        (b"a: &a [*a]\n", "Not valid YAML: a value holds itself", "profiles/ours.yaml:1"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused_with_its_place(document: bytes, what: str, where: str) -> None:
    error = refused(document)
    assert error.what.startswith(what)
    assert error.where == where
