"""The process that serves the pages: its socket, what a browser asks for and gets, its end."""

import asyncio
import contextlib
import logging
import socket
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from datetime import date
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aigon.api import Project
from aigon.errors import AigonError, Exit, environment, usage
from aigon.files.resources import find_resource
from aigon.journal.statistics import GROUPINGS, Grouping
from aigon.model.criteria import DEFAULT_PROMISE, MAX_ITERATIONS
from aigon.ui.feed import Feed, Render, Topic, read_version
from aigon.ui.fragments import Parts, choose_lane, read_spec
from aigon.ui.guard import Access, Guard
from aigon.ui.pages import RALPH_ITERATIONS, VERBS, Form, load_config, render, run_form, save_feature

NOTES = 50
"""Messages about what a form did that are kept until they are shown."""
STALLED = 30.0
"""Seconds after which a stream is closed whose reader takes nothing."""
_CODES = {Exit.USAGE: HTTPStatus.BAD_REQUEST, Exit.NEEDS_HUMAN: HTTPStatus.FORBIDDEN}


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
        Route("/approvals", pages.show_board),
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


class Pages:
    """The pages of one repository."""

    def __init__(self, project: Project, access: Access) -> None:
        self.project, self.access = project, access
        self.feed = Feed(project, self._find_render)
        self._parts = Parts(access, self._read_defaults)
        self._notes: OrderedDict[str, str] = OrderedDict()

    def _find_render(self, topic: str) -> Render | None:
        kind, *names = topic.split("/")
        if kind == "board" and not names:
            return self._parts.board
        if kind == "approvals" and not names:
            return self._parts.approvals
        if kind == "feature" and 1 <= len(names) <= 2:
            return partial(self._parts.feature, feature=names[0], label=names[1] if len(names) == 2 else None)
        return None

    def show_board(self, request: Request) -> Response:
        """The features by stage, what needs a person first; or only what waits for a person."""
        template = request.url.path.strip("/") or "board"
        return self._show_topic(request, template, template, {})

    def show_feature(self, request: Request) -> Response:
        """A feature while it is built, by one agent or several side by side."""
        feature, query = request.path_params["feature"], request.query_params
        agent = query.get("agent")
        topic = f"feature/{feature}" if agent is None else f"feature/{feature}/{agent}"
        spec = read_spec(self.feed, feature)
        agents = query.get("with", "")
        parts = self._parts.feature(self.feed, feature, agent, agents) if agents else ()
        filled = {part.name: part.html for part in parts}
        return self._show_topic(request, "feature", topic, filled, feature=feature, spec=spec)

    def show_new(self, request: Request) -> Response:
        """The form of a new feature."""
        return self._show_form(request, {"promise": DEFAULT_PROMISE, "max_iterations": str(RALPH_ITERATIONS)})

    def show_edit(self, request: Request) -> Response:
        """The same form with the spec of a feature."""
        spec = self.project.spec(request.path_params["feature"])
        known = spec.settings
        form = {
            "title": spec.title,
            "description": spec.description,
            "ralph": "on" if known.mode == "ralph" else "",
            "max_iterations": str(known.max_iterations or RALPH_ITERATIONS),
            "promise": known.promises[0] if known.promises else DEFAULT_PROMISE,
        }
        return self._show_form(request, form)

    async def save(self, request: Request) -> Response:
        """Write what a form says, and show the feature; show the form again if it cannot be."""
        form, feature = read_form(await request.body()), request.path_params.get("feature", "")
        try:
            name = await run_in_threadpool(save_feature, self.project, form, feature)
        except AigonError as error:
            return await run_in_threadpool(self._show_form, request, form, error)
        said = f"Feature {name} is saved." if feature else f"Feature {name} is in the inbox."
        query = f"?with={quote(form['agents'])}" if form.get("agents") else ""
        return self.go_back({"back": f"/feature/{quote(name)}{query}"}, said)

    def _show_form(self, request: Request, form: Form, error: AigonError | None = None) -> Response:
        values = {"form": form, "feature": request.path_params.get("feature", ""), "defaults": self._read_defaults()}
        return self._render(request, "form", 400 if error else 200, error=error, most=MAX_ITERATIONS, **values)

    def show_diff(self, request: Request) -> Response:
        """Show what an iteration changed, or `all` of a run."""
        feature, number = request.path_params["feature"], request.path_params["number"]
        self.feed.open("board")
        lane = choose_lane(self.feed.list_lanes(feature), request.query_params.get("agent"))
        row = lane.rows.get(int(number)) if lane and number.isdecimal() else None
        if lane is None or lane.started is None or (row is None and number != "all"):
            raise HTTPException(404)
        base, commit = (row.before, row.commit) if row else (lane.started.base_commit, lane.commit)
        files = self._parts.find_diff(self.feed, base, commit)
        title = f"Iteration {number}" if row else "All changes"
        return self._render(request, "diff", feature=feature, lane=lane, title=title, files=files, row=row)

    def show_statistics(self, request: Request) -> Response:
        """Show statistics of the repository's runs."""
        wanted, since = request.query_params.get("by"), request.query_params.get("since", "")
        by: Grouping = next((each for each in GROUPINGS if each == wanted), "agent")
        try:
            day = date.fromisoformat(since) if since else None
        except ValueError:
            raise usage(f"'{since[:40]}' is no day", where="Since", hint="Write it as in 2026-11-20") from None
        stats = self.project.stats(by, day)
        return self._render(request, "statistics", stats=stats, by=by, since=since)

    async def send_events(self, request: Request) -> Response:
        """A stream of the fragments of a page that changed."""
        topic = await run_in_threadpool(self.feed.open, request.path_params["topic"])
        if topic is None:
            raise HTTPException(404)
        if self.feed.is_full():
            return Response("Too many pages are open.\n", HTTPStatus.SERVICE_UNAVAILABLE, {"retry-after": "30"})
        since = read_version((request.headers.get("last-event-id"), request.query_params.get("since")))
        return EventSourceResponse(self._stream(topic, since), send_timeout=STALLED)

    async def _stream(self, topic: Topic, since: int) -> AsyncIterator[ServerSentEvent]:
        async for version, fragment in self.feed.stream(topic, since):
            yield ServerSentEvent(fragment.html, event="fragment", id=str(version))

    async def do(self, request: Request) -> Response:
        """Run the verb of a form, and go back to the page that it was on."""
        verb = request.path_params["verb"]
        if verb not in VERBS:
            raise HTTPException(404)
        form = read_form(await request.body())
        await run_in_threadpool(self._require_seen, form)
        said = await run_in_threadpool(run_form, self.project, verb, form, self.access.decides)
        return self.go_back(form, said)

    def _require_seen(self, form: Form) -> None:
        """Raise AigonError (exit 4) if the run went on since the page of this form was made."""
        lane = self.feed.find_lane(form.get("feature", ""), form.get("agent", "")) if "commit" in form else None
        if lane and lane.commit != form["commit"]:
            what = "The code has changed since you looked at it"
            raise AigonError(what, hint="Look again, and decide then", code=Exit.NEEDS_HUMAN)

    def go_back(self, form: Form, said: str) -> Response:
        """Return the answer that leads to the page a form names, where `said` is shown."""
        note = str(self.feed.next_version())
        self._notes[note] = said
        while len(self._notes) > NOTES:
            self._notes.popitem(last=False)
        back = form.get("back", "/")
        here = urlsplit(back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/")
        query = urlencode([pair for pair in parse_qsl(here.query) if pair[0] in ("agent", "with")] + [("note", note)])
        return RedirectResponse(f"{quote(unquote(here.path))}?{query}", HTTPStatus.SEE_OTHER)

    def show_error(self, request: Request, error: Exception) -> Response:
        """Show what went wrong, where, and what to do."""
        status, facts = HTTPStatus.INTERNAL_SERVER_ERROR, AigonError("aigon failed at this page", hint="aigon doctor")
        if isinstance(error, AigonError):
            status, facts = _CODES.get(error.code, HTTPStatus.CONFLICT), error
        elif isinstance(error, HTTPException):
            status, facts = HTTPStatus(error.status_code), AigonError("There is no such page", hint="Go to the board")
        return self._render(request, "error", status, error=facts)

    def _show_topic(
        self, request: Request, template: str, key: str, filled: Mapping[str, str], **values: Any
    ) -> Response:
        topic = self.feed.open(key)
        assert topic is not None, "the page has a topic"
        parts = {**{fragment.name: fragment.html for _, fragment in topic.fragments.values()}, **filled}
        return self._render(request, template, topic=quote(key), version=topic.version, parts=parts, **values)

    def _render(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        agent = request.query_params.get("agent")
        path = request.url.path + ("" if agent is None else f"?agent={quote(agent)}")
        shared = {
            "project": self.project.root.name,
            "access": self.access,
            "path": path,
            "note": self._notes.pop(request.query_params.get("note", ""), ""),
            "topic": "",
            "version": 0,
        }
        return HTMLResponse(render(f"{template}.html", **{**shared, **values}), status)

    def _read_defaults(self) -> dict[str, Any]:
        """Return what forms begin with, as the configuration has it."""
        config = load_config(self.project)
        return {
            "agent": config.default_agent or "",
            "agents": sorted({*config.agents, "claude", "codex", "gemini", "opencode"}),
            "max_cost": config.guards.max_cost,
            "max_iterations": config.ralph.max_iterations,
        }


def read_form(body: bytes) -> Form:
    """Return the fields of a form; the values of one that comes several times are separated by spaces."""
    form: dict[str, str] = {}
    for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
        form[name] = f"{form[name]} {value}" if name in form else value
    return form
