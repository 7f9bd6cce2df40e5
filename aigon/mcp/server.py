"""The server: its tools, resources and prompt, how an error reaches a client, and the transports to clients."""

import hmac
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool, ToolAnnotations
from msgspec import Struct
from pydantic import ValidationError

from aigon import __version__
from aigon.api import Project, open_project
from aigon.errors import AigonError, Exit, environment, explain_error, usage
from aigon.files.resources import find_resource
from aigon.files.system_errors import explain_os_error
from aigon.mcp.resources import CountingBus, add_resources, announce_changes
from aigon.mcp.tools import TaskTools
from aigon.run.invocations import find_run_above
from aigon.spec.features import LARGEST

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


SEPARATOR = ":"
"""Between project and task in the ID of a task, where several projects are served."""


class ServedProjects(Struct, frozen=True):
    """Repositories by the folders that they were named by. They are opened anew for each call: they may be gone."""

    folders: tuple[Path, ...]

    def open_all(self) -> Iterator[Project]:
        """Yield every project that is still there."""
        for folder in self.folders:
            try:
                yield open_project(folder)
            except AigonError:
                continue

    def find_project(self, wanted: str) -> Project:
        """Return the project with this ID or path. Raises AigonError: exit 2 if it is unknown, 7 if it is gone."""
        for folder in self.folders:
            if Path(wanted) == folder:
                return open_project(folder)
        known = []
        for project in self.open_all():
            if wanted in (project.id, str(project.root)):
                return project
            known.append(f"{project.id} ({project.root})")
        if not self.folders:
            raise environment("This server serves no repository", hint="Start it in one, or name it: aigon mcp FOLDER")
        listed = f"Known: {', '.join(known)}" if known else "None of the repositories of this server is there any more"
        raise usage(f"There is no project {wanted!r:.120}", where="project_id", hint=listed)

    def find_task(self, task_id: str) -> tuple[Project, str]:
        """Return the project of a task, and the name of its feature there.

        Raises AigonError (exit 2) if none of the projects has it, or several do.
        """
        before, found, name = task_id.rpartition(SEPARATOR)
        if found:
            return self.find_project(before), name
        if len(self.folders) == 1:
            return open_project(self.folders[0]), task_id
        having = []
        for project in self.open_all():
            try:
                project.spec(task_id)
                having.append(project)
            except AigonError:
                continue
        if len(having) == 1:
            return having[0], task_id
        what = "No project has" if not having else f"{len(having)} projects have"
        raise usage(f"{what} a task {task_id!r:.120}", where="task_id", hint="list_tasks names the tasks of a project")

    def name_task(self, project: Project, feature: str) -> str:
        """Return the ID of a task: with that of its project, if there are several."""
        return feature if len(self.folders) == 1 else f"{project.id}{SEPARATOR}{feature}"


READS = ("list_projects", "list_tasks", "get_task", "task_log", "wait_task")
WRITES = ("create_task", "update_task", "start_task", "stop_task")
"""Tools for a client of a person's, and not for an agent inside a loop."""
INSTRUCTIONS = (
    "aigon has a coding agent build a task in a loop until it has proven every acceptance criterion by running the "
    "project's own checks. Create a task with criteria, start it with a limit on cost, wait for it. Only aigon decides "
    "what is proven; only a person approves, rejects and merges."
)

FindLoop = Callable[[Context[Any, Any] | None], str]
"""Returns what shows that a loop started the caller; "" if nothing does."""
TOKEN = "AIGON_MCP_TOKEN"
"""The variable with the token that clients have to send; without it each start makes one."""
SHORTEST_TOKEN = 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_REQUEST = 16 * LARGEST
"""Bytes of a request: what is too large for a spec gets an explanation of its own."""
_GRACE = 2
"""Seconds that open connections have when the server ends."""


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


def serve_stdio(folders: Sequence[Path]) -> None:
    """Serve one client on standard input and output, until it closes them. Raises AigonError (exit 2) in a terminal."""
    if sys.stdin.isatty():
        hint = "aigon install-commands --mcp AGENT tells an agent how to start it; --http HOST:PORT serves by itself"
        raise usage("aigon mcp needs an MCP client on standard input, not a terminal", hint=hint)
    build_server(ServedProjects(tuple(folders)), lambda _context: find_run_above()).run("stdio")


def serve_http(folders: Sequence[Path], host: str, port: int) -> None:
    """Serve clients of this machine that know the token, until a signal. Raises AigonError: exit 2 or 7."""
    import uvicorn

    if host not in LOOPBACK:
        raise usage(f"{host!r:.80} can be reached from other machines", where="--http", hint="--http 127.0.0.1:8765")
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(32)
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        hint = f"Give at least {SHORTEST_TOKEN} printable characters, or leave it out: each start makes one"
        raise usage("The token is too short or has characters that no header can have", where=TOKEN, hint=hint)
    with _listen(host, port) as listening:
        address = f"{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        server = build_server(ServedProjects(tuple(folders)), find_loop_of_client)
        app = RequireToken(server.streamable_http_app(host=host, max_request_body_size=LARGEST_REQUEST), token)
        print(f"aigon: serving MCP on http://{address}/mcp", file=sys.stderr)
        if TOKEN not in os.environ:
            print(f"aigon: clients send the header: Authorization: Bearer {token}", file=sys.stderr)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=_GRACE, server_header=False)
        anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listening]))


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from now on clients are kept waiting, not turned away
    except (OSError, OverflowError) as error:
        listening.close()
        hint = "Choose another port; 0 takes a free one"
        raise environment(f"Port {port} cannot be used: {error}", where="--http", hint=hint) from None
    return listening


class RequireToken:
    """Answers 401 to every request without the token."""

    def __init__(self, app: "ASGIApp", token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                body = f"Send the header `Authorization: Bearer TOKEN` with the token of this server ({TOKEN}).\n"
                await send({"type": "http.response.body", "body": body.encode()})
                return
        await self._app(scope, receive, send)


def find_loop_of_client(context: "Context[Any, Any] | None") -> str:
    """Return what shows that the server, or the process at the other end of the connection, is inside a loop."""
    import psutil

    request = getattr(context.request_context, "request", None) if context else None
    client = getattr(request, "client", None)
    if why := find_run_above():
        return why
    if client is None:
        return ""
    try:
        peers = {each.pid for each in psutil.net_connections("tcp") if each.laddr and each.laddr.port == client.port}
    except (psutil.Error, OSError):
        return ""
    found = (find_run_above(pid) for pid in peers - {None, os.getpid()} if pid)
    return next(filter(None, found), "")
