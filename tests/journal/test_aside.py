"""Observers that nobody waits for see every event, in order, whatever one of them does."""

import threading

import pytest

from aigon.journal.events import Event, Notice
from aigon.journal.sinks import BackgroundObservers


class Seen:
    """Keeps what it is told, once it may; fails at the event that is called so."""

    def __init__(self, failing: str = "", gate: threading.Event | None = None) -> None:
        self.texts: list[str] = []
        self.closed = False
        self._failing, self._gate = failing, gate

    def __call__(self, event: Event) -> None:
        assert self._gate is None or self._gate.wait(10)
        assert isinstance(event, Notice)
        if event.text == self._failing:
            raise ValueError(event.text)
        self.texts.append(event.text)

    def close(self) -> None:
        self.closed = True


def test_nobody_waits_for_them_and_they_see_everything_in_order() -> None:
    gate = threading.Event()
    slow = Seen(gate=gate)
    aside = BackgroundObservers([slow])
    for number in range(20):
        aside(Notice("", str(number)))
    assert slow.texts == []
    gate.set()
    aside.close()
    assert (slow.texts, slow.closed) == ([str(number) for number in range(20)], True)


def test_one_that_fails_is_logged_and_keeps_nothing_from_the_others(caplog: pytest.LogCaptureFixture) -> None:
    failing, other = Seen(failing="b"), Seen()
    aside = BackgroundObservers([failing, other])
    for text in "abc":
        aside(Notice("", text))
    aside.close()
    assert (failing.texts, other.texts) == (["a", "c"], ["a", "b", "c"])
    assert "an observer failed" in caplog.text


class Writer(Seen):
    """Notes how many events it had seen when it was to write."""

    def __init__(self, written: threading.Event) -> None:
        super().__init__()
        self.writes: list[int] = []
        self._written = written

    def settle(self) -> None:
        self.writes.append(len(self.texts))
        self._written.set()


def test_files_are_written_once_for_events_that_follow_one_another(caplog: pytest.LogCaptureFixture) -> None:
    written = threading.Event()
    writer = Writer(written)
    aside = BackgroundObservers([Seen(), writer], pause=0.2, longest=60)
    for number in range(20):
        aside(Notice("", str(number)))
    assert written.wait(30)
    aside.close()
    assert writer.writes == [20] and not caplog.text


def test_files_are_written_in_the_end_although_events_never_pause() -> None:
    written = threading.Event()
    writer = Writer(written)
    aside = BackgroundObservers([writer], pause=60, longest=0.01)
    aside(Notice("", "0"))
    assert written.wait(30)
    aside.close()
    assert writer.writes == [1]
