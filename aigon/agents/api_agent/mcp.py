"""The MCP servers of a project, from `.mcp.json`: programs to start (stdio) and addresses (http, sse).

The file is that of the main checkout, read before the session's first request: what it says is run with the person's
rights, so it must be people's word (docs/api-agent.md, MCP).
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, convert

from aigon.agents.api_agent.endpoints import load_entries
from aigon.agents.api_agent.settings import ToolFailure, ToolOutput, Work
from aigon.installation import has_modules, suggest_extra
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client

SERVERS_FILE = ".mcp.json"
_VARIABLE = compile_re(r"\$\{(\w+)(?::-([^}]*))?\}")
START_SECONDS = 30.0
CALL_SECONDS = 120.0
PAGES = 20
"""Pages of a server's list of tools that are read."""

Tools = dict[str, tuple[dict[str, object], Work]]


class McpServer(Struct, frozen=True):
    """One server: a program, or an address."""

    name: str
    type: Literal["stdio", "http", "streamable-http", "sse"] = "stdio"
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}


def load_servers(checkout: Path, note: Callable[[str], None]) -> tuple[McpServer, ...]:
    """Return the servers of a project that are not disabled; what is malformed is noted and left out."""

    def build(entry: dict[str, Any]) -> McpServer | None:
        about = {key: part if key == "name" else _fill_variables(part) for key, part in entry.items()}
        kind = about.get("type") or ("http" if "url" in about else "stdio")
        if about.get("disabled") is True:
            return None
        server = convert(about | {"type": kind}, McpServer)
        if not (server.command if server.type == "stdio" else server.url):
            raise ValueError(f"`{'command' if server.type == 'stdio' else 'url'}` has to be a text")
        return server

    return tuple(filter(None, load_entries(checkout / SERVERS_FILE, "mcpServers", "server", build, note)))


def _fill_variables(value: object) -> object:
    """Return a value with the `${VARIABLES}` and `${VARIABLES:-defaults}` in its texts filled in."""
    if isinstance(value, list):
        return [_fill_variables(item) for item in value]
    if isinstance(value, dict):
        return {key: _fill_variables(item) for key, item in value.items()}
    return _VARIABLE.sub(_expand_variable, value) if isinstance(value, str) else value


def _expand_variable(found: "re.Match[str]") -> str:
    value = os.environ.get(found[1]) or found[2]
    if value is None:
        raise ValueError(f"the variable {found[1]} is not set")
    return value


def connect_servers(
    servers: tuple[McpServer, ...], workspace: Path, stack: ExitStack, note: Callable[[str], None]
) -> Tools:
    """Return definition and work of each tool by its name. A server that does not start is noted and left out.

    The servers run until `stack` is closed.
    """
    if not servers:
        return {}
    if not has_modules("mcp"):
        note(f"the MCP servers of {SERVERS_FILE} are left out: mcp is not installed ({suggest_extra('mcp')})")
        return {}
    from anyio.from_thread import start_blocking_portal
    from mcp import Client

    portal = stack.enter_context(start_blocking_portal())
    tools: Tools = {}
    for server in servers:
        try:
            transport = portal.call(_open_transport, server, workspace)
            started = portal.wrap_async_context_manager(Client(transport, read_timeout_seconds=START_SECONDS))
            tools |= _list_tools(server, portal, stack.enter_context(started))
        except Exception as error:  # whatever a server does, the session goes on without it
            note(f"the MCP server {server.name!r} is left out: {_describe_error(error)}")
    return tools


async def _open_transport(server: McpServer, workspace: Path) -> Any:
    if server.type == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=server.headers)
    if server.type != "stdio":
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(START_SECONDS, read=CALL_SECONDS)
        client = httpx2.AsyncClient(headers=server.headers, timeout=timeout)
        return streamable_http_client(server.url, http_client=client)
    from mcp import StdioServerParameters

    # The mark by which a later aigon would find what a killed one left running (aigon.process.orphans).
    own = {name: value for name, value in os.environ.items() if name.startswith("AIGON_")}
    return StdioServerParameters(command=server.command, args=server.args, env={**own, **server.env}, cwd=workspace)


def _list_tools(server: McpServer, portal: "BlockingPortal", client: "Client") -> Tools:
    tools: Tools = {}
    for tool in _iterate_tools(portal, client):
        name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server.name}__{tool.name}")[:128]
        definition = {"name": name, "description": tool.description or "", "input_schema": tool.input_schema}
        tools[name] = definition, _build_work(portal, client, tool.name)
    return tools


def _iterate_tools(portal: "BlockingPortal", client: "Client") -> Iterator[Any]:
    cursor = None
    for _ in range(PAGES):
        page = portal.call(partial(client.list_tools, cursor=cursor))
        yield from page.tools
        cursor = page.next_cursor
        if not cursor:
            return


def _build_work(portal: "BlockingPortal", client: "Client", name: str) -> Work:
    def work(given: Mapping[str, Any]) -> ToolOutput:
        try:
            result = portal.call(partial(client.call_tool, name, dict(given), read_timeout_seconds=CALL_SECONDS))
        except Exception as error:
            raise ToolFailure(f"The MCP server did not answer: {_describe_error(error)}") from None
        text = _render_result(result)
        if result.is_error:
            raise ToolFailure(text)
        return ToolOutput(text)

    return work


def _render_result(result: Any) -> str:
    parts = [getattr(block, "text", None) or f"[{block.type}, which is not shown]" for block in result.content]
    if parts or result.structured_content is None:
        return "\n".join(parts)
    return json.dumps(result.structured_content, ensure_ascii=False)


def _describe_error(error: BaseException) -> str:
    """Return the first error in a group of them, in a line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
