"""Events for programs, through real streams and pipes."""

import io
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given

from aigon.errors import Exit
from aigon.journal.events import Event, Notice, RunFinished
from aigon.journal.replay import decode
from aigon.journal.sinks import NdjsonSink
from aigon.model.outcomes import Stopped
from tests.journal.test_codec import EVENTS
from tests.views.story import story
from tests.views.terminal import ROOT

PLAYS = (
    "import sys; from aigon.{module} import {sink}; from tests.views.story import story\n"
    "sink = {sink}(sys.stdout)\n"
    "for event in story(): sink(event)\n"
    "sink.close()"
)


def written(*events: Event) -> list[str]:
    stream = io.StringIO()
    sink = NdjsonSink(stream)
    for event in events:
        sink(event)
    sink.close()
    return stream.getvalue().splitlines()


def exit_without_a_reader(program: str) -> tuple[int, bytes]:
    """Run `program` with its standard output going into a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    os.close(write)
    return done.returncode, done.stderr


def test_every_event_is_a_line_with_the_version_of_the_schema() -> None:
    lines = [json.loads(line) for line in written(*story())]
    assert [line["event"] for line in lines] == [event.event for event in story()]
    assert {line["schema_version"] for line in lines} == {1}


@given(EVENTS)
def test_whatever_an_event_holds_it_is_one_line_of_json(event: Event) -> None:
    (line,) = written(event)
    document = json.loads(line)
    assert document.pop("schema_version") == 1
    if not isinstance(event, RunFinished):
        assert decode(document) == event


def test_the_last_line_says_the_outcome_and_the_exit_code_at_top_level() -> None:
    stopped = Stopped("repeatedError", "the same error 3 times", Exit.STOPPED)
    end = RunFinished("now", stopped, "stopped", 3, "Stopped", "1a2b3c4")
    *_, last = written(*story()[:-1], end, Notice("now", "too late"))
    assert json.loads(last) == {
        "schema_version": 1,
        "event": "run_finished",
        "at": "now",
        "outcome": "stopped",
        "outcome_detail": {"guard": "repeatedError", "reason": "the same error 3 times", "code": 3},
        "status": "stopped",
        "success": False,
        "exit_code": 3,
        "summary": "Stopped",
        "commit": "1a2b3c4",
        "iterations": 0,
        "remaining_issues": [],
    }


def test_a_reader_has_each_line_before_the_next_event() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "w", encoding="utf-8") as stream:
        sink = NdjsonSink(stream)
        for event in story()[:5]:
            sink(event)
            assert json.loads(os.read(reader.fileno(), 65536))["event"] == event.event


def test_a_closed_sink_writes_nothing_and_leaves_the_stream_open() -> None:
    stream = io.StringIO()
    sink = NdjsonSink(stream)
    sink.close()
    sink(Notice("now", "hello"))
    assert stream.getvalue() == "" and not stream.closed


@pytest.mark.parametrize(("module", "sink"), [("journal.sinks", "NdjsonSink"), ("views.terminal.lines", "LineSink")])
def test_a_reader_that_went_away_is_no_error(module: str, sink: str) -> None:
    assert exit_without_a_reader(PLAYS.format(module=module, sink=sink)) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a device that is always full")  # noqa: PTH110
def test_a_full_disk_is_an_error_for_the_caller() -> None:
    stream = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115, PTH123
    with pytest.raises(OSError, match="No space left"):
        NdjsonSink(stream)(Notice("now", "hello"))
    with pytest.raises(OSError, match="No space left"):
        stream.close()
