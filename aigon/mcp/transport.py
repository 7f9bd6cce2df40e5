"""Transports to clients: standard input and output, or HTTP from this machine with a token."""

import hmac
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from aigon.errors import environment, usage
from aigon.mcp.served import ServedProjects
from aigon.mcp.server import TaskServer, build_server
from aigon.run.authority import find_run_above
from aigon.spec.features import LARGEST

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN = "AIGON_MCP_TOKEN"
"""The variable with the token that clients have to send; without it each start makes one."""
SHORTEST_TOKEN = 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_REQUEST = 16 * LARGEST
"""Bytes of a request: what is too large for a spec gets an explanation of its own."""
_GRACE = 2
"""Seconds that open connections have when the server ends."""


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
        app = RequireToken(build_http_app(server, host), token)
        print(f"aigon: serving MCP on http://{address}/mcp", file=sys.stderr)
        if TOKEN not in os.environ:
            print(f"aigon: clients send the header: Authorization: Bearer {token}", file=sys.stderr)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=_GRACE, server_header=False)
        anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listening]))


def build_http_app(server: TaskServer, host: str) -> "ASGIApp":
    """Return the application, which refuses a Host or an Origin of elsewhere (rebound names)."""
    return server.streamable_http_app(host=host, max_request_body_size=LARGEST_REQUEST)


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
