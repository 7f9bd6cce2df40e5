"""The process that serves the pages: its socket, its application, its end."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aigon.api import Project
from aigon.errors import AigonError, environment, usage
from aigon.files.resources import find_resource
from aigon.ui.guard import Access, Guard
from aigon.ui.pages import Pages


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 is any free one. Raises AigonError: exit 2 or 7."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise usage(f"'{host}' is no address of this machine", where="--host", hint="Leave --host out") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()  # whoever opens the address at once waits for the first page
    except OSError as error:
        listener.close()
        hint = "Choose another one; --port 0, the default, takes any that is free"
        raise environment(
            f"Port {port} of {host} cannot be used: {error.strerror}", where="--port", hint=hint
        ) from None
    return listener


def build_app(project: Project, access: Access) -> Starlette:
    """Return the application: every page, behind the guard."""
    pages = Pages(project, access)

    @contextlib.asynccontextmanager
    async def follow(_app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(pages.feed.run())
        yield
        task.cancel()

    static = StaticFiles(directory=find_resource("templates", "ui", "static"))
    routes = [
        Route("/", pages.show_board),
        Route("/new", pages.show_new),
        Route("/new", pages.save, methods=["POST"]),
        Route("/approvals", pages.show_approvals),
        Route("/statistics", pages.show_statistics),
        Route("/feature/{feature}", pages.show_feature),
        Route("/feature/{feature}/edit", pages.show_edit),
        Route("/feature/{feature}/edit", pages.save, methods=["POST"]),
        Route("/feature/{feature}/diff/{number}", pages.show_diff),
        Route("/events/{topic:path}", pages.send_events),
        Route("/do/{verb}", pages.do, methods=["POST"]),
        Mount("/static", static),
    ]
    handlers = {404: pages.show_error, 405: pages.show_error, AigonError: pages.show_error, 500: pages.show_error}
    guard = Middleware(Guard, access=access)
    return Starlette(routes=routes, middleware=[guard], lifespan=follow, exception_handlers=handlers)


def build_server(project: Project, access: Access) -> uvicorn.Server:
    """Return a server of the pages: `run(sockets=[...])` serves them until Ctrl+C or SIGTERM."""
    config = uvicorn.Config(
        build_app(project, access),
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    # A page that is open when the server ends is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda record: "without completing" not in record.getMessage())
    return uvicorn.Server(config)
