"""The shipped profiles on Node projects."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from aigon.checks.parsers import parse
from aigon.model.checks import Check, ParsedOutput, TestCounts
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
    assert [c.argv[:3] for c in resolution.checks] == [(npm, "run", "test"), (npm, "run", "build")]
    assert [(c.parser, c.missing, c.exclusive) for c in resolution.checks] == [("jest", "", False), ("build", "", True)]


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
    assert tests.argv == (vitest, "run", "--reporter=default", "--reporter=json", "--outputFile.json={report}")
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
    assert (tests.parser, tests.argv[:2]) == ("nodetest", (str(tmp_path / "bin/node"), "--test"))
    assert tests.argv[-1] == "--test-reporter-destination={report}"


def ran(root: Path, tests: Check) -> tuple[int, ParsedOutput]:
    """The exit code of a check that is run as aigon runs it, and what its parser reads."""
    report = root / "the report"
    argv = [each.replace("{report}", str(report)) for each in tests.argv]
    env = {**os.environ, **tests.env, "npm_config_update_notifier": "false"}
    done = subprocess.run(argv, cwd=root, env=env, stdout=-1, stderr=-2, timeout=100, check=False)
    assert tests.parser
    return done.returncode, parse(tests.parser, done.stdout, report.read_bytes() if report.exists() else None)


def installed(*tools: str) -> str:
    """The PATH on which all of `tools` are."""
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        pytest.skip(f"{missing[0]} is not installed")
    return os.environ["PATH"]


RED = "test('wrong', () => { require('node:assert').strictEqual(1, 2) })\n"


LOCKS = {
    "npm": {"package-lock.json": '{"lockfileVersion": 3}'},
    "pnpm": {"pnpm-workspace.yaml": "packages: [packages/*]\n"},
    "yarn": {"yarn.lock": ""},
    "bun": {"bun.lock": ""},
}


def set_up(root: Path, manager: str, **content: object) -> None:
    """A package of `manager`, whose members and dependencies, if any, are linked."""
    package(root, name="root", version="1.0.0", private=True, **content)
    files(root, LOCKS[manager])
    command = [manager, "install", *(["--no-audit", "--no-fund", "--offline"] if manager == "npm" else [])]
    subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=100)


@pytest.mark.parametrize("manager", ["", *(pytest.param(name, marks=pytest.mark.slow) for name in LOCKS)])
def test_node_tests_really_run_and_report(tmp_path: Path, manager: str) -> None:
    path = installed("node", *filter(None, [manager]))
    files(tmp_path, {"test/a.js": NODE_TEST + RED})
    if manager:
        set_up(tmp_path, manager, scripts={"test": "node --test test/a.js"})
    tests = check(resolved(tmp_path, path=path), "tests")
    code, found = ran(tmp_path, tests)
    assert (tests.parser, code, found.counts) == ("nodetest", 1, TestCounts(total=2, passed=1, failed=1)), found
    assert [name.rpartition("::")[2] for name in found.tests] == ["it", "wrong"]


@pytest.mark.parametrize("manager", ["npm", "pnpm", "yarn", "bun"])
def test_scripts_of_a_workspace_really_run_in_the_packages_that_have_them(tmp_path: Path, manager: str) -> None:
    path = installed("node", manager)
    for name, scripts in (("a", {"test": "node --test"}), ("b", {"test": "node --test"}), ("c", {})):
        package(tmp_path / "packages" / name, name=name, version="1.0.0", scripts=scripts)
    files(tmp_path, {"packages/a/test/a.js": NODE_TEST, "packages/b/test/b.js": NODE_TEST + RED})
    set_up(tmp_path, manager, workspaces=["packages/*"])
    code, found = ran(tmp_path, check(resolved(tmp_path, path=path), "tests"))
    assert (code, found.counts and found.counts.failed) == (1, 1), found
    assert found.problems[0].test.endswith("wrong")


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
    types = check(resolved(tmp_path), "types")
    # --noEmit would be refused: the projects that others refer to have to be built for them.
    assert (types.argv, types.exclusive) == ((tsc, "--build", "--pretty", "false"), True)


JEST = ("--json", "--outputFile={report}")
VITEST = ("--reporter=default", "--reporter=json", "--outputFile.json={report}")
MOCHA = ("--reporter=json", "--reporter-option", "output={report}")


@pytest.mark.parametrize(
    ("script", "parser", "options"),
    [
        ("jest", "jest", JEST),
        ("jest --coverage --runInBand src", "jest", JEST),
        ("NODE_ENV=test npx jest", "jest", JEST),
        ("cross-env NODE_OPTIONS='--experimental-vm-modules --no-warnings' jest", "jest", JEST),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", "jest", JEST),
        ("react-scripts test", "jest", JEST),
        ("vue-cli-service test:unit", "jest", JEST),
        ("vitest", "vitest", VITEST),
        ("vitest run --coverage", "vitest", VITEST),
        ("vitest --watch=false", "vitest", VITEST),
        ("mocha", "mocha", MOCHA),
        ("c8 --all mocha 'test/**/*.js'", "mocha", MOCHA),
        ("nyc mocha -r ts-node/register", "mocha", MOCHA),
        ("playwright test", "playwright", ("--reporter=list,json",)),
        ("bun test", "bun", ("--reporter=junit", "--reporter-outfile={report}")),
        # More than one command, a report of its own, a redirection: as it is.
        ("eslint . && jest", "node", None),
        ("jest | tee log", "node", None),
        ("jest --json > out.json", "node", None),
        ("vitest --reporter=junit", "node", None),
        ("mocha -R dot", "node", None),
        ("npm run test:unit", "node", None),
        ("turbo run test", "node", None),
        ("my-jest", "node", None),
        ("jesting", "node", None),
        ("ava", "node", None),
        ("ng test", "node", ("--watch=false",)),
    ],
)
@pytest.mark.parametrize(
    ("lock", "dashes"), [("package-lock.json", ("--",)), ("pnpm-lock.yaml", ()), ("yarn.lock", ())]
)
def test_a_script_that_is_plainly_a_runner_reports(
    tmp_path: Path, script: str, parser: str, options: tuple[str, ...] | None, lock: str, dashes: tuple[str, ...]
) -> None:
    managers(tmp_path)
    program(tmp_path / "bin/env")
    package(tmp_path, scripts={"test": script})
    files(tmp_path, {lock: "{}"})
    tests = check(resolved(tmp_path), "tests")
    place = tests.argv.index("test") + 1
    assert (tests.parser, tests.env["CI"]) == (parser, "true")
    assert tests.argv[place:] == ((*dashes, *options) if options else ())


@pytest.mark.parametrize(
    "script", ["node --test", "node --test test/*.js", "c8 node --import tsx --test src", "tsx --test a.ts"]
)
def test_a_script_of_node_test_reports_by_its_environment(tmp_path: Path, script: str) -> None:
    managers(tmp_path)
    env = program(tmp_path / "bin/env")
    package(tmp_path, scripts={"test": script})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.parser, tests.argv[0], tests.argv[2:]) == ("nodetest", env, ("npm", "run", "test"))
    assert tests.argv[1].startswith("NODE_OPTIONS=") and tests.argv[1].endswith('destination="{report}"')
    for other in (f"{script} --test-reporter=dot", f"NODE_OPTIONS=--no-warnings {script}", f"{script} && true"):
        package(tmp_path, scripts={"test": other})
        assert check(resolved(tmp_path), "tests").parser == "node"


@pytest.mark.parametrize(
    ("script", "dependency", "runs"),
    [
        ("jest --watch", "jest", ("--ci", "--json", "--outputFile={report}")),
        ("jest --watchAll", "jest", ("--ci", "--json", "--outputFile={report}")),
        ("jest -u", "jest", ("--ci", "--json", "--outputFile={report}")),
        ("vitest --watch", "vitest", ("run", *VITEST)),
        ("vitest dev", "vitest", ("run", *VITEST)),
        ("vitest -u", "vitest", ("run", *VITEST)),
        ("mocha -w", "mocha", MOCHA),
    ],
)
def test_a_script_that_never_ends_or_rewrites_what_it_expects_is_not_run(
    tmp_path: Path, script: str, dependency: str, runs: tuple[str, ...]
) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"test": script}, devDependencies={dependency: "*"})
    tool = program(tmp_path / "node_modules/.bin" / dependency)
    assert check(resolved(tmp_path), "tests").argv == (tool, *runs)
    package(tmp_path, scripts={"test": script, "test:ci": dependency}, devDependencies={dependency: "*"})
    assert check(resolved(tmp_path), "tests").argv[-1] == "test:ci"


def test_playwright_beside_other_tests_is_a_check_of_its_own_at_the_end(tmp_path: Path) -> None:
    managers(tmp_path)
    program(tmp_path / "bin/env")
    playwright = program(tmp_path / "node_modules/.bin/playwright")
    files(tmp_path, {"playwright.config.ts": ""})
    package(tmp_path, scripts={"test": "vitest"}, devDependencies={"@playwright/test": "^1"})
    e2e = check(resolved(tmp_path), "tests-e2e")
    assert (e2e.role, e2e.when, e2e.parser) == ("tests", "final", "playwright")
    assert e2e.argv[2:] == (playwright, "test", "--reporter=list,json")
    package(tmp_path, scripts={"test": "vitest", "test:e2e": "playwright test --project=a"}, devDependencies={})
    e2e = check(resolved(tmp_path), "tests-e2e")
    assert (e2e.argv[2:6], e2e.env["CI"]) == (("npm", "run", "test:e2e", "--"), "true")
    package(tmp_path, scripts={"test": "playwright test"}, devDependencies={"@playwright/test": "^1"})
    assert names(resolved(tmp_path)) == ["tests"]


EACH = {
    "package-lock.json": ("npm", "run", "--workspaces", "--if-present", "build"),
    "pnpm-lock.yaml": ("pnpm", "--recursive", "run", "build"),
    ".yarnrc.yml": ("yarn", "workspaces", "foreach", "--all", "--verbose", "run", "build"),
    "bun.lock": ("bun", "run", "--filter=*", "build"),
}


@pytest.mark.parametrize("lock", EACH)
def test_without_a_script_at_the_root_those_of_the_packages_run(tmp_path: Path, lock: str) -> None:
    managers(tmp_path)
    files(tmp_path, {lock: ""})
    package(tmp_path, workspaces=["packages/*"], private=True)
    package(tmp_path / "packages/a", scripts={"build": "x", "test": "y", "typecheck": "tsc", "lint": "eslint ."})
    resolution = resolved(tmp_path)
    assert names(resolution) == ["tests", "build", "lint", "types"]
    manager, *rest = EACH[lock]
    assert check(resolution, "build").argv == (str(tmp_path / "bin" / manager), *rest)
    package(tmp_path, workspaces=["packages/*"], private=True, scripts={"build": "turbo build"})
    assert check(resolved(tmp_path), "build").argv == (str(tmp_path / "bin" / manager), "run", "build")


def test_yarn_1_asks_each_package_that_has_the_script(tmp_path: Path) -> None:
    managers(tmp_path)
    files(tmp_path, {"yarn.lock": "# yarn lockfile v1\n"})
    package(tmp_path, workspaces=["packages/*"], private=True)
    package(tmp_path / "packages/a", scripts={"test": "x"})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.argv[0], tests.argv[-1]) == (str(tmp_path / "bin/node"), "test")
    assert tests.shown == "yarn workspace NAME run test, for every package that has it"
    (tmp_path / "bin/yarn").unlink()
    assert check(resolved(tmp_path), "tests").missing == "yarn"
    package(tmp_path, workspaces=["packages/*"], private=True, packageManager="yarn@4.5.0")
    assert check(resolved(tmp_path), "tests").argv[:3] == ("yarn", "workspaces", "foreach")


def test_packages_without_the_script_leave_it_absent(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path, workspaces=["packages/*"])
    package(
        tmp_path / "packages/a", scripts={"test": 'echo "Error: no test specified" && exit 1', "lint": "eslint --fix ."}
    )
    assert names(resolved(tmp_path)) == []


def test_folders_of_packages_outside_of_a_workspace_run_nothing(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path)
    package(tmp_path / "examples/a", scripts={"test": "jest"})
    assert names(resolved(tmp_path)) == []


@pytest.mark.parametrize("fixes", ["eslint . --fix", "eslint --fix .", "biome check --write .", "prettier --write ."])
def test_a_lint_script_that_changes_files_is_not_run(tmp_path: Path, fixes: str) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"lint": fixes})
    assert names(resolved(tmp_path)) == []
    assert "(one with --fix or --write does)" in why(tmp_path, "lint")[0]
    files(tmp_path, {"eslint.config.js": ""})
    assert check(resolved(tmp_path), "lint").argv[1:3] == ("--format", "json")
    package(tmp_path, scripts={"lint": fixes, "lint:check": "eslint ."})
    assert check(resolved(tmp_path), "lint").argv[-1] == "lint:check"


@pytest.mark.parametrize(
    ("script", "parser"),
    [
        ("eslint . --max-warnings 0", "eslint"),
        ("eslint 'src/**/*.{ts,tsx}'", "eslint"),
        ("eslint --fix-dry-run .", "eslint"),
        ("eslint . -f unix", "nodelint"),
        ("eslint . && prettier --check .", "nodelint"),
        ("biome lint .", "nodelint"),
        ("next lint", "nodelint"),
    ],
)
def test_a_lint_script_that_is_plainly_eslint_reports(tmp_path: Path, script: str, parser: str) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"lint": script})
    lint = check(resolved(tmp_path), "lint")
    assert lint.parser == parser
    assert ("{report}" in lint.argv) == (parser == "eslint")


@pytest.mark.parametrize(
    ("file", "content", "more"),
    [
        (".eslintrc.json", "{}", ()),
        (".eslintrc.cjs", "parser: '@typescript-eslint/parser'", ("--ext", ".js,.jsx,.cjs,.mjs,.ts,.tsx")),
        (".eslintrc.yml", "extends: plugin:vue/recommended", ("--ext", ".js,.jsx,.cjs,.mjs,.ts,.tsx,.vue")),
        ("eslint.config.ts", "typescript", ()),
    ],
)
def test_eslint_looks_at_the_files_that_its_configuration_is_for(
    tmp_path: Path, file: str, content: str, more: tuple[str, ...]
) -> None:
    files(tmp_path, {"package.json": "{}", file: content})
    eslint = program(tmp_path / "node_modules/.bin/eslint")
    argv = check(resolved(tmp_path), "lint").argv
    assert argv == (eslint, *more, "--format", "json", "--output-file", "{report}", ".")


def test_biome_and_prettier_check_without_writing(tmp_path: Path) -> None:
    managers(tmp_path)
    package(tmp_path, devDependencies={"prettier": "^3"})
    files(tmp_path, {"biome.json": "{}", ".prettierrc": "{}"})
    biome, prettier = (program(tmp_path / "node_modules/.bin" / name) for name in ("biome", "prettier"))
    resolution = resolved(tmp_path)
    assert check(resolution, "lint").argv == (biome, "check", "--max-diagnostics=200", ".")
    assert check(resolution, "lint-format").argv == (prettier, "--check", ".")


@pytest.mark.parametrize(
    ("scripts", "runs"),
    [
        ({"format": "prettier --write ."}, ("--check", ".")),
        ({"format": "prettier --write src"}, None),
        ({"lint": "eslint . && prettier --check ."}, None),
        ({"format:check": "prettier --check src"}, ("run", "format:check")),
        ({"format": "prettier --check ."}, ("run", "format")),
        ({"format:check": "prettier --write ."}, ("--check", ".")),
    ],
)
def test_prettier_checks_what_the_project_formats(
    tmp_path: Path, scripts: dict[str, str], runs: tuple[str, ...] | None
) -> None:
    managers(tmp_path)
    package(tmp_path, scripts=scripts, devDependencies={"prettier": "^3"}, prettier={"semi": False})
    program(tmp_path / "node_modules/.bin/prettier")
    found = [each.argv[1:] for each in resolved(tmp_path).checks if each.name == "lint-format"]
    assert found == ([runs] if runs else [])


@pytest.mark.parametrize(
    ("scripts", "runs"),
    [
        ({"typecheck": "tsc --noEmit"}, ("run", "typecheck")),
        ({"check-types": "tsc --noEmit"}, ("run", "check-types")),
        ({"check": "svelte-kit sync && svelte-check"}, ("run", "check")),
        ({"check": "biome check ."}, ("--noEmit", "--pretty", "false")),
        ({"typecheck": "tsc --noEmit --watch"}, ("--noEmit", "--pretty", "false")),
        ({"typecheck": "tsc -w"}, ("--noEmit", "--pretty", "false")),
        ({"types": "tsc --emitDeclarationOnly"}, ("--noEmit", "--pretty", "false")),
    ],
)
def test_types_are_checked_by_a_script_that_only_does_that_and_ends(
    tmp_path: Path, scripts: dict[str, str], runs: tuple[str, ...]
) -> None:
    managers(tmp_path)
    package(tmp_path, scripts=scripts, devDependencies={"typescript": "^5"})
    files(tmp_path, {"tsconfig.json": "{}"})
    program(tmp_path / "node_modules/.bin/tsc")
    assert check(resolved(tmp_path), "types").argv[1:] == runs


def test_what_tsc_and_vue_tsc_remember_stays_out_of_the_tree(tmp_path: Path) -> None:
    package(tmp_path, devDependencies={"typescript": "^5"})
    files(tmp_path, {"tsconfig.json": '{"compilerOptions": {"incremental": true}}'})
    argv = check(resolved(tmp_path), "types").argv
    assert argv[argv.index("--tsBuildInfoFile") + 1] == "{scratch}/tsbuildinfo"
    package(tmp_path, devDependencies={"typescript": "^5", "vue-tsc": "^2"})
    assert check(resolved(tmp_path), "types").missing == "vue-tsc"


@pytest.mark.parametrize("script", ["vite build --watch", "tsc -w", "webpack --mode production -w", "rollup -c -w"])
def test_a_build_that_never_ends_is_no_build(tmp_path: Path, script: str) -> None:
    managers(tmp_path)
    package(tmp_path, scripts={"build": script})
    assert names(resolved(tmp_path)) == []
    package(tmp_path, scripts={"build": "npm run build -w packages/a"})
    assert names(resolved(tmp_path)) == ["build"]


@pytest.mark.parametrize(
    ("manager", "how"),
    [("pnpm", "corepack enable pnpm"), ("yarn", "corepack enable yarn"), ("bun", "npm install --global bun")],
)
def test_a_manager_that_is_not_there_is_missing_with_a_way_to_get_it(tmp_path: Path, manager: str, how: str) -> None:
    package(tmp_path, scripts={"test": "jest", "build": "x", "lint": "eslint ."}, packageManager=f"{manager}@4.0.0")
    program(tmp_path / "bin/corepack")
    for each in resolved(tmp_path).checks:
        assert (each.missing, how in each.hint) == (manager, True)


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


def test_a_script_that_hands_on_to_packages_which_change_files_is_no_linter(tmp_path: Path) -> None:
    package(tmp_path, workspaces=["web"], scripts={"lint": "bun run --filter web lint", "test": "x"})
    files(tmp_path, {"web/package.json": '{"scripts": {"lint": "biome check --write ./"}}', "bun.lock": ""})
    assert names(resolved(tmp_path)) == ["tests"]
    files(tmp_path, {"web/package.json": '{"scripts": {"lint": "biome check ./"}}'})
    assert check(resolved(tmp_path), "lint").argv[1:] == ("run", "lint")


@pytest.mark.parametrize(
    ("script", "name"),
    [("test:eslint", "lint"), ("test:lint", "lint"), ("check:type", "types"), ("test:types", "types")],
)
def test_linters_and_type_checkers_among_the_tests_are_found_by_their_names(
    tmp_path: Path, script: str, name: str
) -> None:
    package(tmp_path, scripts={script: "x"})
    files(tmp_path, {".eslintrc": "{}", "tsconfig.json": "{}"})
    assert check(resolved(tmp_path), name).argv[1:] == ("run", script)


def test_packages_that_check_types_by_a_script_called_check_are_asked_for_it(tmp_path: Path) -> None:
    package(tmp_path, packageManager="pnpm@10.0.0", private=True)
    files(tmp_path, {"pnpm-workspace.yaml": "packages: [packages/*]\n"})
    files(tmp_path, {"packages/a/package.json": '{"scripts": {"check": "tsc && cd ./test && tsc"}}'})
    assert check(resolved(tmp_path), "types").argv[1:] == ("--recursive", "run", "check")
    files(tmp_path, {"packages/a/package.json": '{"scripts": {"check": "biome check --write"}}'})
    assert names(resolved(tmp_path)) == []


def test_a_formatter_that_each_package_runs_by_itself_is_not_run_at_the_root(tmp_path: Path) -> None:
    package(tmp_path, workspaces=["packages/*"], devDependencies={"prettier": "3"}, private=True)
    files(tmp_path, {".prettierrc": "{}", "packages/a/package.json": '{"scripts": {"x": "y"}}'})
    assert names(resolved(tmp_path)) == ["lint-format"]
    files(tmp_path, {"packages/a/package.json": '{"scripts": {"lint": "prettier --check src"}}'})
    assert names(resolved(tmp_path)) == ["lint"]


@pytest.mark.parametrize("published", [{"files": ["lib"]}, {"publishConfig": {"access": "public"}}])
def test_what_is_published_is_a_library_without_an_entry_of_its_own(
    tmp_path: Path, published: dict[str, object]
) -> None:
    package(tmp_path, name="x", version="1.0.0", **published)
    assert resolved(tmp_path).profile == "library"
    package(tmp_path, name="x", version="1.0.0", private=True, **published)
    assert resolved(tmp_path).profile == "generic"
