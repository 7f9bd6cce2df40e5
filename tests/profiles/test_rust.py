"""The shipped profiles on Rust projects."""

from pathlib import Path

import pytest

from aigon.files.resources import read_profiles
from aigon.profiles.profile import load_protections
from aigon.profiles.protection import Protection
from tests.projects import check, files, names, program, resolved

CRATE = '[package]\nname = "demo"\nversion = "0.1.0"\n'
TESTED = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n"
SCOPES = [
    ("[workspace]\nmembers = ['a']\n", ("--workspace",)),
    (f"{CRATE}[workspace]\n", ("--workspace",)),
    ("[workspace]\nmembers = ['a', 'b']\ndefault-members = ['a']\n", ()),
    (CRATE, ()),
]


def tools(root: Path, *names: str) -> None:
    for name in names:
        program(root / "bin" / name)


def crate(root: Path, **more: str) -> None:
    files(root, {"Cargo.toml": CRATE, "src/lib.rs": TESTED, **more})


def test_a_crate_is_tested_built_and_linted_with_cargo(tmp_path: Path) -> None:
    tools(tmp_path, "cargo", "cargo-clippy", "cargo-fmt")
    crate(tmp_path)
    cargo, resolution = str(tmp_path / "bin/cargo"), resolved(tmp_path)
    assert {c.name: c.argv for c in resolution.checks} == {
        "tests": (cargo, "test", "--no-fail-fast"),
        "build": (cargo, "build"),
        "lint": (cargo, "clippy", "--all-targets", "--message-format=json", "--", "-D", "warnings"),
        "lint-format": (cargo, "fmt", "--all", "--check"),
    }
    assert {c.name: c.parser for c in resolution.checks} == {
        "tests": "cargotest",
        "build": "cargo",
        "lint": "clippy",
        "lint-format": "rustfmt",
    }
    # cargo's own lock on the target folder keeps them apart where they have to be.
    assert not any(c.exclusive or c.missing for c in resolution.checks)


@pytest.mark.parametrize(("manifest", "scope"), SCOPES)
def test_all_members_of_a_workspace_are_meant_unless_it_names_those_that_usually_are(
    tmp_path: Path, manifest: str, scope: tuple[str, ...]
) -> None:
    tools(tmp_path, "cargo")
    files(tmp_path, {"Cargo.toml": manifest, "a/src/lib.rs": TESTED})
    cargo = str(tmp_path / "bin/cargo")
    assert check(resolved(tmp_path), "tests").argv == (cargo, "test", *scope, "--no-fail-fast")
    assert check(resolved(tmp_path), "build").argv == (cargo, "build", *scope)


@pytest.mark.parametrize(
    "source",
    [
        "#[test]\nfn a() {}",
        "#[tokio::test]\nasync fn a() {}",
        "#[rstest]\nfn a() {}",
        "#[cfg(all(test, unix))]\nmod tests;",
        "proptest! {\n}",
        "/// ```\n/// assert!(true);\n/// ```\npub fn a() {}",
        "//! ```\n//! demo::a();\n//! ```\n",
    ],
)
def test_tests_are_where_the_source_has_some(tmp_path: Path, source: str) -> None:
    tools(tmp_path, "cargo")
    files(tmp_path, {"Cargo.toml": CRATE, "src/lib.rs": source})
    assert names(resolved(tmp_path)) == ["tests", "build"]


@pytest.mark.parametrize("source", ["pub fn a() {}", "pub fn test() {}\n// a test", "let testing = attest(1);"])
def test_a_crate_without_any_has_none(tmp_path: Path, source: str) -> None:
    tools(tmp_path, "cargo")
    files(tmp_path, {"Cargo.toml": CRATE, "src/lib.rs": source})
    absent = [each.why for each in resolved(tmp_path).absent if each.role == "tests"]
    assert absent == ["no tests (#[test], #[cfg(test)], tests/*.rs) and no examples in comments"]


