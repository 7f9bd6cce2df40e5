"""The replay agent, run as a real process."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aigon.agents.adapters import find_adapter
from aigon.model.turns import Agent, ProgramExit
from tests.agents.turns import Place, place, play

replay = find_adapter("replay")


@pytest.fixture
def there(tmp_path: Path) -> Place:
    return place(tmp_path)


def attempt(there: Place, number: int, files: dict[str, str], delete: str = "", says: str = "") -> Path:
    """One recorded attempt in the recording of the checkout."""
    folder = there.checkout / "recording" / str(number)
    for name, text in files.items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "delete").write_text(delete)
    (folder / "says.txt").write_text(says)
    return folder


def recorded(there: Place) -> Agent:
    return Agent(name="replay", adapter="replay", recording=str(there.checkout / "recording"))


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_the_attempts_are_played_in_order_and_then_nothing_is_left(there: Place) -> None:
    attempt(there, 1, {"a.py": "wrong\n", "pkg/b.py": "b\n"}, says="I am done.\n")
    attempt(there, 2, {"a.py": "right\n"}, delete="pkg/b.py\n\nnot-there.txt\n", says="Now really.\n")
    first = play(replay, recorded(there), there.ask(1))
    assert (first.end, first.said, first.exit_code) == ("finished", "I am done.", 0)
    assert tree(there.workspace) == {"a.py": "wrong\n", "pkg/b.py": "b\n"}
    assert play(replay, recorded(there), there.ask(2)).said == "Now really."
    assert tree(there.workspace) == {"a.py": "right\n"}
    last = play(replay, recorded(there), there.ask(3))
    assert (last.end, last.said) == ("finished", "nothing left to replay")
    assert tree(there.workspace) == {"a.py": "right\n"}


def test_a_replay_costs_nothing_and_says_so(there: Place) -> None:
    attempt(there, 1, {"a": ""})
    turn = play(replay, recorded(there), there.ask())
    assert (turn.cost, turn.cost_status) == (0.0, "reported")


def test_bytes_and_the_run_bit_are_kept(there: Place) -> None:
    folder = attempt(there, 1, {"run.sh": ""})
    (folder / "files/run.sh").write_bytes(b"#!/bin/sh\r\n\xff\x00")
    (folder / "files/run.sh").chmod(0o755)
    play(replay, recorded(there), there.ask())
    assert (there.workspace / "run.sh").read_bytes() == b"#!/bin/sh\r\n\xff\x00"
    assert os.access(there.workspace / "run.sh", os.X_OK)


def test_a_folder_can_be_deleted_and_replaced_by_a_file(there: Place) -> None:
    (there.workspace / "thing").mkdir()
    (there.workspace / "thing/old").write_text("x")
    attempt(there, 1, {"thing": "a file\n"}, delete="thing\n")
    assert play(replay, recorded(there), there.ask()).end == "finished"
    assert tree(there.workspace) == {"thing": "a file\n"}


def test_what_an_installer_compiled_in_the_recording_is_not_played(there: Place) -> None:
    attempt(there, 1, {"a.py": "", "__pycache__/a.cpython-311.pyc": "", "p/__pycache__/b.pyc": ""})
    play(replay, recorded(there), there.ask())
    assert tree(there.workspace) == {"a.py": ""}


def test_it_runs_where_aigon_cannot_be_imported(there: Place, tmp_path: Path) -> None:
    attempt(there, 1, {"a": "copied"})
    _, *options, script, recording = replay.build_launch(recorded(there), there.ask()).argv
    alone = shutil.copy(script, tmp_path / "alone.py")
    env = {"AIGON_ITERATION": "1"}
    argv = [sys.executable, "-S", *options, alone, recording]
    done = subprocess.run(argv, cwd=there.workspace, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree(there.workspace) == {"a": "copied"}


def test_a_module_in_the_workspace_does_not_change_what_runs(there: Place) -> None:
    (there.workspace / "shutil.py").write_text("raise SystemExit('taken over')\n")
    attempt(there, 1, {"a": "copied"})
    assert play(replay, recorded(there), there.ask(), {"PYTHONPATH": str(there.workspace)}).end == "finished"


def test_it_reads_nothing_and_a_relative_recording_starts_at_the_checkout(there: Place) -> None:
    attempt(there, 1, {"a": "copied"})
    agent = Agent(name="replay", adapter="replay", recording="recording")
    assert replay.build_launch(agent, there.ask()).stdin == "nothing"
    assert play(replay, agent, there.ask()).end == "finished"
    assert tree(there.workspace) == {"a": "copied"}


def _delete_above(there: Place) -> None:
    attempt(there, 1, {"ok": "x"}, delete="../outside.txt\n")


def _delete_absolute(there: Place) -> None:
    attempt(there, 1, {"ok": "x"}, delete=f"{there.workspace.parent / 'outside.txt'}\n")


def _delete_absolute_inside(there: Place) -> None:
    attempt(there, 1, {"ok": "x"}, delete=f"{there.workspace / 'file'}\n")


def _delete_up_and_back(there: Place) -> None:
    attempt(there, 1, {"ok": "x"}, delete="folder/..\n")


def _delete_everything(there: Place) -> None:
    attempt(there, 1, {"ok": "x"}, delete=".\n")


def _delete_through_a_link(there: Place) -> None:
    (there.workspace / "link").symlink_to(there.workspace.parent)
    attempt(there, 1, {"ok": "x"}, delete="link/outside.txt\n")


def _write_through_a_link(there: Place) -> None:
    (there.workspace / "link").symlink_to(there.workspace.parent)
    attempt(there, 1, {"link/outside.txt": "changed", "ok": "x"})


def _write_over_a_link(there: Place) -> None:
    (there.workspace / "out").symlink_to(there.workspace.parent / "outside.txt")
    attempt(there, 1, {"out": "changed", "ok": "x"})


def _write_over_a_folder(there: Place) -> None:
    (there.workspace / "folder").mkdir()
    attempt(there, 1, {"folder": "changed", "ok": "x"})


def _record_a_link(there: Place) -> None:
    folder = attempt(there, 1, {"ok": "x"})
    (folder / "files/secret").symlink_to(there.workspace.parent / "outside.txt")


@pytest.mark.parametrize(
    "trick",
    [
        _delete_above,
        _delete_absolute,
        _delete_absolute_inside,
        _delete_up_and_back,
        _delete_everything,
        _delete_through_a_link,
        _write_through_a_link,
        _write_over_a_link,
        _write_over_a_folder,
        _record_a_link,
    ],
)
def test_nothing_outside_the_workspace_is_touched_and_nothing_half_done(
    there: Place, trick: Callable[[Place], None]
) -> None:
    outside = there.workspace.parent / "outside.txt"
    outside.write_text("precious")
    trick(there)
    turn = play(replay, recorded(there), there.ask())
    assert (turn.end, turn.exit_code) == ("failed", 1)
    assert "replay:" in turn.detail
    assert outside.read_text() == "precious"
    assert not (there.workspace / "ok").exists()


def test_a_link_that_leads_out_can_be_deleted_itself(there: Place) -> None:
    outside = there.workspace.parent / "outside.txt"
    outside.write_text("precious")
    (there.workspace / "link").symlink_to(outside)
    attempt(there, 1, {"link": "a file now"}, delete="link\n")
    assert play(replay, recorded(there), there.ask()).end == "finished"
    assert outside.read_text() == "precious"
    assert not (there.workspace / "link").is_symlink()


def test_a_recording_without_an_attempt_is_said_before_and_at_the_turn(there: Place) -> None:
    (there.checkout / "recording").mkdir()
    assert "1/files/" in replay.explain_unready(recorded(there), lambda _: None, {})
    turn = play(replay, recorded(there), there.ask())
    assert (turn.end, turn.exit_code) == ("failed", 1)
    assert "no recorded attempt" in turn.detail


def test_it_is_ready_when_there_is_an_attempt(there: Place) -> None:
    attempt(there, 1, {"a": ""})
    assert replay.explain_unready(recorded(there), lambda _: None, {}) == ""
    assert "no recording" in replay.explain_unready(Agent(name="r", adapter="replay"), lambda _: None, {})


def test_a_replay_that_ran_into_its_deadline_is_a_failed_turn(there: Place) -> None:
    turn = replay.read_turn(recorded(there), there.ask(), ProgramExit(-9, timed_out=True))
    assert (turn.end, turn.failed) == ("timed_out", True)
