"""One request and its answer, in bounded time and memory. Only ever with the server that was started."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
from msgspec import UNSET, Struct

from aigon.checks.endpoints.answer import LARGEST_BODY, HttpAnswer
from aigon.config.endpoints import Request, SavedValues, fill_references, fill_text, format_value, parse_reference
from aigon.text.patterns import compile_re

_DEFAULTS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "aigon"}
"""Encodings are only asked for if the project says so: which ones are there depends on what is installed."""
_KEPT = "/?:@!$&'()*+,;=-._~"
"""What a path and a query hold as it is (RFC 3986, 3.3 and 3.4)."""
_BARE_PERCENT = compile_re(r"%(?![0-9A-Fa-f]{2})")


class NoAnswer(Exception):
    """No whole answer came; the text says why, for people."""


class LateAnswer(NoAnswer):
    """No whole answer came in time: the server may well be there."""


class PreparedRequest(Struct, frozen=True):
    """A request as it is sent."""

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    content: bytes


def prepare_request(request: Request, values: SavedValues) -> PreparedRequest:
    """Return the request with saved values in it. Raises UnsavedValue, and ValueError if a value does not fit."""
    content, kind = _encode_body(request, values)
    given = {name.lower(): fill_text(value, values) for name, value in request.headers.items()}
    headers = {**_DEFAULTS, **({"content-type": kind} if kind else {}), **given}
    if any(set(value) & set("\r\n\0") for value in headers.values()):
        raise ValueError("a saved value has a line break, which no header can hold")
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return PreparedRequest(request.method, build_target(request.path, request.query, values), pairs, content)


def _encode_body(request: Request, values: SavedValues) -> tuple[bytes, str]:
    """Return the bytes of a body and their content type."""
    if request.json_ is not UNSET:
        text, kind = json.dumps(fill_references(request.json_, values), ensure_ascii=False), "application/json"
    elif request.form is not None:
        text, kind = _encode_pairs(request.form, values), "application/x-www-form-urlencoded"
    elif request.text is not None:
        text, kind = fill_text(request.text, values), "text/plain; charset=utf-8"
    else:
        return b"", ""
    return text.encode("utf-8", "replace"), kind


def build_target(path: str, query: Mapping[str, object], values: SavedValues) -> str:
    """Return path and query as they are sent. What is percent-encoded already stays so; saved values are encoded whole.

    A path that is only `${name}` is taken as it was saved, as in a Location header. Raises UnsavedValue, and ValueError
    for a saved address on another server.
    """
    if parse_reference(path):
        plain = _read_address(fill_text(path, values), str(values.get("base", "")))
    else:
        plain = fill_text(_encode(path, _KEPT + "{}"), values, _encode_part)
    target, more = _encode(plain, _KEPT), _encode_pairs(query, values)
    return target + (("&" if "?" in target else "?") + more if more else "")


def _encode(text: str, kept: str) -> str:
    return quote(_BARE_PERCENT.sub("%25", text), safe=kept + "%")


def _encode_part(text: str) -> str:
    return quote(text, safe="")


def _encode_pairs(pairs: Mapping[str, object], values: SavedValues) -> str:
    """Return names and values as a query; a list is its name several times."""

    def encode() -> Iterator[str]:
        for name, value in pairs.items():
            for each in value if isinstance(value, list) else [value]:
                yield f"{_encode_part(name)}={_encode_part(fill_text(format_value(each), values))}"

    return "&".join(encode())


def _read_address(address: str, base: str) -> str:
    """Return path and query of a saved address. Raises ValueError unless it is on the server at `base`."""
    if address.startswith("/") and not address.startswith("//"):
        return address.partition("#")[0]
    parts, own = urlsplit(address), urlsplit(base)
    is_loopback = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "http" or not is_loopback or parts.port != own.port:
        raise ValueError(f"{address!r} is not an address on the server that was started")
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class HttpClient:
    """Sends requests to the server at `base`, one after the other, with the cookies of earlier answers."""

    def __init__(self, base: str) -> None:
        self._base = httpx2.URL(base)
        self._kept = _make_client()

    async def ask(
        self, request: PreparedRequest, seconds: float, is_enough: Callable[[bytes], bool], *, cookies: bool = True
    ) -> HttpAnswer:
        """Return the answer. Raises NoAnswer if none comes, or not all of it within `seconds`.

        A stream of events, which never ends, is read until `is_enough` says so of its bytes.
        """
        client = self._kept if cookies else _make_client()
        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(client, request, is_enough)
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
        """Close its connections."""
        await self._kept.aclose()

    async def _exchange(
        self, client: httpx2.AsyncClient, prepared: PreparedRequest, is_enough: Callable[[bytes], bool]
    ) -> HttpAnswer:
        begun = time.monotonic()
        url = self._base.copy_with(raw_path=prepared.target.encode("ascii"))
        content = prepared.content or None
        request = client.build_request(prepared.method, url, headers=prepared.headers, content=content)
        if content is None and prepared.method in ("POST", "PUT", "PATCH"):
            request.headers["content-length"] = "0"
        response = await client.send(request, stream=True)
        try:
            body = await _read_body(response, is_enough)
        finally:
            await response.aclose()
        return HttpAnswer(
            response.status_code,
            tuple(response.headers.multi_items()),
            body[:LARGEST_BODY],
            len(body) > LARGEST_BODY,
            time.monotonic() - begun,
            tuple((name, value) for name, value in response.cookies.items()),
        )


def fetch(base: str, path: str, seconds: float) -> HttpAnswer:
    """Return what the server at `base` answers to a plain GET. Raises NoAnswer."""

    async def ask() -> HttpAnswer:
        client = HttpClient(base)
        try:
            return await client.ask(prepare_request(Request(path=path), {}), seconds, lambda _: True)
        finally:
            await client.close()

    return asyncio.run(ask())


async def _read_body(response: httpx2.Response, is_enough: Callable[[bytes], bool]) -> bytes:
    """Return the body, or a part that is larger than LARGEST_BODY."""
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    body = bytearray()
    if is_stream and is_enough(b""):
        return b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_BODY or (is_stream and is_enough(bytes(body))):
            break
    return bytes(body)


def _make_client() -> httpx2.AsyncClient:
    """Return a client without proxy and redirects. No connection is used twice: the server may be about to close it."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None, verify=False, limits=limits)


def _describe_error(error: httpx2.HTTPError) -> str:
    reasons: tuple[tuple[Any, str], ...] = (
        (httpx2.ConnectError, "the server did not take the connection"),
        (httpx2.RemoteProtocolError, "no valid HTTP answer"),
        (httpx2.DecodingError, "the body is not encoded as its headers say"),
        (httpx2.TransportError, "the connection broke"),
        (httpx2.HTTPError, "it failed"),
    )
    reason = next(text for kind, text in reasons if isinstance(error, kind))
    return f"{reason} ({error})" if str(error) else reason
