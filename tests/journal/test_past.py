"""What a resume knows of a run: everything that the journal says."""

import json
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.files.checksums import format_line
from aigon.journal.events import Event, IterationFinished
from aigon.journal.records import Records
from aigon.journal.replay import dumps
from aigon.journal.state import replay
from aigon.journal.state_file import LISTED, EncodedIterations, StateFileSink
from aigon.run.sinks.files import MemorySink
from tests.journal.tried import run
from tests.views.story import story


def records(folder: Path, events: list[Event]) -> Records:
    (folder / "journal.jsonl").write_bytes(b"".join(format_line(dumps(event)) for event in events))
    return Records(folder)


def test_the_memory_continues_from_the_state_of_before(tmp_path: Path) -> None:
    events = records(tmp_path, story()).events()
    state = replay(events)
    fresh = MemorySink(tmp_path)
    for event in events:
        fresh.remember(event)
    assert MemorySink(tmp_path, state.tried, state.started).render(None) == fresh.render(None)


def test_the_state_file_lists_the_newest_iterations_and_counts_the_others(tmp_path: Path) -> None:
    events = [story()[0], *run(LISTED + 29)]
    document = json.loads(StateFileSink(tmp_path / "a.json", events).render(events[-1], replay(events)))
    assert [each["number"] for each in document["iterations"]] == [*range(30, LISTED + 30)]
    assert document["iterations_left_out"] == 30


def test_what_cannot_stand_in_a_journal_is_refused_where_it_comes(tmp_path: Path) -> None:
    told = records(tmp_path, [*story(), story()[0]])
    with pytest.raises(AigonError, match=f"damaged.*jsonl:{len(story()) + 1}") as refused:
        told.events()
    assert refused.value.code == 7


def test_an_iteration_that_is_assessed_again_keeps_what_is_known_of_its_turn() -> None:
    """A run that went back to it, and was resumed, may commit what a person proved meanwhile."""
    events = run(4)
    (second,) = [each for each in events if isinstance(each, IterationFinished) and each.number == 2]
    iterations = EncodedIterations()
    for event in events:
        iterations.take(event)
    before = dict(iterations.texts)
    iterations.take(second)
    assert iterations.texts == before and b'"agent": "claude"' in before[2]
