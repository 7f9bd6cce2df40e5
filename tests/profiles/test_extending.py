"""`extends:`, every ecosystem by `*`, further checks for a role, fallbacks: profiles as people compose them."""

from pathlib import Path

import pytest

from aigon.checks.project import ProjectOnDisk
from aigon.errors import AigonError
from aigon.profiles.profile import load_ecosystems, load_profiles, resolve_profile
from aigon.profiles.resolution import Resolution
from tests.projects import files, program

ZIG = b"""
title: Zig
detect: {file: build.zig}
absent: no build.zig
manifests: [build.zig]
roles:
  tests:
    absent: no Zig tests
    timeout: 60
    candidates: [{if: {glob: "**/*.zig"}, argv: ["{tool:zig}", build, test], hint: Install Zig}]
  lint-format:
    candidates: [{if: {file: .zigfmt}, argv: ["{tool:zig}", fmt, --check, .], hint: Install Zig}]
"""
MAKE = b"""
title: make
fallback: true
detect: {file: Makefile}
absent: no Makefile
roles:
  tests: {absent: no target test, candidates: [{if: {always: true}, argv: ["{tool:make}", test], hint: Install make}]}
  build: {absent: no target build, candidates: [{if: {always: true}, argv: ["{tool:make}"], hint: Install make}]}
"""
ALL = b'description: All\necosystems: {"*": [tests, lint, build]}\n'
SHIPPED = {"ecosystems/zig": ZIG, "ecosystems/make": MAKE, "all": ALL}


def resolved(root: Path, own: dict[str, bytes], name: str = "all") -> Resolution:
    for tool in ("zig", "make"):
        program(root / "bin" / tool)
    return resolve_profile(load_profiles(SHIPPED, own)[name], ProjectOnDisk(root, {"PATH": f"{root}/bin"}))


def names(resolution: Resolution) -> list[str]:
    return [check.name for check in resolution.checks]


def test_an_ecosystem_that_no_profile_names_is_one_file(tmp_path: Path) -> None:
    files(tmp_path, {"build.zig": ""})
    found = resolved(tmp_path, {})
    assert names(found) == ["tests"]
    assert found.checks[0].timeout == 60
    # A further check of a role that is not there is no news; a role that the ecosystem does not know is none either.
    assert found.absent == ()


def test_a_role_can_have_further_checks_with_names_of_their_own(tmp_path: Path) -> None:
    files(tmp_path, {"build.zig": "", ".zigfmt": ""})
    found = resolved(tmp_path, {})
    assert [(c.name, c.role, c.title) for c in found.checks] == [
        ("tests", "tests", "Tests"),
        ("lint-format", "lint", "Lint (format)"),
    ]


def test_a_fallback_stands_in_only_for_roles_that_nothing_else_has(tmp_path: Path) -> None:
    files(tmp_path, {"Makefile": ""})
    assert [(c.name, c.source) for c in resolved(tmp_path, {}).checks] == [
        ("tests", "profiles/ecosystems/make.yaml"),
        ("build", "profiles/ecosystems/make.yaml"),
    ]
    files(tmp_path, {"build.zig": ""})
    assert [(c.name, c.source) for c in resolved(tmp_path, {}).checks] == [
        ("tests", "profiles/ecosystems/zig.yaml"),
        ("build", "profiles/ecosystems/make.yaml"),
    ]


def test_a_role_that_a_fallback_has_is_absent_nowhere(tmp_path: Path) -> None:
    shipped = {
        **SHIPPED,
        "ecosystems/zig": ZIG.replace(b"roles:\n", b"roles:\n  build: {absent: none, candidates: []}\n"),
    }
    files(tmp_path, {"build.zig": "", "Makefile": ""})
    program(tmp_path / "bin/make")
    found = resolve_profile(load_profiles(shipped, {})["all"], ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin"}))
    assert ("build" in names(found), found.absent) == (True, ())


def test_an_ecosystem_of_a_projects_own_extends_the_shipped_one_of_its_name(tmp_path: Path) -> None:
    files(tmp_path, {"build.zig": "", "a.zig": ""})
    own = b"""
extends: zig
roles:
  lint:
    absent: no linter
    candidates: [{if: {always: true}, argv: ["{tool:zig}", ast-check, a.zig], hint: Install Zig}]
"""
    found = resolved(tmp_path, {"ecosystems/zig": own})
    assert names(found) == ["tests", "lint"]
    assert {check.source for check in found.checks} == {".aigon/profiles/ecosystems/zig.yaml"}
    assert load_ecosystems(SHIPPED, {"ecosystems/zig": own})["zig"].title == "Zig"


def test_a_profile_takes_over_what_it_does_not_say_and_adds_to_mappings(tmp_path: Path) -> None:
    files(tmp_path, {"build.zig": "", "Makefile": ""})
    own = {"slow": b"extends: all\ntimeouts: {tests: 1h}\n", "quick": b"extends: slow\ntimeouts: {build: 5}\n"}
    found = resolved(tmp_path, own, "quick")
    assert [(c.name, c.timeout) for c in found.checks] == [("tests", 3600.0), ("build", 5.0)]
    assert load_profiles(SHIPPED, own)["quick"].description == "All"


@pytest.mark.parametrize(
    ("own", "what"),
    [
        ({"a": b"extends: b\n", "b": b"extends: a\n"}, "extends goes round in a circle: a extends b extends a"),
        ({"a": b"extends: a\ndescription: x\n"}, "extends names nothing to extend"),
        ({"a": b"extends: al\ndescription: x\n"}, "extends names nothing to extend"),
        ({"a": b"extends: 3\ndescription: x\n"}, "extends must be a text"),
        ({"a": b"extends: ecosystems/zig\n"}, "Unknown key 'title'"),
        ({"ecosystems/a": b"extends: all\n"}, "extends names nothing to extend"),
    ],
)
def test_what_cannot_be_extended_is_said_with_its_file(own: dict[str, bytes], what: str) -> None:
    with pytest.raises(AigonError) as caught:
        load_profiles(SHIPPED, own)
    assert (caught.value.what[: len(what)], caught.value.where) == (what, f".aigon/profiles/{list(own)[-1]}.yaml")


def test_a_value_in_any_of_several_files_is_a_condition_even_beside_a_broken_one(
    tmp_path: Path,
) -> None:
    ecosystem = ZIG.replace(b'{glob: "**/*.zig"}', b'{json: {glob: "packages/*/p.json", key: scripts.test}}')
    files(tmp_path, {"build.zig": "", "packages/a/p.json": "{broken", "packages/b/p.json": '{"scripts": {}}'})
    known = {**SHIPPED, "ecosystems/zig": ecosystem}
    assert resolve_profile(load_profiles(known, {})["all"], ProjectOnDisk(tmp_path, {"PATH": ""})).checks == ()
    files(tmp_path, {"packages/c/p.json": '{"scripts": {"test": "x"}}'})
    assert names(resolve_profile(load_profiles(known, {})["all"], ProjectOnDisk(tmp_path, {"PATH": ""}))) == ["tests"]
