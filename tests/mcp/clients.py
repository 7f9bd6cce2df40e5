"""Clients of the server, as agents have them: over standard input and output, over HTTP, and in this process."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from aigon.mcp.server import ServedProjects, build_server
from tests.lab import Lab, finish

TOKEN = "a-token-of-no-worth-at-all"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BODY = "## Acceptance Criteria\n\n- [ ] done <!-- verify: test -f done.txt -->"


def over_stdio(lab: Lab) -> AbstractAsyncContextManager[Client]:
    """A client of an older protocol that starts the server, as agents do."""
    command = lab.command("mcp")
    server = StdioServerParameters(command=command[0], args=command[1:], env=lab.env, cwd=lab.root)
    return Client(server, mode="legacy")


@asynccontextmanager
async def serving_http(lab: Lab) -> AsyncIterator[str]:
    """A server over HTTP: its address."""
    process = lab.start("mcp", "--http", "127.0.0.1:0", env={"AIGON_MCP_TOKEN": TOKEN})
    try:
        assert process.stderr
        found = re.search(r"http://\S+/mcp", process.stderr.readline())
        assert found
        yield found[0]
    finally:
        process.terminate()
        finish(process)


@asynccontextmanager
async def over_http(lab: Lab) -> AsyncIterator[Client]:
    """A client of a server over HTTP."""
    async with (
        serving_http(lab) as url,
        httpx2.AsyncClient(headers=BEARER, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def in_process(*labs: Lab, loop: str = "") -> AbstractAsyncContextManager[Client]:
    """A client of a server in this process, which is inside a `loop` if that says why."""
    return Client(build_server(ServedProjects(tuple(lab.root for lab in labs)), lambda _context: loop))


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool returns; it fails if that is an error."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return cast("dict[str, Any]", result.structured_content)


async def refusal(client: Client, name: str, **arguments: Any) -> str:
    """The words of a tool's error; it fails if there is none."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, result.structured_content
    return cast("str", getattr(result.content[0], "text", ""))


async def project_id(client: Client) -> str:
    """The ID of the first project."""
    return str((await call(client, "list_projects"))["projects"][0]["project_id"])


def journal(lab: Lab) -> list[dict[str, Any]]:
    """The events of the only run."""
    (file,) = lab.home.rglob("journal.jsonl")
    return [json.loads(line.partition(" ")[2]) for line in file.read_text().splitlines()]
