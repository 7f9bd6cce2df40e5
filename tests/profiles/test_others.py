"""The shipped profiles on .NET, PHP and Ruby projects."""

import json
from pathlib import Path

import pytest

from tests.checks.parsers.captured import captured, read
from tests.profiles.test_apple import ran
from tests.projects import check, files, names, program, resolved

PROJECT = '<Project Sdk="Microsoft.NET.Sdk"><PackageReference Include="{}" Version="1" /></Project>'


def commands(root: Path) -> dict[str, tuple[str, ...]]:
    """The command of each check, its program by name."""
    return {c.name: (Path(c.argv[0]).name, *c.argv[1:]) for c in resolved(root).checks}


def dotnet(root: Path, package: str = "xunit") -> None:
    files(root, {"Demo.sln": "", "test/Demo.Tests/Demo.Tests.csproj": PROJECT.format(package)})


@pytest.mark.parametrize("package", ["xunit", "xunit.v3", "NUnit", "MSTest.TestFramework", "Microsoft.NET.Test.Sdk"])
def test_dotnet_tests_builds_and_looks_at_the_format(tmp_path: Path, package: str) -> None:
    dotnet(tmp_path, package)
    files(tmp_path, {".editorconfig": ""})
    assert {c.name: c.missing for c in resolved(tmp_path).checks} == dict.fromkeys(("tests", "lint", "build"), "dotnet")
    program(tmp_path / "bin/dotnet")
    assert commands(tmp_path)["lint"] == ("dotnet", "format", "--verify-no-changes")
    assert commands(tmp_path)["build"] == ("dotnet", "build", "--nologo")
    assert check(resolved(tmp_path), "build").env["UseSharedCompilation"] == "false"


def test_dotnet_without_a_test_project_has_no_tests(tmp_path: Path) -> None:
    files(tmp_path, {"Demo.csproj": PROJECT.format("Serilog")})
    assert names(resolved(tmp_path)) == ["build"]


def test_the_reports_of_all_test_projects_become_one(tmp_path: Path) -> None:
    dotnet(tmp_path)
    files(tmp_path, {"a.trx": captured("dotnet-documented.xml").decode()})
    script = 'cp "$HERE/a.trx" "$6/one.trx"; sed "s/Demo.Tests/More.Tests/g" "$HERE/a.trx" > "$6/two.trx"; exit 1'
    program(tmp_path / "bin/dotnet", script)
    assert ran(tmp_path, check(resolved(tmp_path), "tests")).returncode == 1
    found = read("dotnet", b"", (tmp_path / "report").read_bytes())
    assert found.counts is not None
    assert (found.counts.total, found.counts.failed) == (12, 4)
    assert {"Demo.Tests.CalcTests.Adds", "More.Tests.CalcTests.Adds"} <= found.tests.keys()


def test_the_newer_test_platform_of_dotnet_is_run_as_it_is(tmp_path: Path) -> None:
    dotnet(tmp_path)
    program(tmp_path / "bin/dotnet")
    files(tmp_path, {"global.json": '{"test": {"runner": "Microsoft.Testing.Platform"}}'})
    assert commands(tmp_path)["tests"] == ("dotnet", "test")


def composer(root: Path, **content: object) -> None:
    files(root, {"composer.json": json.dumps(content), "vendor/autoload.php": ""})
    for name in ("php", "composer"):
        program(root / "bin" / name)


@pytest.mark.parametrize(
    "script", ["", "phpunit", "@php vendor/bin/phpunit --colors=always", ["@cs", "vendor/bin/phpunit"]]
)
def test_phpunit_writes_a_report(tmp_path: Path, script: str | list[str]) -> None:
    composer(tmp_path, **{"require-dev": {"phpunit/phpunit": "^11"}, "scripts": {"test": script}})
    files(tmp_path, {"phpunit.xml.dist": ""})
    assert commands(tmp_path) == {"tests": ("phpunit", "--do-not-cache-result", "--log-junit", "{report}")}
    assert check(resolved(tmp_path), "tests").argv[0] == "vendor/bin/phpunit"


def test_a_script_of_composer_is_the_projects_own_word(tmp_path: Path) -> None:
    composer(tmp_path, scripts={"test": "php artisan test"})
    files(tmp_path, {"phpunit.xml": ""})
    tests = check(resolved(tmp_path), "tests")
    assert tests.argv[1:] == ("--no-interaction", "run-script", "test")
    assert tests.env == {"COMPOSER_PROCESS_TIMEOUT": "0"}


def test_php_tools_come_out_of_vendor_or_from_path(tmp_path: Path) -> None:
    composer(tmp_path, **{"require-dev": {"pestphp/pest": "^3", "phpstan/phpstan": "^2"}})
    files(tmp_path, {"phpunit.xml": "", "phpstan.neon": "", ".phpcs.xml.dist": ""})
    program(tmp_path / "bin/phpcs")
    assert commands(tmp_path) == {
        "tests": ("pest", "--do-not-cache-result", "--log-junit", "{report}"),
        "lint": ("phpcs", "-q", "--report=checkstyle"),
        "types": ("phpstan", "analyse", "--no-progress", "--no-interaction", "--error-format=checkstyle"),
    }


def test_php_without_its_dependencies_is_missing_not_red(tmp_path: Path) -> None:
    files(tmp_path, {"composer.json": '{"require-dev": {"phpunit/phpunit": "^11"}}', "phpunit.xml": ""})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.missing, tests.hint) == ("vendor", "Install the project's dependencies: composer install")


def test_rspec_and_rubocop_run_under_bundler(tmp_path: Path) -> None:
    program(tmp_path / "bin/bundle")
    files(tmp_path, {"Gemfile": "gem 'rubocop'", "spec/calc_spec.rb": "", ".rubocop.yml": ""})
    report = ("--format", "json", "--out", "{report}")
    assert commands(tmp_path) == {
        "tests": ("bundle", "exec", "rspec", "--format", "progress", *report),
        "lint": ("bundle", "exec", "rubocop", *report),
    }


@pytest.mark.parametrize(
    ("project", "command"),
    [
        ({"Gemfile": "", "Rakefile": ""}, ("bundle", "exec", "rake", "test")),
        ({"Rakefile": ""}, ("rake", "test")),
        ({"Gemfile": "", "Rakefile": "", "bin/rails": ""}, ("bundle", "exec", "rails", "test")),
    ],
)
def test_minitest_runs_by_rake_or_rails(tmp_path: Path, project: dict[str, str], command: tuple[str, ...]) -> None:
    for name in ("bundle", "rake"):
        program(tmp_path / "bin" / name)
    files(tmp_path, {**project, "test/calc_test.rb": ""})
    assert commands(tmp_path) == {"tests": command}
    assert check(resolved(tmp_path), "tests").parser == "minitest"


def test_ruby_tools_without_a_gemfile_come_from_path(tmp_path: Path) -> None:
    files(tmp_path, {"spec/calc_spec.rb": "", ".rubocop.yml": ""})
    assert {c.name: c.missing for c in resolved(tmp_path).checks} == {"tests": "rspec", "lint": "rubocop"}


def test_a_gemfile_without_ruby_brings_tools_for_another_language(tmp_path: Path) -> None:
    files(tmp_path, {"Gemfile": "gem 'cocoapods'\n", "Package.swift": ""})
    assert "Ruby" not in {absent.ecosystem for absent in resolved(tmp_path).absent}
    assert names(resolved(tmp_path)) == ["build"]
    files(tmp_path, {"lib/a.rb": "", ".rubocop.yml": ""})
    assert "lint" in {each.role for each in resolved(tmp_path).checks}
