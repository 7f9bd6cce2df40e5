"""`aigon install-commands` and what `aigon init` does of it, as people run them."""

import json
from pathlib import Path

import pytest

from tests.lab import Lab
from tests.stand_ins import path_with, says


@pytest.fixture
def person(lab: Lab, tmp_path: Path) -> Lab:
    """The lab with a PATH on which there is no agent."""
    lab.env |= {"PATH": path_with(tmp_path / "bin")}
    return lab


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md") if path.is_file())


def test_commands_are_installed_for_agents_by_name_by_short_name_and_as_configured(person: Lab) -> None:
    person.config(agents={"big": {"adapter": "claude", "model": "opus"}})
    dry = person.aigon("install-commands", "cc", "big", "codex", "--dry-run", "--json")
    assert dry.code == 0 and dry.json["dry_run"] and not files(person.home)
    ran = person.aigon("install-commands", "cc", "big", "codex")
    assert ran.code == 0, ran.err
    assert ran.out.count("Wrote .claude/commands/feature-implement.md") == 1
    assert len([line for line in ran.out.splitlines() if "Wrote" in line]) == len(dry.json["files"])
    assert person.path(".claude/commands/feature-implement.md").is_file()
    again = person.aigon("install-commands", "claude", "codex", "--json")
    assert (again.code, again.json["changed"], again.json["schema_version"]) == (0, False, 1)
    assert {each["state"] for each in again.json["files"]} == {"unchanged"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Known: "),
        (["cluade"], "Did you mean 'claude'? Known: "),
        (["command"], "These do: "),
    ],
)
def test_an_agent_that_is_not_known_or_reads_no_commands_is_a_usage_error(
    person: Lab, arguments: list[str], said: str
) -> None:
    ran = person.aigon("install-commands", *arguments, "--json")
    assert ran.code == 2 and said in ran.json["error"]["hint"] and "claude" in ran.json["error"]["hint"]
    assert not person.path(".claude").exists()


def test_outside_of_a_repository_only_commands_in_the_home_can_be_written(person: Lab) -> None:
    own = person.home / ".config" / "aigon" / "agents"
    own.mkdir(parents=True)
    (own / "homely.yaml").write_text("title: H\nprogram: h\nreads: text\ncommands: {path: '~/.h/{name}.md'}\n")
    refused = person.aigon("install-commands", "claude", cwd=person.home)
    assert refused.code == 7 and "from a repository" in refused.err and not files(person.home)
    ran = person.aigon("install-commands", "homely", cwd=person.home)
    assert ran.code == 0 and "Wrote ~/.h/feature-implement.md" in ran.out
    assert ".h/feature-implement.md" in files(person.home)


def test_init_writes_them_for_agents_that_are_here_and_into_the_repository_only(person: Lab) -> None:
    person.write(".aigon/agents/homely.yaml", "title: H\nprogram: h\nreads: text\ncommands: {path: '~/.h/{name}.md'}\n")
    person.write(".aigon/agents/wired.yaml", "title: W\nreads: text\nprogram: w\ncommands: {path: '.w/{name}.md'}\n")
    person.write(".aigon/agents/absent.yaml", "title: A\nreads: text\nprogram: a\ncommands: {path: '.a/{name}.md'}\n")
    person.config(agents={"mine": {"adapter": "wired"}})
    path_with(Path(person.env["PATH"]), claude=says("2.1.328"), h=says("1.0"))
    skipped = json.loads(person.aigon("init", "--no-commands", "--json").out)
    assert skipped["commands"] == [] and not person.path(".claude").exists()
    ran = person.aigon("init")
    assert ran.code == 0, ran.err
    assert "Wrote .claude/commands/feature-implement.md" in ran.out and "Wrote .w/feature-status.md" in ran.out
    assert "homely reads its commands in your home: aigon install-commands homely" in ran.out
    assert files(person.home) == [] and not person.path(".a").exists()
    person.write(".w/feature-status.md", "mine")
    again = json.loads(person.aigon("init", "--json").out)
    assert again["written"] == [] and person.read(".w/feature-status.md") == "mine"
    states = {each["path"]: each["state"] for each in again["commands"]}
    assert states.pop(".w/feature-status.md") == "foreign" and set(states.values()) == {"unchanged"}
    assert again["commands_elsewhere"] == ["homely"]
