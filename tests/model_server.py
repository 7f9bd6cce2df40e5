"""A scripted server on loopback that speaks the Anthropic Messages API, for tests that must not reach a model.

    with ModelServer(message('{"verdicts": []}'), refusal(429, retry_after="1")) as server:
        ...                       # ANTHROPIC_BASE_URL=server.url
    server.requests[0].body       # what was sent

Replies are served in order; the last one is repeated. A function in place of a reply is given the request and makes
it: `tests.scripted_judges` has some that answer like judges, good and bad.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply. `delay` is in seconds before the first byte; `pause` between single bytes of the body."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Any


Script = Reply | Callable[[Request], Reply]


def message(text: str, *, thinking: str = "", stop_reason: str = "end_turn", delay: float = 0.0, **usage: int) -> Reply:
    """A whole reply of the model; `usage` takes the API's names."""
    blocks: list[dict[str, str]] = []
    if thinking:
        blocks.append({"type": "thinking", "thinking": thinking, "signature": "c2lnbmVk"})
    blocks.append({"type": "text", "text": text})
    counted = {"input_tokens": 1000, "output_tokens": 100} | usage
    whole: dict[str, object] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted"}
    whole |= {"content": blocks, "stop_reason": stop_reason, "stop_sequence": None, "usage": counted}
    return Reply(json.dumps(whole).encode(), delay=delay)


def refusal(status: int, said: str = "no", *, retry_after: str = "", code: str = "") -> Reply:
    """An error status in the API's own form; `code` is its stable `error_code`."""
    error: dict[str, object] = {"type": TYPES.get(status, "api_error"), "message": said}
    if code:
        error["details"] = {"error_code": code}
    headers = {"retry-after": retry_after} if retry_after else {}
    return Reply(json.dumps({"type": "error", "error": error}).encode(), status, headers)


class _Handler(BaseHTTPRequestHandler):
    protocol_version: ClassVar[str] = "HTTP/1.1"  # type: ignore[misc]
    server: "_Server"

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.take(Request(self.path, headers, json.loads(sent)))
        if self.server.stopped.wait(reply.delay):
            return
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self._write(reply)

    def _write(self, reply: Reply) -> None:
        pieces = [bytes([byte]) for byte in reply.body] if reply.pause else [reply.body]
        try:
            for piece in pieces:
                self.wfile.write(piece)
                if reply.pause and self.server.stopped.wait(reply.pause):
                    return
        except OSError:
            self.close_connection = True  # the client did not wait

    def log_message(self, format: str, *args: object) -> None:
        """Silent: what came in is in `requests`."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, replies: tuple[Script, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self.lock = threading.Lock()

    def take(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            script = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return script if isinstance(script, Reply) else script(request)


class ModelServer:
    """The server, running while its `with` block does."""

    def __init__(self, *replies: Script) -> None:
        self._server = _Server(replies)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL is to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """What came in so far, in order."""
        return self._server.requests

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stopped.set()
        self._server.shutdown()
        self._server.server_close()
