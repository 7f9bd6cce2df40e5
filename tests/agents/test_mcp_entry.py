"""`aigon install-commands --mcp`: aigon's entry among an agent's MCP servers, and nothing else of the file."""

import json
import tomllib
from pathlib import Path

import pytest

from aigon.agents.configured import load_agent_types
from aigon.agents.install_commands import InstallTarget
from aigon.agents.mcp_entry import NAME, install_entries
from aigon.model.agents import AgentType, CommandFileResult, ServerFile
from tests.lab import Lab

JSON = [
    "",
    '{"a": 1}',
    '{\n    "x": [1],\n    "mcpServers": {\n        "o": {"command": "z"}\n    }\n}\n',
    '{\n\t"z": "{\\"mcpServers\\""\n}\n',
    '{"mcpServers": {"o": {"b": 1}}, "k": 2}',
]
TOML = [
    "",
    '# mine\nmodel = "x"  # c\n',
    '[mcp_servers.o]\ncommand = "z" # c\n\n[p]\nq=1\n',
]


def kind(path: str, key: str = "mcpServers") -> AgentType:
    return AgentType("some", "Some", mcp=ServerFile(path, key=key))


def place(root: Path, *, remove: bool = False, dry: bool = False) -> InstallTarget:
    return InstallTarget(root, root, dry, remove)


def change(
    root: Path, path: str, key: str = "mcpServers", *, remove: bool = False, dry: bool = False
) -> CommandFileResult:
    (result,) = install_entries([kind(path, key)], place(root, remove=remove, dry=dry))
    return result


@pytest.mark.parametrize("text", JSON)
def test_json_keeps_every_other_byte(tmp_path: Path, text: str) -> None:
    file = tmp_path / "servers.json"
    if text:
        file.write_text(text)
    assert change(tmp_path, "servers.json", dry=True).state == "new" and file.exists() == bool(text)
    assert change(tmp_path, "servers.json").state == "new"
    now = json.loads(file.read_text())
    assert now["mcpServers"].pop(NAME) == {"command": "aigon", "args": ["mcp"]}
    before = json.loads(text or "{}")
    assert now == {**before, "mcpServers": before.get("mcpServers", {})}
    assert change(tmp_path, "servers.json").state == "unchanged"
    assert change(tmp_path, "servers.json", remove=True).state == "removed"
    assert (file.read_text() if file.exists() else "") == text
    assert change(tmp_path, "servers.json", remove=True).state == "absent"


@pytest.mark.parametrize("text", TOML)
def test_toml_keeps_every_other_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / ".some/config.toml"
    file.parent.mkdir()
    if text:
        file.write_text(text)
    assert change(tmp_path, ".some/config.toml", "mcp_servers").state == "new"
    now = file.read_text()
    assert tomllib.loads(now)["mcp_servers"][NAME]["args"] == ["mcp"]
    assert [line for line in text.splitlines() if line] == [line for line in text.splitlines() if line and line in now]
    assert change(tmp_path, ".some/config.toml", "mcp_servers").state == "unchanged"
    assert change(tmp_path, ".some/config.toml", "mcp_servers", remove=True).state == "removed"
    assert (file.read_text() if file.exists() else "").split() == text.split()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('{"mcpServers": {"aigon": {"command": "my-own"}}}', "edited"),
        ('{"mcpServers": []}', "refused"),
        ("// a comment\n{}", "refused"),
        ("[" * 100_000, "refused"),
    ],
)
def test_what_a_person_changed_or_aigon_cannot_read_stays(tmp_path: Path, text: str, state: str) -> None:
    file = tmp_path / "servers.json"
    file.write_text(text)
    for remove in (False, True):
        result = change(tmp_path, "servers.json", remove=remove)
        assert result.state == state and file.read_text() == text
        assert state != "refused" or '{"command": "aigon"' in result.why


def test_no_entry_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text("{}")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo/servers.json").symlink_to(tmp_path / "elsewhere.json")
    assert change(tmp_path / "repo", "servers.json").state == "refused"
    assert (tmp_path / "elsewhere.json").read_text() == "{}"


def test_every_agent_that_reads_servers_gets_its_entry(lab: Lab) -> None:
    able = [each.name for each in load_agent_types(None).values() if each.mcp]
    assert {"claude", "codex", "gemini", "cursor", "opencode", "qwen", "copilot", "vibe"} == set(able)
    ran = lab.aigon("install-commands", "--mcp", *able)
    assert ran.code == 0, ran.err
    for path in (".mcp.json", ".gemini/settings.json", ".cursor/mcp.json", ".qwen/settings.json", "opencode.json"):
        assert '"mcp"' in lab.read(path)
    assert "aigon" in tomllib.loads(lab.read(".codex/config.toml"))["mcp_servers"]
    assert tomllib.loads((lab.home / ".vibe/config.toml").read_text())["mcp_servers"][0]["name"] == "aigon"
    again = lab.aigon("install-commands", "--mcp", *able, "--json")
    assert not again.json["changed"] and {each["state"] for each in again.json["files"]} == {"unchanged"}
    assert lab.aigon("install-commands", "--mcp", "--remove", *able).code == 0
    assert lab.git("status", "--porcelain") == "" and not (lab.home / ".vibe/config.toml").exists()
    refused = lab.aigon("install-commands", "--mcp", "aider")
    assert refused.code == 2 and "claude" in refused.err


def test_commands_are_removed_unless_they_were_edited(lab: Lab) -> None:
    assert lab.aigon("install-commands", "claude").code == 0
    lab.write(".claude/commands/feature-status.md", "mine\n")
    removed = lab.aigon("install-commands", "claude", "--remove")
    assert removed.code == 0 and "Removed it from .claude/commands/feature-create.md" in removed.out
    assert [path.name for path in lab.path(".claude/commands").iterdir()] == ["feature-status.md"]


def test_the_configuration_is_printed_for_any_other_client(lab: Lab) -> None:
    printed = lab.aigon("mcp", "--print-config").json
    assert printed == {"mcpServers": {"aigon": {"command": "aigon", "args": ["mcp"]}}}
    by_http = lab.aigon("mcp", "--print-config", "--http", "127.0.0.1:8765").json["mcpServers"]["aigon"]
    assert by_http["url"] == "http://127.0.0.1:8765/mcp" and "AIGON_MCP_TOKEN" in by_http["headers"]["Authorization"]
