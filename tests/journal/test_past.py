"""What a resume knows of a long run: everything that the journal says, at the price of what it comes to."""

import json
import tracemalloc
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.files.checksums import format_line
from aigon.journal.events import Event, IterationFinished, Notice, TurnEnded
from aigon.journal.records import Records
from aigon.journal.replay import dumps
from aigon.journal.state import replay
from aigon.journal.state_file import LISTED, StateFileSink
from aigon.journal.steps import StepSink
from aigon.run.sinks import replay_past
from aigon.run.sinks.files import MemorySink
from tests.journal.tried import run
from tests.views.story import story


def records(folder: Path, events: list[Event]) -> Records:
    (folder / "journal.jsonl").write_bytes(b"".join(format_line(dumps(event)) for event in events))
    return Records(folder)


def test_one_reading_tells_what_the_state_and_every_sink_need(tmp_path: Path) -> None:
    events = story()
    past = replay_past(records(tmp_path, events).each())
    assert past.state == replay(events)
    known = StateFileSink(tmp_path / "a.json", past.iterations).render(events[-1], past.state)
    assert known == StateFileSink.after(tmp_path / "a.json", events).render(events[-1], past.state)
    fresh = MemorySink(tmp_path)
    for event in events:
        fresh.remember(event)
    memory = MemorySink(tmp_path, past.state.tried, past.state.started)
    assert memory.render(None) == fresh.render(None)
    last = [event.turn.number for event in events if isinstance(event, TurnEnded)][-1]
    assert {f"step_{last:02d}.md"} == {name for name, _ in StepSink(tmp_path).render(past.turns.last)}


def test_the_state_file_lists_the_newest_iterations_and_counts_the_others(tmp_path: Path) -> None:
    events = [story()[0], *run(LISTED + 29)]
    document = json.loads(StateFileSink.after(tmp_path / "a.json", events).render(events[-1], replay(events)))
    assert [each["number"] for each in document["iterations"]] == [*range(30, LISTED + 30)]
    assert document["iterations_left_out"] == 30


def test_a_long_journal_is_read_line_by_line(tmp_path: Path) -> None:
    """Read at once, it took six times its size."""
    told = records(tmp_path, [story()[0], *(Notice("t", f"{number} " + "x" * 2000) for number in range(2000))])
    for _ in told.each():  # pydantic is imported, and has its schema
        break
    tracemalloc.start()
    try:
        replay_past(told.each())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < told.journal.stat().st_size / 4


def test_what_cannot_stand_in_a_journal_is_refused_where_it_comes(tmp_path: Path) -> None:
    told = records(tmp_path, [*story(), story()[0]])
    with pytest.raises(AigonError, match=f"damaged.*jsonl:{len(story()) + 1}") as refused:
        replay_past(told.each())
    assert refused.value.code == 7


def test_an_iteration_that_is_assessed_again_keeps_what_is_known_of_its_turn() -> None:
    """A run that went back to it, and was resumed, may commit what a person proved meanwhile."""
    events = run(4)
    (second,) = [each for each in events if isinstance(each, IterationFinished) and each.number == 2]
    past = replay_past(events)
    before = dict(past.iterations.texts)
    past.iterations.take(second)
    assert past.iterations.texts == before and b'"agent": "claude"' in before[2]
