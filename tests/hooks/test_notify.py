"""How a run ended is told to others: real servers on loopback, quick ones, slow ones and none at all."""

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as Flag
from threading import Thread

import pytest
from msgspec.structs import replace

from aigon.hooks.notifications import (
    MAX_TEXT_CHARS,
    NotifySink,
    NotifyTarget,
    explain_unusable_address,
    post_document,
    resolve_address,
    shorten_address,
)
from aigon.journal.events import HookRan, IterationFinished, Notice, RunFinished
from aigon.journal.state import State
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met, Stopped
from aigon.views.terminal.events import IterationCount, describe_event
from aigon.views.terminal.scene import Scene
from tests.views.story import run_started, story

Answer = Callable[[BaseHTTPRequestHandler], object]
END = RunFinished("", Met(), "met", 0, "all is proven", "c0ffee")


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    return answer


@contextmanager
def server(answer: Answer) -> Iterator[tuple[str, list[bytes]]]:
    """A server on loopback: its address, and the bodies that it was sent."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            answer(self)

        def do_GET(self) -> None:
            got.append(b"GET")
            answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    Thread(target=partial(listening.serve_forever, 0.02), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/services/T0/secret", got
    finally:
        listening.shutdown()
        listening.server_close()


def hook(url: str, seconds: float = 5.0, on: tuple[str, ...] = ()) -> NotifyTarget:
    return NotifyTarget(f"webhook {url[-6:]}", partial(post_document, url), seconds, on, aside=True)


def keeper(told: list[bytes], *on: str) -> NotifyTarget:
    """Somebody who keeps what they are told."""

    def tell(body: bytes, _seconds: float) -> str:
        told.append(body)
        return ""

    return NotifyTarget("program", tell, on=on)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_the_end_and_only_the_end_is_posted_as_json_that_chat_services_can_show(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[bytes] = []
    with server(status(204)) as (url, got):
        sink = NotifySink([hook(url), keeper(told)], State())
        events = story()
        for event in events:
            sink(event)
            assert bool(got) == isinstance(event, RunFinished)
        sink.close()
    assert got == told
    document = json.loads(got[0])
    (end,) = (event for event in events if isinstance(event, RunFinished))
    assert (document["feature"], document["run"], document["status"], document["exit_code"]) == ("42", "r1", "met", 0)
    assert (document["criteria"], document["commit"]) == ({"met": 5, "total": 5}, end.commit)
    assert (document["success"], document["iterations"], document["remaining_issues"]) == (True, 3, [])
    assert document["spend"] == {"usd": pytest.approx(0.42), "unknown": 1}
    assert document["text"].startswith("aigon, feature 42 multiply: Every criterion is proven")
    assert warnings(caplog) == []


def test_the_text_is_one_bounded_line_without_secrets_before_any_look_too() -> None:
    told: list[bytes] = []
    sink = NotifySink([keeper(told)], State(), redact=lambda text: text.replace(b"hunter2", b"[redacted]"))
    sink(RunFinished("", Stopped("hook", "line\n" + "word " * 500), "stopped", 3, "hunter2", ""))
    document = json.loads(told[0])
    assert "\n" not in document["text"] and len(document["text"]) <= MAX_TEXT_CHARS
    assert "hunter2" not in told[0].decode() and document["summary"] == "[redacted]"
    assert document["criteria"] == {"met": 0, "total": 0}


def test_each_is_told_of_the_ends_it_asked_for_and_of_all_without_asking() -> None:
    every, met, bad = list[bytes](), list[bytes](), list[bytes]()
    sink = NotifySink([keeper(every), keeper(met, "met"), keeper(bad, "stopped", "refused")], State())
    sink(run_started())
    sink(IterationFinished("", 0, "", "", (), (Verdict(1, "met", "verify"),), (), "", (0,), ""))
    sink(END)
    assert (every == met, len(every), bad) == (True, 1, [])
    assert json.loads(met[0])["criteria"] == {"met": 1, "total": 5}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (status(404, b"no_service"), "answered 404 Not Found: no_service"),
        (status(302, Location="file:///etc/hostname"), "answered 302 and redirects, which is not followed"),
        (status(307, Location="http://127.0.0.1:9/"), "answered 307 and redirects, which is not followed"),
        (lambda request: request.connection.close(), ""),
        (lambda request: request.wfile.write(b"220 mail.example.invalid ESMTP\r\n"), "220"),
    ],
)
def test_what_a_server_refuses_is_a_warning_without_the_secret_of_its_address(
    answer: Answer, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with server(answer) as (url, got):
        NotifySink([hook(url)], State())(END)
    assert len(got) == 1, "nothing was asked again or elsewhere"
    (said,) = warnings(caplog)
    assert said.startswith("webhook secret could not be notified of the end of the run: http://127.0.0.1:")
    assert why in said and "services" not in said


def test_a_refused_connection_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    NotifySink([hook(f"http://127.0.0.1:{port}/")], State())(END)
    (said,) = warnings(caplog)
    assert f"http://127.0.0.1:{port}: " in said and "refused" in said


def test_slow_servers_are_waited_for_side_by_side_and_no_longer_than_their_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    over = Flag()

    def drips(request: BaseHTTPRequestHandler) -> None:
        """Byte by byte: every read is answered in time, and the whole never comes."""
        while not over.wait(0.05):
            request.wfile.write(b"H")

    with server(drips) as (slow, _), server(lambda _request: over.wait(10)) as (silent, _):
        took = 9.0
        for times in (1, 2, 3):  # a machine that is busy elsewhere gets three chances
            begun = time.monotonic()
            NotifySink([hook(slow, 0.4), hook(silent, 0.4)], State())(END)
            took = min(took, time.monotonic() - begun)
            assert len(warnings(caplog)) == 2 * times
            if took < 0.75:
                break
        over.set()
    assert 0.3 < took < 0.75


def test_the_end_of_a_run_waits_only_briefly_for_a_service(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aigon.hooks.notifications.PATIENCE", 0.2)
    over = Flag()
    with server(lambda _request: over.wait(20)) as (silent, _):
        begun = time.monotonic()
        NotifySink([hook(silent, 600)], State())(END)
        assert time.monotonic() - begun < 60
        over.set()
    assert [said.rpartition(": ")[2] for said in warnings(caplog)] == ["no answer in time, so it may not have arrived"]


def test_somebody_who_wants_the_process_gone_is_not_kept_waiting(caplog: pytest.LogCaptureFixture) -> None:
    over, told = Flag(), list[bytes]()
    target = replace(keeper(told), tell=lambda _body, given: f"{given:g} s")
    with server(lambda _request: over.wait(10)) as (silent, _):
        begun = time.monotonic()
        NotifySink([hook(silent, 30), target], State(), hurried=lambda: 0.3)(END)
        took = time.monotonic() - begun
        over.set()
    assert took < 8
    [first, late] = sorted(said.rpartition(": ")[2] for said in warnings(caplog))
    # Of the two deadlines, that of the connection and that of all of them, either may be the first to pass.
    assert (first, late in ("no answer in time, so it may not have arrived", "timed out")) == ("0.3 s", True)


def test_a_target_that_raises_in_its_thread_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_body: bytes, _seconds: float) -> str:
        raise RuntimeError("upside down")

    NotifySink([NotifyTarget("broken", broken, aside=True)], State())(END)
    assert "upside down" in warnings(caplog)[0]


def test_an_address_is_http_and_may_stand_in_a_variable() -> None:
    env = {"CHAT_URL": "https://chat.example.invalid/x"}
    assert [resolve_address(given, env) for given in ("$CHAT_URL", "${CHAT_URL}", " http://h/ ")] == [
        env["CHAT_URL"], env["CHAT_URL"], "http://h/"]  # fmt: skip
    assert [explain_unusable_address(given, env) for given in ("$CHAT_URL", "http://127.0.0.1:80/x")] == ["", ""]
    for given in ("file:///etc/passwd", "ftp://h/x", "data:,x", "//h/x", "http://", "http://[::1", "http://h:x/", "h"):
        assert "has to begin with https://" in explain_unusable_address(given, env), given
    assert explain_unusable_address("$GONE", env) == "the variable $GONE is not set"
    assert (
        shorten_address("https://user:word@chat.example.invalid:8443/secret?x=1") == "https://chat.example.invalid:8443"
    )


def test_a_hook_is_shown_with_its_place_and_where_it_failed_the_last_thing_it_said() -> None:
    done = HookRan("2026-11-20T10:15:00", 1, "before_checks", ".aigon/hooks/before_checks", "ok", 0, 1.23, "fine")
    failed = HookRan(
        "2026-11-20T10:15:00", 1, "before_checks", "hooks.before_checks", "failed", 3, 0.2, "a\nno db", True
    )
    assert (
        describe_event(done, IterationCount()) == "hook before_checks (.aigon/hooks/before_checks) finished after 1.2s"
    )
    said = "hook before_checks (hooks.before_checks) failed after 0.2s and stops the run: no db"
    assert describe_event(failed, IterationCount()) == said
    scene = Scene("title").apply(done, 0.0)
    assert scene.notices == ()
    assert scene.apply(failed, 0.0).notices == (Notice(failed.at, said, "warning"),)
