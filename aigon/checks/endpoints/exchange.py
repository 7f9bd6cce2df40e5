"""One request and its answer, in bounded time and memory. Only ever with the server that was started."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from aigon.checks.endpoints.answer import LARGEST_BODY, HttpAnswer
from aigon.checks.endpoints.plan import PlannedRequest, RequestBody
from aigon.config import endpoint_references
from aigon.config.endpoint_references import SavedValues

FORM = "application/x-www-form-urlencoded"
DEFAULTS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "aigon"}
"""Encodings are asked for by nobody who does not say so: which ones there are depends on what is installed."""


class NoAnswer(Exception):
    """No whole answer came; the text says why, for people."""


class LateAnswer(NoAnswer):
    """No whole answer came in time: the server may well be there."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request as it is sent."""

    method: str
    target: str
    headers: Sequence[tuple[bytes, bytes]]
    content: bytes


def prepare_request(request: PlannedRequest, values: SavedValues) -> PreparedRequest:
    """The request with saved values in it. Raises holes.Unsaved, and ValueError where a value does not fit."""
    content, kind = _encode_body(request.body, values)
    given = {name.lower(): endpoint_references.fill_text(value, values) for name, value in request.headers.items()}
    headers = {**DEFAULTS, **({"content-type": kind} if kind else {}), **given}
    if any("\r" in value or "\n" in value or "\0" in value for value in headers.values()):
        raise ValueError("a saved value has a line break, which no header can hold")
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return PreparedRequest(request.method, build_target(request.path, request.query, values), pairs, content)


def _encode_body(body: RequestBody | None, values: SavedValues) -> tuple[bytes, str]:
    """The bytes of a body, and what they are."""
    if body is None:
        return b"", ""
    if body.kind == "json":
        return json.dumps(endpoint_references.fill_references(body.value, values), ensure_ascii=False).encode(
            "utf-8", "replace"
        ), "application/json"
    if body.kind == "form":
        return encode_pairs(body.value, values).encode(), FORM  # type: ignore[arg-type]  # pairs, by its kind
    return endpoint_references.fill_text(str(body.value), values).encode(
        "utf-8", "replace"
    ), "text/plain; charset=utf-8"


class HttpClient:
    """Requests to the server at `base`, one after the other; cookies of earlier answers are sent along."""

    def __init__(self, base: str) -> None:
        self._base = httpx2.URL(base)
        self._kept = _make_client()

    async def ask(
        self, line: PreparedRequest, seconds: float, enough: Callable[[bytes], bool], *, cookies: bool = True
    ) -> HttpAnswer:
        """The answer to a request. Raises Lost where none comes, or not all of it within `seconds`."""
        client = self._kept if cookies else _make_client()
        begun = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                return await self._asked(client, line, enough, begun)
        except TimeoutError:
            raise LateAnswer(f"no whole answer within {seconds:.3g} s") from None
        except httpx2.HTTPError as error:
            raise NoAnswer(_describe_error(error)) from None
        except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
            raise NoAnswer(f"it cannot be sent: {error}") from None
        finally:
            if client is not self._kept:
                await client.aclose()

    async def close(self) -> None:
        """Give its connections back."""
        await self._kept.aclose()

    async def _asked(
        self, client: httpx2.AsyncClient, line: PreparedRequest, enough: Callable[[bytes], bool], begun: float
    ) -> HttpAnswer:
        url = self._base.copy_with(raw_path=line.target.encode("ascii"))
        request = client.build_request(line.method, url, headers=list(line.headers), content=line.content or None)
        if not line.content and line.method in ("POST", "PUT", "PATCH"):
            request.headers["content-length"] = "0"
        response = await client.send(request, stream=True)
        try:
            body, cut = await _read_body(response, enough)
        finally:
            await response.aclose()
        cookies = tuple((name, value) for name, value in response.cookies.items())
        return HttpAnswer(
            response.status_code, tuple(response.headers.multi_items()), body, cut, time.monotonic() - begun, cookies
        )


async def _read_body(response: httpx2.Response, enough: Callable[[bytes], bool]) -> tuple[bytes, bool]:
    """What is read of a body, and whether there is more. A stream of events, which never ends, is read until `enough`
    says so of its bytes."""
    stream = response.headers.get("content-type", "").startswith("text/event-stream")
    body = bytearray()
    if stream and enough(b""):
        return b"", False
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_BODY:
            return bytes(body[:LARGEST_BODY]), True
        if stream and enough(bytes(body)):
            break
    return bytes(body), False


def _make_client() -> httpx2.AsyncClient:
    """No proxy, no redirect, no connection that is used twice: one that the server is about to close fails nobody."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None, verify=False, limits=limits)


def _describe_error(error: httpx2.HTTPError) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        (httpx2.ConnectError, "the server did not take the connection"),
        (httpx2.RemoteProtocolError, "no valid HTTP answer"),
        (httpx2.DecodingError, "the body is not encoded as its headers say"),
        (httpx2.TransportError, "the connection broke"),
    )
    said = next((text for kind, text in kinds if isinstance(error, kind)), "it failed")
    return f"{said} ({error})" if str(error) else said


_KEPT = "/?:@!$&'()*+,;=-._~"
"""What may stand in a path and a query as it is (RFC 3986, 3.3 and 3.4)."""
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
Pair = tuple[str, str]


def build_target(path: str, query: Sequence[Pair], values: SavedValues) -> str:
    """The path and query to send. What is percent-encoded already stays so; saved values are encoded whole.

    A path that is only `${name}` is taken as it was saved, as in a Location header. Raises Unsaved, and ValueError for
    a saved address on another server.
    """
    if endpoint_references.parse_reference(path):
        plain = _read_address(endpoint_references.fill_text(path, values), str(values.get("base", "")))
    else:
        plain = endpoint_references.fill_text(_encode_path(path, around_holes=True), values, _encode_part)
    return _join_query(_encode_path(plain), query, values)


def _encode_path(text: str, *, around_holes: bool = False) -> str:
    kept = _KEPT + ("{}" if around_holes else "")
    return quote(_PERCENT.sub("%25", text), safe=kept + "%")


def _encode_part(text: str) -> str:
    return quote(text, safe="")


def _read_address(address: str, base: str) -> str:
    """Path and query of a saved address. Raises ValueError where it does not lie on the server at `base`."""
    if address.startswith("/") and not address.startswith("//"):
        return address.partition("#")[0]
    parts, own = urlsplit(address), urlsplit(base)
    loopback = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "http" or not loopback or parts.port != own.port:
        raise ValueError(f"{address!r} is not an address on the server that was started")
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _join_query(path: str, query: Sequence[Pair], values: SavedValues) -> str:
    more = encode_pairs(query, values)
    return path + (("&" if "?" in path else "?") + more if more else "")


def encode_pairs(pairs: Sequence[Pair], values: SavedValues, quoted: Callable[[str], str] = _encode_part) -> str:
    """`pairs` as a query or a form holds them, with the saved values in them. Raises Unsaved."""
    return "&".join(f"{quoted(name)}={quoted(endpoint_references.fill_text(value, values))}" for name, value in pairs)
