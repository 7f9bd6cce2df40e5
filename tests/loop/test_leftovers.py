"""A loop that was killed together with its guardian: the next command finds what it left, says so, and ends it."""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.files.locks import identify_machine, read_start
from aigon.process import running
from aigon.process.running import StartedProcess
from aigon.run.invocations import end_processes, list_left_processes, remove_stale_notes
from tests.lab import DONE_WHEN, Lab, alive, finish, until
from tests.loop.processes import LOOP, RESUME, begun, left_behind

IN_PLACE = True
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes by /proc")

HIDDEN = """
    [ -e "$HOME/begun" ] && { touch done.txt; exit; }
    echo $AIGON_INVOCATION > "$HOME/invocation"
    (env -u AIGON_RUN -u AIGON_INVOCATION setsid sleep 300 &)
    env -i sleep 300 &
    setsid sleep 300 &
    touch "$HOME/begun"
    exec env -i sleep 300
"""
"""One of these has nothing that names it and no parent left: nobody could say whose that is. The three others have the
session, the mark or the parent."""


def home_of(lab: Lab) -> Path:
    """aigon's folder for the lab's repository."""
    (home,) = (lab.home / "state" / "repos").iterdir()
    return home


def kill_both(lab: Lab, process: "subprocess.Popen[str]") -> None:
    """SIGKILL to the guardian, then to the loop."""
    invocation = (lab.home / "invocation").read_text().strip()
    for pid in alive(invocation):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(invocation))
    process.kill()
    finish(process)


@pytest.fixture
def killed(lab: Lab) -> Iterator[Lab]:
    """A lab in which a loop and its guardian were killed while the agent worked."""
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(HIDDEN)
    process = lab.start(*LOOP)
    begun(lab, process)
    until(lambda: list_left_processes(home_of(lab)) == () and len(_napping(lab)) == 4)
    kill_both(lab, process)
    yield lab
    for pid in _napping(lab):
        os.kill(pid, signal.SIGKILL)


def _napping(lab: Lab) -> list[int]:
    """The processes that the agent left, known by where they work: that cannot be scrubbed."""
    return [pid for pid in alive("sleep 300") if _folder(pid) == str(lab.root)]


def _folder(pid: int) -> str:
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/cwd").readlink())
    return ""


@pytest.mark.slow
def test_the_next_commands_say_what_is_left_and_how_it_is_ended(killed: Lab) -> None:
    for command in (("feature-status", "--json"), ("board",), ("worktrees", "--json"), ("doctor", "--json")):
        ran = killed.aigon(*command)
        assert ran.code == 0 or command[0] == "doctor", ran.err
        assert "an aigon that was killed left 3 processes that are still running" in ran.err
        assert "sleep 300 (feature 42, since " in ran.err and "aigon doctor --repair" in ran.err
        assert "killed left" not in ran.out
    found = list_left_processes(home_of(killed))
    assert {f"pid {one.pid}:" in ran.err for one in found} == {True}
    assert len(_napping(killed)) == 4, "nobody was asked"
    below = killed.aigon("feature-status", env={"AIGON_RUN": "some-run"})
    assert below.err == "", "below a loop it is that loop's business"
    assert end_processes(found) == 3
    assert list_left_processes(home_of(killed)) == () and running.list_notes(home_of(killed)) == []
    assert len(_napping(killed)) == 1, "what nothing proves to be ours is not touched"
    assert killed.aigon("feature-status").err == ""


def test_a_resume_ends_what_was_left_of_its_feature_and_says_so(killed: Lab) -> None:
    ran = killed.aigon(*RESUME)
    assert ran.code == 0, ran.out + ran.err
    assert "had left 3 processes running; they are ended" in ran.err
    assert "doctor --repair" not in ran.err
    assert len(_napping(killed)) == 1
    assert running.list_notes(home_of(killed)) == []
    killed.sound()


@pytest.mark.slow
def test_on_a_terminal_a_person_is_asked(killed: Lab) -> None:
    assert "End them? [y/N]" in answered(killed, b"n\n", "feature-status")
    assert len(_napping(killed)) == 4
    assert "ended 3 of them" in answered(killed, b"y\n", "feature-status")
    assert len(_napping(killed)) == 1


def answered(lab: Lab, reply: bytes, *arguments: str) -> str:
    """What a command says on a terminal on which its question is answered so."""
    pid, ours = pty.fork()
    if pid == 0:
        os.chdir(lab.root)
        os.execve(sys.executable, lab.command(*arguments), {**lab.env, "TERM": "dumb", "COLUMNS": "200"})
    said, told, limit = b"", False, time.monotonic() + 30
    while time.monotonic() < limit:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                said += os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
        if b"[y/N]" in said and not told:
            told = bool(os.write(ours, reply))
    os.waitpid(pid, 0)
    os.close(ours)
    return said.decode()


