"""Events on their way: records may stop the run, observers may not."""

import json
import logging
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit, environment
from aigon.journal.events import Event, MoneySpent, Notice, RunFinished
from aigon.journal.replay import read_events
from aigon.journal.sinks import JournalSink
from aigon.journal.state import State
from aigon.loop.loop import Recorder, drive_loop
from aigon.model.outcomes import Met, Outcome, Refused

FIRST = MoneySpent("", 0, "judge", 0.25, "reported")
SECOND = Notice("", "a word")
LAST = RunFinished("", Met(), "met", 0, "", "")


def story(*told: Event, error: Exception | None = None) -> Generator[Event, State, Outcome]:
    """A loop that tells these events; then it fails with `error`, or is over."""
    for event in told:
        state = yield event
        assert state.spend.usd == 0.25, "what comes back is the state after the event"
    if error:
        raise error
    return Met()


@dataclass
class Record:
    """A record in memory, on a disk that is full from the event numbered `full` on."""

    full: int = 99
    seen: list[Event] = field(default_factory=list)
    closed: bool = False

    def __call__(self, event: Event, _state: State) -> None:
        if len(self.seen) >= self.full:
            raise OSError(28, "No space left on device", "the record")
        self.seen.append(event)

    def close(self) -> None:
        self.closed = True


@dataclass
class Watcher:
    """Somebody who watches, and fails every time if `clumsy`."""

    clumsy: bool = False
    seen: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.seen.append(event)
        if self.clumsy:
            raise RuntimeError("the terminal is upside down")

    def close(self) -> None:
        self(SECOND)


def test_every_event_is_recorded_then_shown_in_order() -> None:
    record, watcher = Record(), Watcher()
    ended = drive_loop(story(FIRST, SECOND, LAST), State(), Recorder([record], [watcher]))
    assert ended == LAST
    assert record.seen == watcher.seen == [FIRST, SECOND, LAST]


def test_an_observer_that_raises_stops_neither_the_run_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    record, clumsy, watcher = Record(), Watcher(clumsy=True), Watcher()
    recorder = Recorder([record], [clumsy, watcher])
    with caplog.at_level(logging.ERROR):
        assert drive_loop(story(FIRST, LAST), State(), recorder) == LAST
        recorder.close()
    assert record.seen == [FIRST, LAST]
    assert watcher.seen == [FIRST, LAST, SECOND], "the last one is its end"
    assert record.closed
    assert "the terminal is upside down" in caplog.text


def test_a_record_that_cannot_be_written_ends_the_run_before_anything_else_happens() -> None:
    watcher = Watcher()
    with pytest.raises(AigonError) as caught:
        drive_loop(story(FIRST, SECOND, LAST), State(), Recorder([Record(full=1)], [watcher]))
    assert caught.value.code is Exit.ENVIRONMENT
    assert caught.value.what.startswith("The record of the run cannot be written: no space is left on /")
    assert (caught.value.where, "--resume" in caught.value.hint) == ("the record", True)
    first, end = watcher.seen
    assert first == FIRST, "the second is not shown: it was not recorded"
    assert isinstance(end, RunFinished)
    assert (end.status, end.exit_code) == ("refused", 7)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (environment("The branch moved"), "The branch moved"),
        (OSError(28, "No space left on device", "prompt.md"), "The run cannot go on: no space is left on /"),
    ],
)
def test_a_run_that_cannot_go_on_says_so_in_its_record(tmp_path: Path, error: Exception, what: str) -> None:
    path = tmp_path / "journal.jsonl"
    recorder = Recorder([JournalSink(path)], [])
    with pytest.raises(AigonError) as caught:
        drive_loop(story(FIRST, error=error), State(), recorder)
    recorder.close()
    assert caught.value.what.startswith(what) and caught.value.code is Exit.ENVIRONMENT
    *_, end = read_events(path)
    assert isinstance(end, RunFinished)
    assert isinstance(end.outcome, Refused)
    assert (end.exit_code, what in end.summary) == (7, True)


def test_an_error_of_aigons_own_is_not_dressed_up() -> None:
    with pytest.raises(ZeroDivisionError):
        drive_loop(story(FIRST, error=ZeroDivisionError()), State(), Recorder([], []))


def test_several_events_are_delivered_in_order_and_give_the_last_state(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    recorder = Recorder([JournalSink(path)], [])
    assert recorder.deliver_all([FIRST, FIRST, SECOND], State()).spend.usd == 0.5
    recorder.close()
    kinds = [json.loads(line.partition(" ")[2])["event"] for line in path.read_text().splitlines()]
    assert kinds == ["spent", "spent", "notice"]


def test_nobody_is_told_a_secret_and_the_state_does_not_know_it_either() -> None:
    record, watcher = Record(), Watcher()
    recorder = Recorder([record], [watcher], lambda text: text.replace(b"hunter2", b"[redacted]"))
    end = RunFinished("", Refused("it is hunter2"), "refused", 7, "said hunter2", "")
    state = recorder.deliver_all([Notice("", "the word is hunter2"), end], State())
    assert record.seen == watcher.seen
    assert "hunter2" not in repr((record.seen, state)) and repr(record.seen).count("[redacted]") == 3
