"""What the pages say is true: commands, exit codes, options, links and paths."""

import os
import re
import textwrap
from dataclasses import fields
from pathlib import Path

import click
import pytest

from aigon.agents.api_agent.settings import Settings
from aigon.cli import ALIASES, VERBS
from aigon.commands.root import root
from aigon.errors import Exit

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/proof.md",
    "docs/agents.md",
    "docs/api-agent.md",
    "docs/api.md",
    "docs/costs.md",
    "docs/hooks.md",
    "docs/endpoints.md",
    "docs/profiles.md",
    "docs/parsers.md",
    "docs/run-folder.md",
    "docs/arena.md",
    "docs/promises.md",
    "docs/sandbox.md",
    "docs/judges.md",
    "docs/speed.md",
    ".aigon.example/README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/design").glob("*.md")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/decisions").glob("*.md")),
)
DEMO = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/aigon demo"
TESTS = "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest -n 3"
_FENCED = re.compile(r"(?ms)^```.*?^```$")
_PATH = re.compile(r"`((?:aigon|tests|profiles|templates|benchmarks|\.ci|\.aigon\.example)/[\w./-]*)`")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def commands() -> dict[str, click.Command]:
    context = click.Context(root)
    found = {verb: command for verb in VERBS if (command := root.get_command(context, verb))}
    below = {verb: command.commands for verb, command in found.items() if isinstance(command, click.Group)}
    return found | {f"{verb} {name}": each for verb, inside in below.items() for name, each in inside.items()}


def test_the_readme_has_two_commands_that_do_all_their_set_up() -> None:
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", page("README.md"))
    assert f"{DEMO}\n" in blocks
    assert f"{TESTS}\n" in blocks


def test_ci_runs_the_very_test_command_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    lines = [line.strip() for line in script.read_text(encoding="utf-8").splitlines()]
    assert TESTS in lines
    assert "set -euo pipefail" in lines
    assert os.access(script, os.X_OK)


def test_ci_checks_style_types_and_arrows_too() -> None:
    script = page(".ci/run")
    for tool in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert f".venv/bin/{tool}\n" in script


def test_the_contributing_page_names_the_same_commands() -> None:
    assert TESTS in page("CONTRIBUTING.md")
    assert ".ci/run" in page("CONTRIBUTING.md")


def test_the_table_of_exit_codes_is_complete() -> None:
    rows = re.findall(r"(?m)^\| (\d+) \|", page("README.md"))
    assert [int(row) for row in rows] == sorted(Exit)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page(name))
    assert [link for link in links if not (ROOT / name).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_path_of_the_project_that_a_page_names_is_there(name: str) -> None:
    named = set(_PATH.findall(_built(page(name))))
    assert sorted(path for path in named if not (ROOT / path).exists() and "NAME" not in path) == []


@pytest.mark.parametrize("name", PAGES)
def test_every_verb_that_a_page_names_is_one(name: str) -> None:
    said = set(re.findall(r"`aigon ([a-z][a-z-]+)", _built(page(name))))
    assert sorted(said - {*VERBS, *ALIASES, "help"}) == []


@pytest.mark.parametrize("name", PAGES)
def test_every_option_that_a_page_names_is_one(name: str) -> None:
    parameters = [each for command in commands().values() for each in command.params]
    known = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
    said = set(re.findall(r"`aigon [^`]*?(--[a-z][a-z-]*)|`(--[a-z][a-z-]*)", _built(page(name))))
    foreign = {
        "--help",
        "--version",
        "--no-ff",
        "--growth",
        "--project",
        "--dangerously-skip-permissions",
        "--max-budget-usd",
    }
    # What can stand in `agents.NAME.args` of the agent that is built in.
    built_in = {f"--{option.name.replace('_', '-')}" for option in fields(Settings)}
    assert sorted({one or other for one, other in said} - known - foreign - built_in) == []


def test_the_readme_names_every_verb_of_the_way_of_a_feature() -> None:
    text = page("README.md")
    assert [verb for verb in VERBS if f"aigon {verb}" not in text] == []


def test_architecture_shows_the_loop_as_it_is() -> None:
    (shown,) = re.findall(r"(?ms)^```python\n(.*?)^```$", page("ARCHITECTURE.md"))
    assert textwrap.indent(shown, "    ") in page("aigon/loop/loop.py")


def test_architecture_names_files_that_are_there() -> None:
    named = re.findall(r"`((?!refs/)[a-z_]+/[\w/]*\w\.py|(?!refs/)[a-z_]+/[\w/]*/)`", _built(page("ARCHITECTURE.md")))
    assert len(named) > 15
    missing = [name for name in named if not any((ROOT / base / name).exists() for base in ("aigon", "."))]
    assert [name for name in missing if "NAME" not in name and "VERB" not in name] == []


def _built(text: str) -> str:
    """The page without its code blocks, and without what it says is not built yet."""
    text = re.sub(r"(?ms)^## Not built yet\n.*?(?=^## |\Z)", "", text)
    return _FENCED.sub("", text)
