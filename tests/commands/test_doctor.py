"""`aigon doctor` as people run it: in a repository and outside of one, with stand-ins for the agents' programs."""

import json
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from aigon import __version__
from tests.lab import Lab, Ran
from tests.stand_ins import path_with, says, stand_in

KEY = "sk-ant-not-to-be-shown"


@pytest.fixture
def person(lab: Lab, tmp_path: Path) -> Lab:
    """The lab with a PATH on which there is no agent, and nothing of anybody's that could be found."""
    lab.env |= {"PATH": path_with(tmp_path / "bin", node=says("v24.1.0")), "IS_SANDBOX": "1"}
    return lab


def has(lab: Lab, **scripts: str) -> None:
    """Put stand-ins on the PATH."""
    path_with(Path(lab.env["PATH"]), **scripts)


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


def states(ran: Ran) -> dict[str, str]:
    return {agent["name"]: agent["state"] for agent in ran.json["agents"]}


def agent(ran: Ran, name: str) -> dict[str, Any]:
    (found,) = [each for each in ran.json["agents"] if each["name"] == name]
    return dict(found)


def test_outside_of_a_repository_without_an_agent_it_says_how_to_get_one(person: Lab) -> None:
    ran = person.aigon("doctor", cwd=person.home)
    assert ran.code == 6 and not ran.err, ran.err
    assert "npm install -g @anthropic-ai/claude-code" in ran.out and "command" in ran.out
    assert "no agent is ready" in ran.out and "replay" not in ran.out
    assert max(columns(line) for line in ran.out.splitlines()) <= 80
    found = person.aigon("doctor", "--json", cwd=person.home)
    assert (found.code, found.json["schema_version"], found.json["exit_code"]) == (6, 1, 6)
    assert found.json["version"] == __version__
    assert found.json["agent"]["name"] is None and "repository" not in found.json["machine"]
    assert set(states(found).values()) <= {"not_ready", "not_installed"}
    assert {"command", "replay"}.isdisjoint(states(found))


def test_every_agent_is_shown_with_version_state_and_next_step_and_no_secret(person: Lab) -> None:
    has(person, claude=says("2.1.328 (Claude Code)"), codex=says(f"codex-cli 0.1.0 {KEY}"), mine=says("mine 7.1"))
    (person.home / ".codex").mkdir()
    (person.home / ".codex" / "auth.json").write_text(json.dumps({"tokens": {"access_token": KEY}}))
    own = person.home / ".config" / "aigon" / "agents" / "hers.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("title: Hers\nprogram: hers\nreads: text\ninstall: make hers\n")
    person.write(".aigon/agents/theirs.yaml", "title: Theirs\nprogram: mine\nreads: text\n")
    person.write("tool.sh", "#!/bin/sh\n", executable=True)
    person.config(agents={"local": {"adapter": "command", "command": ["./tool.sh"]},
                          "gone": {"adapter": "command", "command": ["./gone.sh"]},
                          "keyed": {"adapter": "claude", "env": {"ANTHROPIC_API_KEY": KEY}}})  # fmt: skip
    ran = person.aigon("doctor", "--json", env={"OPENAI_API_KEY": KEY})
    assert ran.code == 0 and not ran.err, ran.out + ran.err
    found = states(ran)
    assert {name: found[name] for name in ("local", "gone", "keyed", "claude", "codex", "theirs", "hers")} == {
        "local": "ready", "gone": "not_ready", "keyed": "ready", "claude": "not_ready", "codex": "ready",
        "theirs": "ready", "hers": "not_installed",
    }  # fmt: skip
    assert (agent(ran, "codex")["version"], agent(ran, "theirs")["version"]) == ("0.1.0", "7.1")
    assert agent(ran, "codex")["credentials"] == ["~/.codex/auth.json"]
    assert "older than" in agent(ran, "codex")["remarks"][0]
    assert "ANTHROPIC_API_KEY" in agent(ran, "claude")["problems"][0]
    assert agent(ran, "keyed")["configured"] and agent(ran, "keyed")["kind"] == "claude"
    assert ran.json["agent"]["name"] is None and "several agents are configured" in ran.json["agent"]["why"]
    words = person.aigon("doctor", env={"OPENAI_API_KEY": KEY})
    assert words.code == 0 and max(columns(line) for line in words.out.splitlines()) <= 80
    assert words.out.index("ready") < words.out.index("Not installed") < words.out.index("make hers")
    assert KEY not in words.out + ran.out


def test_the_machine_is_looked_at_too_and_nothing_is_changed(person: Lab) -> None:
    has(person, claude=says("2.1.328"))
    before = person.fingerprint()
    ran = person.aigon("doctor", "--json", env={"ANTHROPIC_API_KEY": KEY})
    assert ran.code == 0, ran.out
    assert ran.json["agent"]["name"] == "claude" and ran.json["agent"]["why"].startswith("agent: claude, the ")
    machine = ran.json["machine"]
    assert {"git", "python", "platform", "clean_room", "room", "judge", "state_home", "repository"} <= set(machine)
    assert machine["git"]["version"] and all(fact["ok"] for fact in machine.values())
    assert machine["state_home"]["path"] == person.env["AIGON_STATE_HOME"]
    assert machine["judge"]["backend"] == "agent" and machine["clean_room"]["isolation"]
    assert not Path(person.env["AIGON_STATE_HOME"]).exists() and person.fingerprint() == before


def test_a_git_that_is_too_old_and_a_person_without_a_name_are_exit_7(person: Lab) -> None:
    has(person, claude=says("2.1.328"))
    real = shutil.which("git")
    git = Path(person.env["PATH"]) / "git"
    stand_in(git, f'[ "$1" = --version ] && echo git version 2.30.2 && exit; exec {real} "$@"')
    person.git("config", "--unset", "user.email")
    person.git("config", "user.useConfigOnly", "true")
    ran = person.aigon("doctor", "--json", env={"ANTHROPIC_API_KEY": KEY})
    assert (ran.code, ran.json["exit_code"]) == (7, 7)
    assert "2.36" in ran.json["machine"]["git"]["problem"]
    assert "git config user.email" in ran.json["machine"]["repository"]["problem"]
    assert len(ran.json["problems"]) == 2
    git.unlink()
    ran = person.aigon("doctor", "--json")
    assert ran.code == 7 and "no git" in ran.json["machine"]["git"]["problem"]


def test_a_malformed_configuration_is_a_finding_among_others(person: Lab) -> None:
    has(person, claude=says("2.1.328"))
    person.write(".aigon/config.json", '{"agentz": {}}')
    person.write(".aigon/agents/bad.yaml", "title: [\n")
    person.write(".aigon/agents/esc.yaml", "title: Fine\nprogram: fine\nreads: text\n")
    ran = person.aigon("doctor", "--json", env={"ANTHROPIC_API_KEY": KEY})
    assert ran.code == 2, ran.out
    assert any("agentz" in problem for problem in ran.json["problems"])
    assert any("bad.yaml" in problem for problem in ran.json["problems"])
    assert states(ran)["claude"] == "ready"


def test_what_files_of_the_repository_say_cannot_move_the_cursor(person: Lab) -> None:
    person.write(".aigon/agents/esc.yaml", 'title: X\nprogram: esc\nreads: text\ninstall: "\\e[2Jrm \\r\\n -rf"\n')
    person.config(defaultAgent="esc")
    ran = person.aigon("doctor")
    assert ran.code == 6 and "rm" in ran.out
    assert all(char.isprintable() or char == "\n" for char in ran.out)
    assert "esc, the defaultAgent of the configuration; it is not installed" in " ".join(ran.out.split())
