"""A repository with journals on record, and somebody who looks at its pages."""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from aigon.api import Project, open_project
from aigon.files.checksums import format_line
from aigon.files.home import ensure_home
from aigon.journal.events import Event
from aigon.journal.records import Records, locate_records
from aigon.journal.replay import dumps
from tests.lab import Lab, until

pytest.importorskip("sse_starlette", reason="no extra: pip install -e '.[ui]'")
pytest.importorskip("uvicorn", reason="no extra: pip install -e '.[ui]'")

from starlette.testclient import TestClient

from aigon.ui.guard import Access
from aigon.ui.server import bind_socket, build_app, build_server

PORT = 4711
ORIGIN = f"http://127.0.0.1:{PORT}"


class Desk:
    """The pages of a laboratory, asked without a network."""

    def __init__(self, lab: Lab, **access: Any) -> None:
        self.lab = lab
        self.project: Project = open_project(lab.root)
        self.access = Access("127.0.0.1", PORT, **{"decides": True, **access})
        self.client = TestClient(build_app(self.project, self.access), ORIGIN, raise_server_exceptions=False)
        self.client.cookies.set(self.access.cookie, self.access.session)

    def get(self, path: str, status: int = 200) -> str:
        """The text of a page."""
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def post(self, verb: str, status: int = 303, **form: str) -> str:
        """What comes of a form: the text of the page that it leads to."""
        return self.save(f"/do/{verb}", form, status)

    def save(self, path: str, form: Mapping[str, str], status: int = 303) -> str:
        """The same of a form that is sent to a path."""
        answer = self.client.post(path, data=form, headers={"origin": ORIGIN}, follow_redirects=False)
        assert answer.status_code == status, answer.text
        return self.get(answer.headers["location"]) if status == 303 else answer.text

    def record(self, events: Iterable[Event], feature: str = "42", label: str = "") -> Records:
        """Write the journal of a run."""
        records = locate_records(ensure_home(self.project.common_dir), feature, label)
        records.folder.mkdir(parents=True, exist_ok=True)
        records.journal.write_bytes(b"".join(format_line(dumps(event)) for event in events))
        return records


def take_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Make the laboratory's environment that of this process."""
    for name in set(os.environ) - set(lab.env):
        monkeypatch.delenv(name)
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    return lab


@contextmanager
def served(project: Project) -> Iterator[tuple[Access, Any]]:
    """A server on loopback, and a function that asks it for a path and returns the open answer."""
    with bind_socket("127.0.0.1", 0) as listener:
        access = Access("127.0.0.1", listener.getsockname()[1], decides=True)
        server = build_server(project, access)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started)
        opened: list[HTTPConnection] = []

        def ask(path: str, headers: Mapping[str, str] = {}) -> HTTPResponse:
            connection = HTTPConnection("127.0.0.1", access.port, timeout=20)
            opened.append(connection)
            connection.request("GET", path, headers={"cookie": f"{access.cookie}={access.session}", **headers})
            return connection.getresponse()

        try:
            yield access, ask
        finally:
            for connection in opened:
                connection.close()
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
