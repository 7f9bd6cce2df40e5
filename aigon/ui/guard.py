"""Check who may ask for what: every request passes here first."""

import secrets
from collections.abc import MutableMapping
from contextlib import suppress
from http import HTTPStatus
from http.cookies import CookieError, Morsel, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct, field
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

LARGEST = 2 * 1024 * 1024
"""Bytes of a form. A spec has at most one MiB."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Not no-referrer: with that a browser sends `Origin: null` with the forms of these pages.
    "referrer-policy": "same-origin",
}
_SAFE = ("GET", "HEAD")
_LOST = "Open the address that `aigon ui` printed in its terminal: it has the token that this page needs.\n"


class Access(Struct, frozen=True):
    """The rights of a server. `host` and `port` are where it listens.

    `decides`: a person started it from a terminal. `tickets` admit once, for an address that others can see.
    """

    host: str
    port: int
    read_only: bool = False
    decides: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    tickets: set[str] = field(default_factory=set)

    @property
    def address(self) -> str:
        """The address of the pages, for people."""
        plain = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        host = f"[{plain}]" if ":" in plain else plain
        return f"http://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def add_ticket(self) -> str:
        """Return a token that admits once."""
        ticket = secrets.token_urlsafe(32)
        self.tickets.add(ticket)
        return ticket

    def admits(self, token: str) -> bool:
        """Return whether this token opens a session. A ticket is spent by it."""
        if secrets.compare_digest(token.encode(), self.token.encode()):
            return True
        spent = token in self.tickets
        self.tickets.discard(token)
        return spent

    def has_host(self, host: str) -> bool:
        """Return whether a request for this host is meant for this server, and is not a name that leads here."""
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self.port):
            return False
        if self.is_local:
            return name in ("127.0.0.1", "localhost", "[::1]", self.host)
        if name == self.host:
            return True
        try:
            return self.host in ("0.0.0.0", "::") and bool(ip_address(name.strip("[]")))
        except ValueError:
            return False

    @property
    def cookie(self) -> str:
        """The name of the cookie: those of servers on other ports of this host are sent here, too."""
        return f"aigon-{self.port}"


class Guard:
    """Lets a request through if it comes from a page of this server, or has the token."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = self._refuse(scope) or self._admit(scope)
        await (answer or self._app)(scope, receive, _add_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        headers, access = Headers(scope=scope), self._access
        host, origin = headers.get("host", ""), headers.get("origin")
        if not access.has_host(host):
            return _answer(HTTPStatus.MISDIRECTED_REQUEST, "Open the address that this server printed.\n")
        is_safe = scope["method"] in _SAFE
        if origin != f"http://{host}" if origin is not None else not is_safe:
            return _answer(HTTPStatus.FORBIDDEN, "Requests of other pages are refused.\n")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_safe:
            return _answer(HTTPStatus.FORBIDDEN, "Requests of other pages are refused.\n")
        length = headers.get("content-length", "0")
        if not is_safe and ("transfer-encoding" in headers or not length.isdecimal() or int(length) > LARGEST):
            return _answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This form is too large.\n")
        return None

    def _admit(self, scope: Scope) -> Response | None:
        access = self._access
        session: Morsel[str] | None = None
        query = parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=100)
        token = dict(query).get("token")
        if token is not None and scope["method"] in _SAFE and access.admits(token):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            response = RedirectResponse(f"{scope['path']}{'?' if rest else ''}{rest}", HTTPStatus.SEE_OTHER)
            response.set_cookie(access.cookie, access.session, httponly=True, samesite="strict")
            return response
        with suppress(CookieError):
            session = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(access.cookie)
        if session is None or not secrets.compare_digest(session.value.encode(), access.session.encode()):
            return _answer(HTTPStatus.FORBIDDEN, _LOST)
        if access.read_only and scope["method"] not in _SAFE:
            return _answer(HTTPStatus.FORBIDDEN, "This server was started with --read-only, or below a loop.\n")
        return None


def _answer(status: HTTPStatus, text: str) -> Response:
    return PlainTextResponse(text, status)


def _add_headers(send: Send) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            has = {name.lower() for name, _ in message["headers"]}
            extra = {"cache-control": "no-store", **HEADERS}
            message["headers"] = [
                *message["headers"],
                *((name.encode(), value.encode()) for name, value in extra.items() if name.encode() not in has),
            ]
        await send(message)

    return send_with_headers
