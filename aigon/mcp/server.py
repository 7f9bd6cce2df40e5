"""The server: its tools, resources and prompt, and how an error reaches a client."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from difflib import get_close_matches
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool, ToolAnnotations
from pydantic import ValidationError

from aigon import __version__
from aigon.errors import AigonError, Exit, explain_error, usage
from aigon.files.resources import find_resource
from aigon.files.system_errors import explain_os_error
from aigon.mcp.resources import CountingBus, add_resources, announce_changes
from aigon.mcp.served import ServedProjects
from aigon.mcp.tools import TaskTools

READS = ("list_projects", "list_tasks", "get_task", "task_log", "wait_task")
WRITES = ("create_task", "update_task", "start_task", "stop_task")
"""Tools for a client of a person's, and not for an agent inside a loop."""
INSTRUCTIONS = (
    "aigon has a coding agent build a task in a loop until it has proven every acceptance criterion by running the "
    "project's own checks. Create a task with criteria, start it with a limit on cost, wait for it. Only aigon decides "
    "what is proven; only a person approves, rejects and merges."
)

FindLoop = Callable[[Context[Any, Any] | None], str]
"""Returns what shows that a loop started whoever calls; "" if nothing does."""


class TaskServer(MCPServer[None]):
    """An MCP server that explains errors as the commands do, and serves only reads inside a loop."""

    find_loop: FindLoop

    async def list_tools(self) -> list[Tool]:
        """Return the tools that can be used here."""
        is_inside = bool(await anyio.to_thread.run_sync(self.find_loop, None))
        return [tool for tool in await super().list_tools() if not is_inside or tool.name in READS]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError with what is wrong, where, and what to do."""
        try:
            await self._require_allowed(name, arguments, context)
            return await super().call_tool(name, arguments, context)
        except (ToolError, AigonError) as error:
            known = _explain(name, error.__cause__ if isinstance(error, ToolError) else error)
            if known is None:
                raise
            raise ToolError(explain_error(known)) from error

    async def read_resource(self, uri: Any, context: Context[None, Any] | None = None) -> Any:
        """Read a resource. Raises ResourceError with what is wrong, where, and what to do."""
        try:
            return await super().read_resource(uri, context)
        except ResourceError as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, AigonError):
                cause = cause.__cause__
            if cause is None:
                raise
            raise ResourceError(explain_error(cause)) from error

    async def _require_allowed(self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None) -> None:
        tool = next((each for each in await super().list_tools() if each.name == name), None)
        if tool is None:
            raise usage(f"There is no tool {name!r:.80}", hint=f"There are: {', '.join((*READS, *WRITES))}")
        known = tool.input_schema.get("properties", {})
        if unknown := sorted(arguments.keys() - known.keys()):
            near = get_close_matches(unknown[0], known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(known) or 'none'}"
            raise usage(f"{name} has no argument {unknown[0]!r:.80}", hint=hint)
        if name in WRITES and (why := await anyio.to_thread.run_sync(self.find_loop, context)):
            what = f"{name} is for a person's own client, and this is inside a run of the loop"
            raise AigonError(what, where=why, hint=f"Here are: {', '.join(READS)}", code=Exit.NEEDS_HUMAN)


def build_server(served: ServedProjects, find_loop: FindLoop) -> TaskServer:
    """Return the server for these projects."""
    tools, bus = TaskTools(served), CountingBus()

    @asynccontextmanager
    async def live(_server: MCPServer[None]) -> AsyncIterator[None]:
        async with announce_changes(bus, tools):
            yield

    server = TaskServer(
        "aigon",
        title="aigon",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="ERROR",
        subscriptions=bus,
        lifespan=live,
    )
    server.find_loop = find_loop
    for name in (*READS, *WRITES):
        is_read = name in READS
        hints = ToolAnnotations(read_only_hint=is_read, destructive_hint=False, open_world_hint=name == "start_task")
        server.add_tool(getattr(tools, name), annotations=hints)
    add_resources(server, tools)

    @server.prompt("implement-feature", description="Have aigon build a task until it is proven.")
    def implement_feature(task_id: str) -> str:
        text = find_resource("templates", "prompts", "mcp.md").read_text(encoding="utf-8")
        return text.format(task_id=task_id)

    return server


def _explain(name: str, cause: BaseException | None) -> AigonError | None:
    """Return what a person reads for an error; None for one that is aigon's own fault."""
    match cause:
        case AigonError():
            return cause
        case ValidationError():
            lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in cause.errors()]
            what = f"{name} cannot take these arguments: {'; '.join(lines)}"
            return usage(what, hint="tools/list has the schema of each")
        case OSError():
            return explain_os_error("The system refused", cause)
    return None
