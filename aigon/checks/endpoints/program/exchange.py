"""One request and its answer, in bounded time and memory. Only ever with the server that was started."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from aigon.checks.endpoints.answer import LARGEST, Answer
from aigon.checks.endpoints.plan import Body, Request
from aigon.checks.endpoints.target import encoded, target
from aigon.config import endpoint_references
from aigon.config.endpoint_references import SavedValues

FORM = "application/x-www-form-urlencoded"
DEFAULTS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "aigon"}
"""Encodings are asked for by nobody who does not say so: which ones there are depends on what is installed."""


class Lost(Exception):
    """No whole answer came; the text says why, for people."""


class Late(Lost):
    """No whole answer came in time: the server may well be there."""


@dataclass(frozen=True, slots=True)
class Line:
    """A request as it is sent."""

    method: str
    target: str
    headers: Sequence[tuple[bytes, bytes]]
    content: bytes


def line(request: Request, values: SavedValues) -> Line:
    """The request with saved values in it. Raises holes.Unsaved, and ValueError where a value does not fit."""
    content, kind = _content(request.body, values)
    given = {name.lower(): endpoint_references.fill_text(value, values) for name, value in request.headers.items()}
    headers = {**DEFAULTS, **({"content-type": kind} if kind else {}), **given}
    if any("\r" in value or "\n" in value or "\0" in value for value in headers.values()):
        raise ValueError("a saved value has a line break, which no header can hold")
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Line(request.method, target(request.path, request.query, values), pairs, content)


def _content(body: Body | None, values: SavedValues) -> tuple[bytes, str]:
    """The bytes of a body, and what they are."""
    if body is None:
        return b"", ""
    if body.kind == "json":
        return json.dumps(endpoint_references.fill_references(body.value, values), ensure_ascii=False).encode(
            "utf-8", "replace"
        ), "application/json"
    if body.kind == "form":
        return encoded(body.value, values).encode(), FORM  # type: ignore[arg-type]  # pairs, by its kind
    return endpoint_references.fill_text(str(body.value), values).encode(
        "utf-8", "replace"
    ), "text/plain; charset=utf-8"


class Client:
    """Requests to the server at `base`, one after the other; cookies of earlier answers are sent along."""

    def __init__(self, base: str) -> None:
        self._base = httpx2.URL(base)
        self._kept = _client()

    async def ask(self, line: Line, seconds: float, enough: Callable[[bytes], bool], *, cookies: bool = True) -> Answer:
        """The answer to a request. Raises Lost where none comes, or not all of it within `seconds`."""
        client = self._kept if cookies else _client()
        begun = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                return await self._asked(client, line, enough, begun)
        except TimeoutError:
            raise Late(f"no whole answer within {seconds:.3g} s") from None
        except httpx2.HTTPError as error:
            raise Lost(_said(error)) from None
        except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
            raise Lost(f"it cannot be sent: {error}") from None
        finally:
            if client is not self._kept:
                await client.aclose()

    async def close(self) -> None:
        """Give its connections back."""
        await self._kept.aclose()

    async def _asked(
        self, client: httpx2.AsyncClient, line: Line, enough: Callable[[bytes], bool], begun: float
    ) -> Answer:
        url = self._base.copy_with(raw_path=line.target.encode("ascii"))
        request = client.build_request(line.method, url, headers=list(line.headers), content=line.content or None)
        if not line.content and line.method in ("POST", "PUT", "PATCH"):
            request.headers["content-length"] = "0"
        response = await client.send(request, stream=True)
        try:
            body, cut = await _body(response, enough)
        finally:
            await response.aclose()
        cookies = tuple((name, value) for name, value in response.cookies.items())
        return Answer(
            response.status_code, tuple(response.headers.multi_items()), body, cut, time.monotonic() - begun, cookies
        )


async def _body(response: httpx2.Response, enough: Callable[[bytes], bool]) -> tuple[bytes, bool]:
    """What is read of a body, and whether there is more. A stream of events, which never ends, is read until `enough`
    says so of its bytes."""
    stream = response.headers.get("content-type", "").startswith("text/event-stream")
    body = bytearray()
    if stream and enough(b""):
        return b"", False
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST:
            return bytes(body[:LARGEST]), True
        if stream and enough(bytes(body)):
            break
    return bytes(body), False


def _client() -> httpx2.AsyncClient:
    """No proxy, no redirect, no connection that is used twice: one that the server is about to close fails nobody."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None, verify=False, limits=limits)


def _said(error: httpx2.HTTPError) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        (httpx2.ConnectError, "the server did not take the connection"),
        (httpx2.RemoteProtocolError, "no valid HTTP answer"),
        (httpx2.DecodingError, "the body is not encoded as its headers say"),
        (httpx2.TransportError, "the connection broke"),
    )
    said = next((text for kind, text in kinds if isinstance(error, kind)), "it failed")
    return f"{said} ({error})" if str(error) else said
