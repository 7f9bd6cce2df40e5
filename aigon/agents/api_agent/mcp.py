"""Which MCP servers a project has, from `.mcp.json`: programs to start (stdio) and addresses (http, sse).

The file is that of the main checkout, read before the session's first request: what it says is run with the person's
rights, so it must be people's word (docs/api-agent.md, MCP).
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aigon.agents.api_agent.tool import ToolFailure, ToolOutput, Work

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client


SERVERS_FILE = ".mcp.json"
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
START_SECONDS = 30.0
CALL_SECONDS = 120.0
PAGES = 20
"""Pages of a server's list of tools that are read."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server; `command` is empty for one with an address."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["stdio", "http", "sse"] = "stdio"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def load_servers(checkout: Path, note: Callable[[str], None]) -> tuple[McpServer, ...]:
    """Return the servers of a project; what is malformed is noted and left out."""
    file = checkout / SERVERS_FILE
    try:
        document = json.loads(file.read_bytes()) if file.is_file() else {}
        named = document.get("mcpServers", {}).items()
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        note(f"{SERVERS_FILE} is left out: {error}")
        return ()
    found = []
    for name, value in named:
        try:
            if not isinstance(value, dict) or value.get("disabled") is not True:
                found.append(_parse_server(name, value))
        except ValueError as error:
            note(f"{SERVERS_FILE}: the server {name!r} is left out: {error}")
    return tuple(found)


def _parse_server(name: str, value: object) -> McpServer:
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    kind = value.get("type") or ("http" if "url" in value else "stdio")
    if kind in ("http", "streamable-http", "sse"):
        url = _parse_text(value.get("url"), "url")
        return McpServer(name, kind="sse" if kind == "sse" else "http", url=url, headers=_parse_texts(value, "headers"))
    if kind != "stdio":
        raise ValueError(f"its type {kind!r} is not known; there are stdio, http and sse")
    args = value.get("args") or []
    if not isinstance(args, list):
        raise ValueError("`args` has to be a list")
    command = _parse_text(value.get("command"), "command")
    return McpServer(name, command, tuple(_parse_text(each, "args") for each in args), _parse_texts(value, "env"))


def _parse_texts(value: Mapping[str, object], key: str) -> dict[str, str]:
    given = value.get(key) or {}
    if not isinstance(given, dict):
        raise ValueError(f"`{key}` has to be an object of texts")
    return {name: _parse_text(each, key) for name, each in given.items()}


def _parse_text(value: object, key: str) -> str:
    """Return a text with its `${VARIABLES}` and `${VARIABLES:-defaults}` filled in."""
    if not isinstance(value, str) or (key in ("url", "command") and not value):
        raise ValueError(f"`{key}` has to be a text")
    return _VARIABLE.sub(_expand_variable, value)


def _expand_variable(found: "re.Match[str]") -> str:
    value = os.environ.get(found[1]) or found[2]
    if value is None:
        raise ValueError(f"the variable {found[1]} is not set")
    return value


Tools = dict[str, tuple[dict[str, object], Work]]


def connect_servers(
    servers: tuple[McpServer, ...], workspace: Path, stack: ExitStack, note: Callable[[str], None]
) -> Tools:
    """Definition and work of each tool, by its name. A server that does not start is noted and left out.

    The servers run until `stack` is closed.
    """
    if not servers:
        return {}
    if find_spec("mcp") is None:
        note("the MCP servers of .mcp.json are left out: the package mcp is not installed (pip install 'aigon[mcp]')")
        return {}
    from anyio.from_thread import start_blocking_portal

    portal = stack.enter_context(start_blocking_portal())
    found: Tools = {}
    for server in servers:
        try:
            found |= _build_tools(server, portal, stack.enter_context(_start_server(server, workspace, portal)))
        except Exception as error:  # whatever a server does, the session goes on without it
            note(f"the MCP server {server.name!r} is left out: {_describe_error(error)}")
    return found


def _start_server(server: McpServer, workspace: Path, portal: "BlockingPortal") -> Any:
    from mcp import Client

    client = Client(portal.call(_open_transport, server, workspace), read_timeout_seconds=START_SECONDS)
    return portal.wrap_async_context_manager(client)


async def _open_transport(server: McpServer, workspace: Path) -> Any:
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=dict(server.headers))
    if server.kind == "http":
        return _open_http(server)
    from mcp import StdioServerParameters

    # The mark by which a later aigon would find what a killed one left running (aigon.process.orphans).
    own = {name: value for name, value in os.environ.items() if name.startswith("AIGON_")}
    return StdioServerParameters(command=server.command, args=[*server.args], env={**own, **server.env}, cwd=workspace)


def _open_http(server: McpServer) -> "AbstractAsyncContextManager[Any]":
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(START_SECONDS, read=CALL_SECONDS)
    return streamable_http_client(
        server.url, http_client=httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout)
    )


def _build_tools(server: McpServer, portal: "BlockingPortal", client: "Client") -> Tools:
    return {
        name: (definition, _build_work(portal, client, own))
        for name, definition, own in _list_tools(server, portal, client)
    }


def _list_tools(
    server: McpServer, portal: "BlockingPortal", client: "Client"
) -> Iterator[tuple[str, dict[str, object], str]]:
    cursor = None
    for _ in range(PAGES):
        page = portal.call(partial(client.list_tools, cursor=cursor))
        for tool in page.tools:
            name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server.name}__{tool.name}")[:128]
            yield (
                name,
                {"name": name, "description": tool.description or "", "input_schema": tool.input_schema},
                tool.name,
            )
        cursor = page.next_cursor
        if not cursor:
            return


def _build_work(portal: "BlockingPortal", client: "Client", name: str) -> Work:
    def work(given: Mapping[str, Any]) -> ToolOutput:
        try:
            result = portal.call(partial(client.call_tool, name, dict(given), read_timeout_seconds=CALL_SECONDS))
        except Exception as error:
            raise ToolFailure(f"The MCP server did not answer: {_describe_error(error)}") from None
        if result.is_error:
            raise ToolFailure(_render_result(result))
        return ToolOutput(_render_result(result))

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
