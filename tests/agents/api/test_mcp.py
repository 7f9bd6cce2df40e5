"""The tools of MCP servers: real ones, started as programs and over HTTP."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.api.sessions import Desk
from tests.agents.api.streaming import ending, results, streamed, use
from tests.lab import alive, until

pytestmark = pytest.mark.timeout(600)  # on a busy machine, importing what the real servers need takes minutes
SERVER = """
import os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("sums")

@server.tool(description="Adds.")
def add(a: int, b: int) -> str:
    return f"{a + b} {os.environ.get('COLOUR', '')} {os.environ.get('ANTHROPIC_API_KEY', 'no key')}"

@server.tool()
def fail() -> str:
    raise ValueError("it cannot")

@server.tool()
def die() -> str:
    os._exit(3)

if len(sys.argv) > 2:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run("stdio")
"""


def test_mcp_servers_that_do_not_start_are_left_out_and_none_outlives_the_session(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-of-nobody")
    monkeypatch.setenv("MY_COLOUR", "blue")
    program, mark = tmp_path / "server.py", f"mark-{os.getpid()}"
    program.write_text(SERVER)
    own = {"command": sys.executable, "args": [str(program), mark], "env": {"COLOUR": "${MY_COLOUR}-${NONE:-ish}"}}
    broken = {"command": sys.executable, "args": ["-c", "import sys; sys.exit(1)"]}
    document = {"mcpServers": {"my sums": own, "broken": broken, "absent": {"command": "no-such-program-here"}}}
    (desk.workspace / ".mcp.json").write_text(json.dumps(document))
    s = desk.ask(
        streamed(
            use("mcp__my_sums__add", 1, a=2, b=3), use("mcp__my_sums__fail", 2), use("mcp__my_sums__add", 3, a="x")
        ),
        streamed(use("mcp__my_sums__die", 4), use("bash", 5, command="echo on")),
        ending(),
    )
    added, failed, wrong = results(s.requests[1])
    assert added["content"] == "5 blue-ish no key" and failed["is_error"] and wrong["is_error"]
    died, on = results(s.requests[2])
    assert died["is_error"] and on["content"] == "on" and s.ending.action == "DONE"
    assert {name for name in ("broken", "absent") for note in s.of("note") if repr(name) in note["text"]} == {
        "broken",
        "absent",
    }
    until(lambda: not alive(mark))


def test_a_server_is_spoken_to_over_http(desk: Desk, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(program), "http", str(port)], **quiet) as running:  # type: ignore[call-overload]
        try:
            until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 100)  # it imports for a second
            (desk.workspace / ".mcp.json").write_text(
                json.dumps({"mcpServers": {"web": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}})
            )
            s = desk.ask(streamed(use("mcp__web__add", 1, a=20, b=22)), ending())
        finally:
            running.kill()
    assert s.answers()[0].startswith("42")


def test_what_is_malformed_in_the_file_is_noted_and_left_out(tmp_path: Path) -> None:
    from aigon.agents.api_agent.mcp import load_servers

    notes: list[str] = []
    file = tmp_path / ".mcp.json"
    odd: dict[str, object] = {"a": 1, "b": {"command": 2}, "c": {"type": "carrier"}, "off": {"disabled": True}}
    odd["d"] = {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}}
    for content in ("[]", "{", '{"mcpServers": 7}', json.dumps({"mcpServers": odd})):
        file.write_text(content)
        assert load_servers(tmp_path, notes.append) == ()
    assert len(notes) == 7 and "NOT_SET_ANYWHERE" in notes[-1]
    file.write_text(
        '{"mcpServers": {"w": {"url": "http://x", "headers": {"A": "b"}}, "s": {"type": "sse", "url": "http://y"}}}'
    )
    assert [(one.type, one.url) for one in load_servers(tmp_path, notes.append)] == [
        ("http", "http://x"),
        ("sse", "http://y"),
    ]