def test_a_run_that_ends_leaves_no_note_and_one_that_goes_on_is_let_alone(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent('touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.02; done; touch done.txt')
    process = lab.start(*LOOP)
    begun(lab, process)
    (note,) = running.list_notes(home_of(lab))
    document = json.loads(note.read_text())
    assert (document["feature"], document["loop"]["pid"]) == ("42", process.pid)
    assert len(document["sessions"]) == 1
    assert lab.aigon("feature-status").err == ""
    (lab.home / "go").touch()
    assert finish(process).code == 0
    assert running.list_notes(home_of(lab)) == []
    assert left_behind(lab) == []


@contextmanager
def bystander() -> Iterator[int]:
    """A process of somebody else."""
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def note_of(folder: Path, *sessions: StartedProcess, **other: str) -> Path:
    """The note of an aigon that is gone."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    about = running.Invocation(
        "inv",
        "run-1",
        "42",
        "",
        socket.gethostname(),
        identify_machine(),
        StartedProcess(dead.pid, "1"),
        "then",
        sessions,
    )
    running.write_note(folder / "running" / "inv.json", replace(about, **other))
    return folder / "running" / "inv.json"


def test_a_number_that_was_given_out_anew_is_nobody_of_ours(tmp_path: Path) -> None:
    with bystander() as pid:
        note = note_of(tmp_path, StartedProcess(pid, str(int(read_start(pid)) - 1)))
        assert list_left_processes(tmp_path) == ()
        assert end_processes(list_left_processes(tmp_path)) == 0
        remove_stale_notes(tmp_path)
        assert not note.exists(), "nothing is left of it"
        assert read_start(pid)


def test_a_loop_whose_number_was_given_out_anew_is_gone_all_the_same(tmp_path: Path) -> None:
    with bystander() as pid:
        note_of(tmp_path, StartedProcess(pid, read_start(pid)), loop=StartedProcess(os.getpid(), "1"))  # type: ignore[arg-type]
        assert [one.pid for one in list_left_processes(tmp_path)] == [pid]
        me = StartedProcess(os.getpid(), read_start(os.getpid()))
        note_of(tmp_path, StartedProcess(pid, read_start(pid)), loop=me)  # type: ignore[arg-type]
        assert list_left_processes(tmp_path) == ()


def test_of_another_machine_nothing_is_known_and_nothing_done(tmp_path: Path) -> None:
    with bystander() as pid:
        for other in ({"host": "elsewhere"}, {"machine": f"{identify_machine()}-container"}):
            note = note_of(tmp_path, StartedProcess(pid, read_start(pid)), **other)
            assert list_left_processes(tmp_path) == ()
            remove_stale_notes(tmp_path)
            assert note.exists()
        note = note_of(tmp_path, StartedProcess(pid, read_start(pid)), machine="an-earlier-boot/x")
        assert list_left_processes(tmp_path) == ()
        remove_stale_notes(tmp_path)
        assert not note.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 2}', '{"schema_version": 1, "loop": 7}', "\xff"])
def test_a_note_that_is_not_whole_or_of_another_version_is_left_alone(tmp_path: Path, text: str) -> None:
    note = tmp_path / "running" / "x.json"
    note.parent.mkdir()
    note.write_bytes(text.encode("latin-1"))
    assert list_left_processes(tmp_path) == ()
    remove_stale_notes(tmp_path)
    assert note.exists()


def test_one_that_ignores_the_polite_signal_is_killed_with_its_children(tmp_path: Path) -> None:
    script = 'trap "" TERM; sleep 300 & echo $! > child; while :; do wait; done'
    with subprocess.Popen(["bash", "-c", script], cwd=tmp_path, start_new_session=True) as process:
        until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        note_of(tmp_path, StartedProcess(process.pid, read_start(process.pid)))
        found = list_left_processes(tmp_path)
        assert [one.pid for one in found] == sorted([process.pid, int((tmp_path / "child").read_text())])
        assert end_processes(found) == 2
        assert process.wait(5) == -signal.SIGKILL


def test_a_note_stays_while_something_of_it_could_not_be_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aigon.process.orphans.ENDING_STEPS", ((signal.SIGTERM, 0.01),))
    monkeypatch.setattr("aigon.process.orphans._signal_each", lambda _whom, _number: None)  # as of somebody else
    with bystander() as pid:
        note = note_of(tmp_path, StartedProcess(pid, read_start(pid)))
        assert end_processes(list_left_processes(tmp_path)) == 0
        assert note.exists() and [one.pid for one in list_left_processes(tmp_path)] == [pid]
