"""What the pages say is true: commands, exit codes, options, links and paths."""

import functools
import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import fields

from aigon.cli import ALIASES, VERBS
from aigon.commands.root import root
from aigon.errors import Exit

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    sorted(
        str(path.relative_to(ROOT))
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / ".aigon.example" / "README.md")
    )
)
DEMO = "python3 -m venv .venv && .venv/bin/pip install '.[demo]' && .venv/bin/aigon demo"
TESTS = "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest -n 4"
_FENCED = re.compile(r"(?ms)^(`{3,})[^`\n]*\n.*?^\1$")
_HEADING = re.compile(r"(?m)^#{1,6} (.+)$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_PATH = re.compile(r"`((?:aigon|tests|profiles|templates|benchmarks|\.ci|\.aigon\.example)/[\w./-]*)`")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@functools.cache
def commands() -> dict[str, click.Command]:
    context = click.Context(root)
    found = {verb: command for verb in VERBS if (command := root.get_command(context, verb))}
    groups = {verb: command for verb, command in found.items() if isinstance(command, click.Group)}
    below = (
        (f"{verb} {name}", group.get_command(context, name))
        for verb, group in groups.items()
        for name in group.list_commands(context)
    )
    return found | {name: each for name, each in below if each}


def test_the_readme_has_two_commands_that_do_all_their_set_up() -> None:
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", page("README.md"))
    assert f"{DEMO}\n" in blocks
    assert f"{TESTS}\n" in blocks


def test_ci_runs_the_very_commands_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    lines = [line.strip() for line in script.read_text(encoding="utf-8").splitlines()]
    assert TESTS in lines
    assert DEMO in lines
    assert "set -euo pipefail" in lines
    assert os.access(script, os.X_OK)


def test_the_contributing_page_names_the_same_commands() -> None:
    assert TESTS in page("CONTRIBUTING.md")
    assert ".ci/run" in page("CONTRIBUTING.md")


def test_the_readme_is_read_within_a_few_minutes() -> None:
    assert (ROOT / "README.md").stat().st_size <= 9_000


def test_the_table_of_exit_codes_is_complete() -> None:
    rows = re.findall(r"(?m)^\| (\d+) \|", page("docs/exit-codes.md"))
    assert [int(row) for row in rows] == sorted(Exit)


def test_every_link_within_the_pages_leads_somewhere() -> None:
    lost = []
    for name in PAGES:
        for file, anchor in re.findall(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)", _without_code(page(name))):
            target = (ROOT / name).parent / file if file else ROOT / name
            if not target.exists() or (anchor and anchor not in list_anchors(target.read_text(encoding="utf-8"))):
                lost.append(f"{name}: {file}#{anchor}")
    assert lost == []


@functools.cache
def list_anchors(text: str) -> set[str]:
    """The anchors of a page, by GitHub's rule for headings; no heading occurs twice."""
    headings = [_LINK.sub(r"\1", found) for found in _HEADING.findall(_without_code(text))]
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def test_the_index_names_every_page_of_the_documentation() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", page("docs/index.md")))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - linked == {"index.md"}


def test_every_error_that_troubleshooting_explains_is_one_of_aigons() -> None:
    sources = "\0".join(path.read_text(encoding="utf-8") for path in (ROOT / "aigon").rglob("*.py"))
    texts = re.sub(r"[\"']\s*\n\s*f?[\"']", "", sources)  # literals that Python joins
    cells = re.findall(r"(?m)^\| (`.*?) \| ", page("docs/troubleshooting.md"))
    messages = [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]
    parts = [part.strip(" ,") for text in messages for part in text.split("...")]
    assert len(parts) > 50
    assert [part for part in parts if part not in texts] == []


def test_every_path_of_the_project_that_a_page_names_is_there() -> None:
    named = {(path, name) for name in PAGES for path in _PATH.findall(_without_code(page(name)))}
    assert sorted(each for each in named if not (ROOT / each[0]).exists() and "NAME" not in each[0]) == []


def test_every_command_line_of_a_page_is_one() -> None:
    known = {verb: options_of(command) for verb, command in commands().items()}
    wrong = []
    for origin, words in ((name, words) for name in PAGES for words in command_lines(page(name))):
        verb = ALIASES.get(words[0], words[0])
        verb = " ".join(words[:2]) if " ".join(words[:2]) in known else verb
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        if verb not in {*known, "help"} or options - known.get(verb, set()) - {"--help"}:
            wrong.append(f"{origin}: {' '.join(words)}")
    assert wrong == []


def test_every_option_that_a_page_names_is_one() -> None:
    from aigon.agents.api_agent.settings import Settings

    known = set().union(*map(options_of, commands().values()))
    named = {(option, name) for name in PAGES for option in re.findall(r"`(--[a-z][a-z-]*)", _without_code(page(name)))}
    foreign = {"--help", "--version", "--no-ff", "--growth", "--parts", "--project", "--dangerously-skip-permissions"}
    foreign |= {"--help-all", "--max-budget-usd"}
    # What can stand in `agents.NAME.args` of the agent that is built in.
    built_in = {f"--{option.name.replace('_', '-')}" for option in fields(Settings)}
    assert sorted(each for each in named if each[0] not in known | foreign | built_in) == []


def command_lines(text: str) -> Iterator[list[str]]:
    """The words after `aigon` of each command line in code spans and blocks."""
    spans = re.findall(r"`aigon ([a-z][^`]*)`", _without_code(text))
    blocks = [found[0] for found in _FENCED.finditer(text)]
    prompts = {"```sh": "", "```console": r"\$ "}
    lines = [
        line
        for block in blocks
        if (prompt := prompts.get(block.partition("\n")[0])) is not None
        for line in re.findall(rf"(?m)^{prompt}aigon ([a-z].*)", block)
    ]
    for line in (*spans, *lines):
        yield re.split(r"\s*[|&;#\n]", line)[0].split()


def options_of(command: click.Command) -> set[str]:
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def test_the_pages_name_every_verb() -> None:
    text = "\n".join(map(page, PAGES))
    assert [verb for verb in VERBS if f"`aigon {verb}" not in text] == []


def test_architecture_shows_the_loop_as_it_is() -> None:
    (shown,) = re.findall(r"(?ms)^```python\n(.*?)^```$", page("ARCHITECTURE.md"))
    assert textwrap.indent(shown, "    ") in page("aigon/loop/loop.py")


def test_architecture_names_files_that_are_there() -> None:
    named = re.findall(
        r"`((?!refs/)[a-z_]+/[\w/]*\w\.py|(?!refs/)[a-z_]+/[\w/]*/)`", _without_code(page("ARCHITECTURE.md"))
    )
    assert len(named) > 15
    missing = [name for name in named if not any((ROOT / base / name).exists() for base in ("aigon", "."))]
    assert [name for name in missing if "NAME" not in name and "VERB" not in name] == []


def _without_code(text: str) -> str:
    return _FENCED.sub("", text)
