"""A service on loopback with endpoints, for tests: what it was asked is in `asked`."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Service:
    """A running service; `asked` is path, key and body of each request."""

    url: str = ""
    asked: list[tuple[str, str, Any]] = field(default_factory=list)


@contextmanager
def service() -> Iterator[Service]:
    """A service that answers with what it was sent, 500 at `/broken`, a redirect at `/moved`."""
    told = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told.asked.append((self.path, self.headers.get("authorization", ""), body))
            status = {"/api/broken": 500, "/api/moved": 302}.get(self.path, 200)
            answer = json.dumps({"got": body, "key": self.headers.get("authorization", "")}).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("location", told.url + "/elsewhere")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}/api"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
