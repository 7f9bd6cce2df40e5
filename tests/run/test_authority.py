"""Who descends from a loop, by aigon's notes and the processes that there are."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.files.locks import hold_lock, read_start
from aigon.process.orphans import SUBREAPER, adopt_orphans
from aigon.process.running import StartedProcess, keep_note, loop_lock, write_note
from tests.lab import scrubbed

ASK = "from aigon.run.invocations import find_run_above; print(find_run_above(), flush=True)"
DETACHED = f"""
import os, sys, time
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    while os.getppid() in (1, os.getsid(0)):
        time.sleep(0.01)
    {ASK}
    os._exit(0)
os.wait()
"""


def asked(home: Path, code: str = ASK, before: Sequence[str] = (), **env: str) -> str:
    """What a process of its own with an environment of its own is told."""
    command = [*before, sys.executable, "-c", code]
    return subprocess.run(command, env=scrubbed(home, **env), capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_is_above_where_no_loop_runs(tmp_path: Path) -> None:
    assert asked(tmp_path) == ""
    records = tmp_path / "state" / "repos" / "some"
    records.mkdir(parents=True)
    with keep_note(records, "inv", "run", "42", "") as note:
        assert note.about and note.path
        other = replace(note.about, loop=StartedProcess(os.getpid(), "1"))
        write_note(note.path, other)
        assert asked(tmp_path) == "", "a process of the same number is another one"
        write_note(note.path, replace(note.about, host="elsewhere"))
        assert asked(tmp_path) == "", "what runs elsewhere has other numbers"


def test_a_loop_above_is_known_by_its_note_and_not_by_its_words(tmp_path: Path) -> None:
    records = tmp_path / "state" / "repos" / "some"
    records.mkdir(parents=True)
    with keep_note(records, "inv", "run", "42", ""):
        assert asked(tmp_path).startswith("the loop on feature 42")
        assert asked(tmp_path, before=("setsid", "-w")).startswith("the loop on feature 42")
    assert asked(tmp_path) == ""


@pytest.mark.skipif(not SUBREAPER, reason="this system gives orphans to init alone")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not show which files are open")
def test_a_loop_whose_notes_and_locks_were_deleted_is_known_by_the_lock_it_holds(tmp_path: Path) -> None:
    records = tmp_path / "state" / "repos" / "some"
    (records / "locks").mkdir(parents=True)
    with hold_lock(loop_lock(records, "42"), "Feature 42"):
        shutil.rmtree(tmp_path / "state")
        assert asked(tmp_path).endswith("holds the lock of a loop")
    assert asked(tmp_path) == ""


def test_an_orphan_is_still_below_the_loop_that_adopted_it(tmp_path: Path) -> None:
    records = tmp_path / "state" / "repos" / "some"
    records.mkdir(parents=True)
    adopt_orphans()
    try:
        with keep_note(records, "inv", "run", "42", ""):
            assert asked(tmp_path, DETACHED).startswith("the loop on feature 42")
    finally:
        adopt_orphans(adopt=False)


def test_a_session_of_a_loop_is_known_after_its_leader_and_the_loop_are_gone(tmp_path: Path) -> None:
    records = tmp_path / "state" / "repos" / "some"
    records.mkdir(parents=True)
    with keep_note(records, "inv", "run", "42", "") as note:
        assert note.about and note.path
        told = tmp_path / "told"
        leader = subprocess.Popen(
            ["sh", "-c", f"(read go; {sys.executable} -c '{ASK}' > {told}) & exit"],
            stdin=subprocess.PIPE, env=scrubbed(tmp_path), start_new_session=True,
        )  # fmt: skip
        started = StartedProcess(leader.pid, read_start(leader.pid) or "1")
        gone = StartedProcess(2**30, "1")
        write_note(note.path, replace(note.about, loop=gone, sessions=(started,)))
        leader.communicate(b"go\n")
        while not (told.exists() and told.read_text()):
            time.sleep(0.01)
    assert told.read_text().startswith("the loop on feature 42 started this session")


@pytest.mark.parametrize("name", ["AIGON_RUN", "AIGON_INVOCATION"])
def test_a_mark_in_the_environment_of_an_ancestor_counts(tmp_path: Path, name: str) -> None:
    assert asked(tmp_path, **{name: "x"}) == f"{name} is set"
    unmarked = ("sh", "-c", f'env -u {name} "$@"; true', "sh")
    assert asked(tmp_path, before=unmarked, **{name: "x"}).endswith(f"which started this one, has {name}")