def test_integration_tests_alone_are_tests(tmp_path: Path) -> None:
    tools(tmp_path, "cargo")
    files(tmp_path, {"Cargo.toml": CRATE, "src/lib.rs": "", "tests/it.rs": "mod cases;"})
    assert "tests" in names(resolved(tmp_path))


def test_nextest_runs_where_it_is_configured_and_installed(tmp_path: Path) -> None:
    tools(tmp_path, "cargo")
    crate(tmp_path, **{".config/nextest.toml": ""})
    cargo = str(tmp_path / "bin/cargo")
    assert check(resolved(tmp_path), "tests").argv == (cargo, "test", "--no-fail-fast")
    tools(tmp_path, "cargo-nextest")
    tests = check(resolved(tmp_path), "tests")
    assert (tests.argv, tests.parser) == ((cargo, "nextest", "run", "--no-fail-fast"), "nextest")
    assert "tests-doc" not in names(resolved(tmp_path))
    files(tmp_path, {"src/lib.rs": f"/// ```\n/// demo::a();\n/// ```\npub fn a() {{}}\n{TESTED}"})
    examples = check(resolved(tmp_path), "tests-doc")
    assert (examples.role, examples.argv) == ("tests", (cargo, "test", "--doc", "--no-fail-fast"))


@pytest.mark.parametrize(
    "configured",
    [
        {"clippy.toml": ""},
        {".clippy.toml": "msrv = '1.70'"},
        {"Cargo.toml": f"{CRATE}[lints.clippy]\npedantic = 'warn'\n"},
        {"Cargo.toml": f"{CRATE}[workspace.lints.clippy]\nall = 'warn'\n"},
        {"Makefile": "lint:\n\tcargo clippy\n"},
        {"src/lib.rs": "#![warn(missing_docs, clippy::pedantic)]\n"},
    ],
)
def test_clippy_that_a_project_speaks_of_is_missed_where_it_is_not_installed(
    tmp_path: Path, configured: dict[str, str]
) -> None:
    tools(tmp_path, "cargo")
    files(tmp_path, {"Cargo.toml": CRATE, "src/lib.rs": "", **configured})
    lint = check(resolved(tmp_path), "lint")
    assert (lint.missing, lint.hint) == ("cargo-clippy", "rustup component add clippy")


def test_clippy_and_rustfmt_that_nobody_asked_for_are_not_missed(tmp_path: Path) -> None:
    tools(tmp_path, "cargo")
    crate(tmp_path)
    resolution = resolved(tmp_path)
    assert names(resolution) == ["tests", "build"]
    assert [each.why for each in resolution.absent if each.role == "lint"] == [
        "clippy is neither configured (clippy.toml, [lints.clippy] in Cargo.toml) nor installed"
    ]
    files(tmp_path, {"rustfmt.toml": ""})
    assert check(resolved(tmp_path), "lint-format").missing == "cargo-fmt"


def test_without_cargo_every_check_says_how_to_get_it(tmp_path: Path) -> None:
    crate(tmp_path)
    assert {(c.missing, c.hint) for c in resolved(tmp_path).checks} == {
        ("cargo", "Install Rust and put cargo on PATH: https://rustup.rs")
    }


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("tests/it.rs", "tests"),
        ("crates/a/tests/common/mod.rs", "tests"),
        ("benches/sum.rs", "tests"),
        ("src/sum/tests.rs", "tests"),
        ("src/snapshots/demo__a.snap", "tests"),
        (".config/nextest.toml", "config"),
        (".cargo/config.toml", "config"),
        ("rust-toolchain.toml", "config"),
        ("a/clippy.toml", "config"),
        ("src/lib.rs", "product"),
    ],
)
def test_what_a_file_is_for_is_told_by_its_path(path: str, part: str) -> None:
    assert Protection(load_protections(read_profiles(), {})).part(path) == part


def test_of_a_manifest_only_what_decides_is_protected() -> None:
    rule = Protection(load_protections(read_profiles(), {})).rule("a/Cargo.toml")
    assert rule is not None
    assert {"lints", "profile", "test", "lib.doctest"} <= set(rule.keys)
    assert not {"dependencies", "package", "features"} & set(rule.keys)
