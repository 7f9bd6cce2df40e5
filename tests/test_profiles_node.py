"""The shipped profiles on Node projects."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.projects import check, files, managers, names, package, program, resolved

NODE_TEST = "const test = require('node:test')\ntest('it', () => {})\n"


def why(root: Path, role: str) -> list[str]:
    return [absent.why for absent in resolved(root).absent if absent.role == role]


def test_npm_with_jest_behind_a_script_runs_the_script(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"test": "jest", "build": "tsc"}, devDependencies={"jest": "^30"})
    files(tmp_path, {"package-lock.json": "{}", "node_modules/.bin/jest": ""})
    resolution = resolved(tmp_path)
    npm = str(tmp_path / "bin/npm")
    assert (resolution.profile, names(resolution)) == ("generic", ["tests", "build"])
    assert [c.argv for c in resolution.checks] == [(npm, "run", "test"), (npm, "run", "build")]
    assert [(c.parser, c.missing, c.exclusive) for c in resolution.checks] == [("node", "", False), ("build", "", True)]


def test_scripts_whose_dependencies_are_not_installed_are_missing_not_red(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"test": "jest"}, devDependencies={"jest": "^30"})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.missing, tests.hint) == ("node_modules", "Install the project's dependencies: npm install")
    package(tmp_path, scripts={"test": "node a.js"}, devDependencies={})
    assert check(resolved(tmp_path), "tests").missing == ""


@pytest.mark.parametrize(
    ("lock", "declared", "manager"),
    [
        ("package-lock.json", "", "npm"),
        ("pnpm-lock.yaml", "", "pnpm"),
        ("yarn.lock", "", "yarn"),
        ("bun.lock", "", "bun"),
        ("bun.lockb", "", "bun"),
        ("README.md", "", "npm"),
        ("package-lock.json", "pnpm@9.1.0", "pnpm"),
        ("README.md", "yarn@4.5.0+sha224.abc", "yarn"),
    ],
)
def test_the_package_manager_is_the_declared_one_or_the_one_of_the_lock_file(
    tmp_path: Path, lock: str, declared: str, manager: str
) -> None:
    managers(tmp_path)
    files(tmp_path, {lock: "{}"})
    package(tmp_path, scripts={"test": "x"}, packageManager=declared)
    assert check(resolved(tmp_path), "tests").argv == (str(tmp_path / "bin" / manager), "run", "test")


def test_a_package_manager_that_is_not_there_is_missing(tmp_path: Path) -> None:
    package(tmp_path, scripts={"test": "x"})
    files(tmp_path, {"pnpm-lock.yaml": ""})
    tests = check(resolved(tmp_path), "tests")
    assert tests.missing == "pnpm"
    assert tests.hint.startswith("Install pnpm, the package manager")


@pytest.mark.parametrize("script", ['echo "Error: no test specified" && exit 1', "", "  "])
def test_a_script_that_tests_nothing_is_no_test_script(tmp_path: Path, script: str) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"test": script})
    assert names(resolved(tmp_path)) == []
    assert why(tmp_path, "tests")[0].startswith("no test script (npm's placeholder does not count)")


def test_pnpm_with_vitest_and_no_script_runs_vitest(tmp_path: Path) -> None:
    package(tmp_path, devDependencies={"vitest": "^4"})
    files(tmp_path, {"pnpm-lock.yaml": ""})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.parser, tests.missing) == ("vitest", "vitest")
    assert tests.hint.startswith("pnpm install (or pnpm add -D vitest")
    vitest = program(tmp_path / "node_modules/.bin/vitest")
    tests = check(resolved(tmp_path), "tests")
    assert tests.argv == (vitest, "run", "--reporter=json", "--outputFile={report}")
    assert tests.missing == ""


def test_jest_without_a_script_runs_jest(tmp_path: Path) -> None:
    files(tmp_path, {"package.json": '{"jest": {}}'})
    jest = program(tmp_path / "node_modules/.bin/jest")
    assert check(resolved(tmp_path), "tests").argv == (jest, "--ci", "--json", "--outputFile={report}")


@pytest.mark.parametrize("file", ["test/a.js", "src/a.test.mjs", "a_test.cjs", "test.js"])
def test_node_tests_without_scripts_run_with_node(tmp_path: Path, file: str) -> None:
    managers(tmp_path)
    files(tmp_path, {"package.json": "{}", file: NODE_TEST})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.parser, tests.argv[:3]) == (
        "nodetest",
        (str(tmp_path / "bin/node"), "--test", "--test-reporter=junit"),
    )


def test_node_really_runs_and_reports(tmp_path: Path) -> None:
    if not (node := shutil.which("node")):
        pytest.skip("node is not installed")
    files(tmp_path, {"test/a.js": NODE_TEST})
    tests = check(resolved(tmp_path, path=str(Path(node).parent)), "tests")
    report = tmp_path / "report.xml"
    argv = [each.replace("{report}", str(report)) for each in tests.argv]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert b"<testcase" in report.read_bytes()


def test_typescript_and_eslint_that_are_configured_but_not_installed_are_missing(tmp_path: Path) -> None:
    package(tmp_path, devDependencies={"typescript": "^5", "eslint": "^9"})
    files(tmp_path, {"tsconfig.json": "{ // comments are fine here\n}", "eslint.config.mjs": ""})
    resolution = resolved(tmp_path)
    assert {c.name: (c.missing, c.parser) for c in resolution.checks} == {
        "lint": ("eslint", "eslint"),
        "types": ("tsc", "tsc"),
    }
    assert all(c.hint.startswith("npm install") for c in resolution.checks)


def test_typescript_and_eslint_run_from_the_project(tmp_path: Path) -> None:
    package(tmp_path, devDependencies={"typescript": "^5"})
    files(tmp_path, {"tsconfig.json": "{}", ".eslintrc.json": "{}"})
    tsc, eslint = (program(tmp_path / "node_modules/.bin" / name) for name in ("tsc", "eslint"))
    resolution = resolved(tmp_path)
    assert check(resolution, "types").argv == (tsc, "--noEmit", "--pretty", "false")
    assert check(resolution, "lint").argv == (eslint, "--format", "json", "--output-file", "{report}", ".")


def test_a_tsconfig_that_only_points_to_others_is_checked_with_build(tmp_path: Path) -> None:
    files(tmp_path, {"tsconfig.json": '{"files": [], "references": [{"path": "./app"}]}'})
    tsc = program(tmp_path / "node_modules/.bin/tsc")
    assert check(resolved(tmp_path), "types").argv == (tsc, "--build", "--noEmit", "--pretty", "false")


def test_scripts_for_lint_and_types_come_before_the_tools(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"lint": "x", "typecheck": "y"}, devDependencies={"typescript": "^5"})
    files(tmp_path, {"tsconfig.json": "{}", "eslint.config.js": "", "node_modules/.package-lock.json": ""})
    npm = str(tmp_path / "bin/npm")
    assert [c.argv for c in resolved(tmp_path).checks] == [(npm, "run", "lint"), (npm, "run", "typecheck")]


@pytest.mark.parametrize(("private", "profile"), [(True, "generic"), (False, "library")])
def test_a_node_package_that_is_published_is_a_library(tmp_path: Path, private: bool, profile: str) -> None:
    package(tmp_path, exports="./a.js", private=private)
    assert resolved(tmp_path).profile == profile
