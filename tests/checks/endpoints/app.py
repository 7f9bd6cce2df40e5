"""A server that behaves, or misbehaves, as its arguments and the paths say. Started as `python app.py PORT [WORDS]`."""

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

PORT, WORDS = int(sys.argv[1]), sys.argv[2:]
USERS: dict[str, dict[str, object]] = {}
ENV = ("AIGON_ENDPOINTS", "PORT", "AIGON_PORT", "MINE", "SPACE", "PATH")
BEGUN = time.monotonic()


class Handler(BaseHTTPRequestHandler):
    """Every path is a function below; the whole request is in the answer of /echo."""

    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Transfer_Encoding" not in headers and status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, value: object, status: int = 200, **headers: str) -> None:
        self.answer(status, json.dumps(value).encode(), Content_Type="application/json; charset=utf-8", **headers)

    def handle_any(self) -> None:
        self.content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = urlsplit(self.path).path.strip("/").split("/")[0].replace("-", "_")
        path: Callable[[Handler], None] = PATHS.get(name, lambda each: each.json({"detail": "Not Found"}, 404))
        path(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any


def echo(handler: Handler) -> None:
    parts = urlsplit(handler.path)
    said: dict[str, object] = {"method": handler.command, "path": unquote(parts.path), "raw": handler.path}
    said |= {"query": parse_qs(parts.query), "headers": {k.lower(): v for k, v in handler.headers.items()}}
    handler.json(said | {"body": handler.content.decode()})


def users(handler: Handler) -> None:
    rest = handler.path.partition("/users/")[2]
    if handler.command == "POST":
        user = {"id": len(USERS) + 1, **json.loads(handler.content)}
        USERS[str(user["id"])] = user
        handler.json(user, 201, Location=f"http://127.0.0.1:{PORT}/users/{user['id']}")
    elif rest in USERS:
        handler.json(USERS[rest])
    else:
        handler.json({"detail": "no such user"}, 404)


def health(handler: Handler) -> None:
    late = "late" in WORDS and time.monotonic() - BEGUN < 0.4
    handler.answer(503 if late or "sick" in WORDS else 200)


def chunked(handler: Handler) -> None:
    handler.answer(200, b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", Transfer_Encoding="chunked")


def cut(handler: Handler) -> None:
    handler.answer(200, b"5\r\nhello\r\n", Transfer_Encoding="chunked")
    handler.close_connection = True


def drip(handler: Handler) -> None:
    """A header that never ends, byte by byte: no single read takes long."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.02)


def events(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    while True:
        handler.wfile.write(b"data: tick\n\n")
        time.sleep(0.02)


def sleep(handler: Handler) -> None:
    time.sleep(3)
    handler.answer(200)


def login(handler: Handler) -> None:
    handler.answer(204, Set_Cookie="session=s3; Path=/")


def huge(handler: Handler) -> None:
    body = b"x" * (9 * 1024 * 1024)
    handler.answer(200, body, Content_Type="text/plain")


def die(_handler: Handler) -> None:
    print("ValueError: there is nothing left to serve", flush=True)
    os._exit(7)


def bad(handler: Handler) -> None:
    handler.wfile.write(b"this is no HTTP\r\n\r\n")
    handler.close_connection = True


def squeezed(handler: Handler) -> None:
    handler.answer(200, gzip.compress(b'{"squeezed": true}'), Content_Encoding="gzip", Content_Type="application/json")


PATHS: dict[str, Callable[[Handler], None]] = {
    **{each.__name__: each for each in (echo, users, health, chunked, cut, drip, events, sleep, login, huge, bad)},
    "die": die,
    "squeezed": squeezed,
    "bomb": lambda h: h.answer(200, gzip.compress(bytes(64 * 1024 * 1024)), Content_Encoding="gzip"),
    "not_squeezed": lambda h: h.answer(200, b"plain", Content_Encoding="gzip"),
    "moved": lambda h: h.answer(302, Location="/users"),
    "elsewhere": lambda h: h.answer(200, Location="http://example.invalid/x"),
    "nothing": lambda h: h.answer(204),
    "deep": lambda h: h.answer(200, b"[" * 100_000 + b"]" * 100_000),
    "nan": lambda h: h.answer(200, b'{"a": NaN}'),
    "page": lambda h: h.answer(200, "<p>Grüße</p>".encode("latin-1"), Content_Type="text/html; charset=latin-1"),
    "env": lambda h: h.json({k: os.environ.get(k) for k in ENV}),
}


def start() -> None:
    if "loud" in WORDS:
        line = b"x" * 999 + b"\n"
        threading.Thread(target=lambda: [os.write(1, line) for _ in range(30_000)], daemon=True).start()
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stays = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", stays, WORDS[-1]], start_new_session=True)
    if "crash" in WORDS:
        raise RuntimeError("the database is not there")
    if "deaf" in WORDS:
        time.sleep(600)
    if "six" in WORDS:
        ThreadingHTTPServer.address_family = socket.AF_INET6
    port = 0 if "lost" in WORDS else PORT
    ThreadingHTTPServer(("::1" if "six" in WORDS else "127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    start()
