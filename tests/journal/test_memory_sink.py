"""SCRATCHPAD.md and BUILD_LOG.md in the run folder."""

import time
from collections.abc import Sequence
from pathlib import Path

from aigon.journal.attempts import fold_attempts
from aigon.journal.events import Event
from aigon.journal.memory import render_scratchpad
from aigon.loop.loop import Recorder
from aigon.run.sinks.files import BUILD_LOG, SCRATCHPAD, MemorySink
from tests.journal.tried import run
from tests.views.story import story


def told(folder: Path, events: Sequence[Event], past: Sequence[Event] = ()) -> None:
    sink = MemorySink(folder)
    for event in past:
        sink.remember(event)
    for event in events:
        sink(event)
    sink.close()


def test_both_files_are_there_after_every_look_and_tell_of_the_end(tmp_path: Path) -> None:
    events = story()
    sink = MemorySink(tmp_path)
    seen = []
    for event in events:
        sink(event)
        sink.settle()
        seen.append((tmp_path / SCRATCHPAD).read_text().count("\n## ") if (tmp_path / SCRATCHPAD).exists() else -1)
    assert sorted(set(seen)) == [-1, 0, 1, 2, 3]
    assert (tmp_path / SCRATCHPAD).read_text() == "\n".join(render_scratchpad(fold_attempts(events)))
    log = (tmp_path / BUILD_LOG).read_text()
    assert "Feature `42` (`multiply`), run `r1` at 2026-11-20 10:15:00" in log
    assert "Ended at 2026-11-20 10:18:50 with exit code 0:" in log
    assert sorted(path.name for path in tmp_path.iterdir()) == [BUILD_LOG, SCRATCHPAD]


def test_a_resumed_run_goes_on_with_what_was_known(tmp_path: Path) -> None:
    events = run(4)
    told(tmp_path / "a", events)
    told(tmp_path / "b", events[7:], past=events[:7])
    for name in (SCRATCHPAD, BUILD_LOG):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_an_agents_changes_to_the_views_are_gone_after_the_next_assessment(
    tmp_path: Path,
) -> None:
    folder, precious = tmp_path / "run", tmp_path / "precious"
    folder.mkdir()
    precious.write_text("mine")
    sink = MemorySink(folder)
    for event in run(1):
        sink(event)
    sink.settle()
    (folder / SCRATCHPAD).unlink()
    (folder / SCRATCHPAD).symlink_to(precious)
    (folder / BUILD_LOG).write_text("everything is proven")
    for event in run(2)[4:]:
        sink(event)
    sink.settle()
    assert precious.read_text() == "mine"
    assert "## Iteration 2" in (folder / SCRATCHPAD).read_text() and not (folder / SCRATCHPAD).is_symlink()
    assert "everything is proven" not in (folder / BUILD_LOG).read_text()


def test_a_folder_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    recorder = Recorder((), [MemorySink(blocked / "run")])
    for event in run(2):
        recorder.show(event)
    recorder.close()
    assert blocked.read_text() == ""


def test_the_hundredth_iteration_costs_little_more_than_the_tenth(tmp_path: Path) -> None:
    sink, took = MemorySink(tmp_path), []
    for event in run(110):
        begun = time.process_time()
        sink(event)
        sink.settle()
        took.append(time.process_time() - begun)
    tenth, hundredth = (sorted(took[3 * n + 1 : 3 * n + 31])[-5] for n in (5, 100))
    assert hundredth < 5 * tenth + 0.005, (tenth, hundredth)


def test_what_is_not_written_at_once_is_written_in_the_end(tmp_path: Path) -> None:
    sink = MemorySink(tmp_path)
    for event in run(3):
        sink(event)
    assert not (tmp_path / SCRATCHPAD).exists()
    sink.close()
    assert "## Iteration 3" in (tmp_path / SCRATCHPAD).read_text()
