"""What an open page hears: each fragment that changed, once, from where it left off."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

import jinja2
import pytest

from aigon.files.checksums import format_line
from aigon.files.locks import hold_lock
from aigon.journal.events import Event, IterationStarted, RunFinished
from aigon.journal.replay import decode, dumps
from aigon.process.running import loop_lock
from aigon.ui.server import Pages
from tests.lab import Lab
from tests.ui.desk import Desk, served, take_environment
from tests.views.report.accounts import iterations, started
from tests.views.story import story

Ask = Callable[..., HTTPResponse]


@pytest.fixture
def desk(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Desk:
    take_environment(lab, monkeypatch)
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.commit("spec")
    return Desk(lab)


@contextmanager
def running(desk: Desk, *events: Event) -> Iterator[Callable[..., None]]:
    """A run that goes on, as the locks and its journal say, and a function that adds events to the journal."""
    records = desk.record(events)

    def add(*more: Event) -> None:
        with records.journal.open("ab") as file:
            file.write(b"".join(format_line(dumps(event)) for event in more))

    lock = loop_lock(records.folder.parents[1], "42")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(lock, "the loop"):
        yield add


def read_event(answer: HTTPResponse) -> tuple[int, str]:
    """The next event of a stream: its ID and its data; comments are passed over."""
    ident, data = 0, list[str]()
    while True:
        name, _, value = answer.readline().decode().rstrip("\r\n").partition(": ")
        if name == "id":
            ident = int(value)
        elif name == "data":
            data.append(value)
        elif not name and data:
            return ident, "\n".join(data)


def read_until(answer: HTTPResponse, word: str) -> tuple[int, str]:
    """The first event with this word in it."""
    while True:
        ident, data = read_event(answer)
        if word in data:
            return ident, data


def test_a_page_hears_what_its_journal_gets_and_goes_on_from_the_last_event(desk: Desk) -> None:
    first, *rest = iterations([0, 1])
    with running(desk, started(), first) as add, served(desk.project) as (_, ask):
        stream = ask("/events/feature/42")
        assert stream.getheader("content-type", "").startswith("text/event-stream")
        read_until(stream, 'id="iterations"')
        add(*rest)
        seen, html = read_until(stream, "/feature/42/diff/")
        assert html.startswith("<section") and 'id="iterations"' in html
        add(RunFinished("2026-11-20T11:00:00+00:00", story()[-1].outcome, "met", 0, "", "c" * 40))  # type: ignore[union-attr]
        last, _ = read_until(stream, "Proven")
        again = ask("/events/feature/42", {"last-event-id": str(seen)})
        idents = [read_event(again)[0]]
        while idents[-1] < last:
            idents.append(read_event(again)[0])
        assert idents == sorted(idents) and idents[0] > seen
        whole = [read_event(ask("/events/feature/42", {"last-event-id": word}))[0] for word in ("9" * 19, "x", "-1")]
        assert max(whole) <= seen  # what is no event of this server begins anew


def test_many_who_never_read_hold_up_nobody(desk: Desk) -> None:
    with running(desk, started()) as add, served(desk.project) as (access, ask):
        request = f"GET /events/board HTTP/1.1\r\nHost: 127.0.0.1:{access.port}\r\n"
        request += f"Cookie: {access.cookie}={access.session}\r\n\r\n"
        deaf = [socket.create_connection(("127.0.0.1", access.port)) for _ in range(200)]
        try:
            for each in deaf:
                each.sendall(request.encode())
            stream = ask("/events/feature/42")
            read_until(stream, 'id="iterations"')
            add(*iterations([0, 1]))
            read_until(stream, "/feature/42/diff/")
            assert ask("/").status == 200
        finally:
            for each in deaf:
                each.close()


def test_a_stream_of_nothing_is_refused_and_too_many_wait(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for topic in ("nothing", "board/1", "feature", "feature/42/a/b"):
        assert desk.client.get(f"/events/{topic}").status_code == 404
    monkeypatch.setattr("aigon.ui.feed.WATCHERS", 0)
    assert desk.client.get("/events/board").status_code == 503


def test_a_page_that_nobody_watches_is_forgotten(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Pages(desk.project, desk.access).feed
    for name in ("board", "approvals", "feature/42"):
        assert feed.open(name)
    monkeypatch.setattr("aigon.ui.feed.FORGET", 0.0)
    feed.tick()
    kept: dict[str, Any] = feed._topics
    assert kept == {}


def test_a_journal_that_is_deleted_while_it_is_followed_is_said(desk: Desk) -> None:
    with running(desk, started(), *iterations([0])), served(desk.project) as (_, ask):
        stream = ask("/events/feature/42")
        read_until(stream, 'id="head"')
        folder = next(desk.lab.home.glob("state/repos/*/features/42"))
        (folder / "journal.jsonl").unlink()
        read_until(stream, "journal of this run is gone")


def test_an_idle_run_costs_a_watched_page_no_event_and_no_template(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_work(monkeypatch)
    with running(desk, started(), *iterations([0, 1])) as add:
        feed = Pages(desk.project, desk.access).feed
        for name in ("board", "feature/42"):
            topic = feed.open(name)
            assert topic
            topic.watchers.add(asyncio.Event())
        feed.tick()
        counts.clear()
        for _ in range(20):
            assert not feed.tick()
        assert counts == {}
        add(*iterations([0, 1, 2])[-2:])
        assert feed.tick() and counts["events"] == 2 and counts["templates"]


def test_what_a_turn_used_is_shown_and_is_no_action(desk: Desk) -> None:
    run = started()
    steps = ('"reads", "text": "docs/plan.md"', '"spends", "text": "", "tokens": 3402, "usd": 0.25')
    lines = [f'{{"at": {number}, "kind": {rest}}}\n' for number, rest in enumerate(steps)]
    desk.lab.write(f".aigon/runs/{run.run_id}/001/activity.ndjson", "".join(lines))
    with running(desk, run, *iterations([0]), IterationStarted(run.at, 1, "claude", "", 0, 1, 0)):
        page = desk.get("/feature/42")
        assert "3,402 tokens, $0.25" in page and "docs/plan.md" in page and "spends" not in page


def test_a_page_of_a_thousand_iterations_reads_each_event_once_and_stays_small(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [started(), *iterations([0] * 1001)]
    desk.record(events)
    counts = count_work(monkeypatch)
    page = desk.get("/feature/42")
    assert "/feature/42/diff/1000" in page and len(page) < 600_000
    assert counts["events"] == len(events)
    desk.get("/feature/42")
    assert counts["events"] == len(events)


def count_work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The events that are parsed from now on, and the templates that are rendered."""
    counts: Counter[str] = Counter()

    def count(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **named)

        return counted

    monkeypatch.setattr("aigon.journal.replay.decode", count("events", decode))
    monkeypatch.setattr(jinja2.Template, "render", count("templates", jinja2.Template.render))
    return counts
