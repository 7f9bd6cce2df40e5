"""Following a run by its journal, while it is written and afterwards."""

from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.files.checksums import format_line
from aigon.journal.events import Event, Notice
from aigon.journal.replay import dumps, read_events, tail_events


def line(text: str) -> bytes:
    return format_line(dumps(Notice("2026-11-20T10:00:00", text)))


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def follow(path: Path, *steps: object) -> list[Event]:
    """The events of a run that lives for as long as there are steps; each of them is done between two readings."""
    remaining, events = list(steps), list[Event]()
    for event in tail_events(path, lambda: bool(remaining)):
        if event:
            events.append(event)
        else:
            step = remaining.pop(0)
            assert callable(step)
            step()
    return events


def test_a_finished_run_is_followed_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("one") + line("two"))
    assert follow(path) == read_events(path) and len(read_events(path)) == 2


def test_events_come_as_they_are_written_and_each_once(tmp_path: Path) -> None:
    path, whole = tmp_path / "journal.jsonl", line("two")

    def append(data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    steps = (lambda: append(line("one")), lambda: append(whole[:9]), lambda: append(whole[9:] + line("three")))
    assert texts(follow(path, *steps)) == ["one", "two", "three"], "there is no journal yet, then half a line"


def test_follow_survives_a_journal_replaced_by_its_own_copy(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("one"))

    def replace() -> None:
        copy = tmp_path / "copy"
        copy.write_bytes(path.read_bytes() + line("two"))
        copy.replace(path)

    assert texts(follow(path, replace)) == ["one", "two"]


def test_follow_ends_if_the_journal_is_deleted_or_a_new_run_has_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("one"))
    assert texts(follow(path, path.unlink, lambda: None)) == ["one"]
    path.write_bytes(line("one"))
    assert texts(follow(path, lambda: path.write_bytes(line("other") + line("later")), lambda: None)) == ["one"]


def test_follow_names_the_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("one") + line("two").replace(b"two", b"owt"))
    with pytest.raises(AigonError) as caught:
        follow(path)
    assert caught.value.where == f"{path}:2"
