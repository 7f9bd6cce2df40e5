"""The tools of MCP servers, called `mcp__<server>__<tool>`. Needs the package `mcp` (`pip install 'aigon[mcp]'`).

The package is asynchronous and the session is not, so the servers live in an event loop of a thread of their own.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aigon.agents.api_agent.servers import Server
from aigon.agents.api_agent.tool import Output, Work, Wrong

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client

START_SECONDS = 30.0
CALL_SECONDS = 120.0
PAGES = 20
"""Pages of a server's list of tools that are read."""
Tools = dict[str, tuple[dict[str, object], Work]]


def connect(servers: tuple[Server, ...], workspace: Path, stack: ExitStack, note: Callable[[str], None]) -> Tools:
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
            found |= _tools(server, portal, stack.enter_context(_started(server, workspace, portal)))
        except Exception as error:  # whatever a server does, the session goes on without it
            note(f"the MCP server {server.name!r} is left out: {_reason(error)}")
    return found


def _started(server: Server, workspace: Path, portal: "BlockingPortal") -> Any:
    from mcp import Client

    client = Client(portal.call(_transport, server, workspace), read_timeout_seconds=START_SECONDS)
    return portal.wrap_async_context_manager(client)


async def _transport(server: Server, workspace: Path) -> Any:
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=dict(server.headers))
    if server.kind == "http":
        return _http(server)
    from mcp import StdioServerParameters

    # The mark by which a later aigon would find what a killed one left running (aigon.process.orphans).
    own = {name: value for name, value in os.environ.items() if name.startswith("AIGON_")}
    return StdioServerParameters(command=server.command, args=[*server.args], env={**own, **server.env}, cwd=workspace)


def _http(server: Server) -> "AbstractAsyncContextManager[Any]":
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(START_SECONDS, read=CALL_SECONDS)
    return streamable_http_client(
        server.url, http_client=httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout)
    )


def _tools(server: Server, portal: "BlockingPortal", client: "Client") -> Tools:
    return {name: (definition, _work(portal, client, own)) for name, definition, own in _listed(server, portal, client)}


def _listed(server: Server, portal: "BlockingPortal", client: "Client") -> Iterator[tuple[str, dict[str, object], str]]:
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


def _work(portal: "BlockingPortal", client: "Client", name: str) -> Work:
    def work(given: Mapping[str, Any]) -> Output:
        try:
            result = portal.call(partial(client.call_tool, name, dict(given), read_timeout_seconds=CALL_SECONDS))
        except Exception as error:
            raise Wrong(f"The MCP server did not answer: {_reason(error)}") from None
        if result.is_error:
            raise Wrong(_text(result))
        return Output(_text(result))

    return work


def _text(result: Any) -> str:
    parts = [getattr(block, "text", None) or f"[{block.type}, which is not shown]" for block in result.content]
    if parts or result.structured_content is None:
        return "\n".join(parts)
    return json.dumps(result.structured_content, ensure_ascii=False)


def _reason(error: BaseException) -> str:
    """The first error in a group of them, in a line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
