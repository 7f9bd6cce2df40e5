"""Ctrl+C, signals and stop files, in every phase: aigon as a real process, agents that do not want to end."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.lab import DONE_WHEN, Lab, finish, interrupt
from tests.loop.processes import LOOP, RESUME, begun, go, left_behind, parked, turns

IN_PLACE = True
STUBBORN = """
    trap '' INT TERM HUP
    setsid bash -c 'trap "" INT TERM HUP; echo $$ > "$HOME/daemon"; while :; do sleep 60; done' &
    echo half > half.txt
    echo turn >> "$HOME/turns"
    until [ -s "$HOME/daemon" ]; do sleep 0.02; done
    touch "$HOME/begun"
    until [ -e "$HOME/go" ]; do sleep 0.05; done
    touch done.txt
"""
"""Ignores every signal, leaves a daemon in a session of its own, works on until it is told `go`."""


def ask_to_stop(lab: Lab, process: "subprocess.Popen[str]", how: str) -> None:
    """Ask for the end at once in one of the five ways."""
    if how == "two SIGINTs":
        interrupt(process)
        time.sleep(0.1)
        interrupt(process)
    elif how.startswith("SIG"):
        interrupt(process, signal.Signals[how])
    elif how == "aigon stop":
        asked = lab.aigon("stop", "42", "--now", "--json")
        assert [one["pid"] for one in asked.json["asked"]] == [process.pid], asked.err
    else:
        lab.path(how).touch()


WAYS = [
    ("two SIGINTs", 130, "interrupted"),
    ("aigon stop", 130, "interrupted"),
    pytest.param("SIGTERM", 143, "interrupted", marks=pytest.mark.slow),
    pytest.param("SIGHUP", 143, "interrupted", marks=pytest.mark.slow),
    (".aigon/STOP", 3, "stopped"),
    pytest.param("EMERGENCY_STOP_RALPH", 3, "stopped", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("how", ["SIGINT", "aigon stop"])
def test_after_the_first_ctrl_c_the_iteration_is_finished_and_committed(lab: Lab, how: str) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent(STUBBORN)
    process = lab.start(*LOOP)
    begun(lab, process)
    if how == "SIGINT":
        interrupt(process)
    else:
        for _ in range(2):  # the second time it is still a polite request
            asked = lab.aigon("stop", "42")
            assert asked.out.startswith("Asked feature 42 to finish the iteration and stop\n"), asked.err
    go(lab)
    ran = finish(process)
    assert ran.code == 130, ran.out + ran.err
    assert "aigon feature-implement 42 --resume" in ran.err
    assert "iteration 1" in lab.subjects()[-1]
    assert lab.git("show", "--stat", "--format=", "HEAD").count("done.txt") == 1
    assert lab.state()["status"] == "interrupted"
    assert parked(lab) == []
    assert left_behind(lab) == []
    lab.sound(agrees=True)


def test_stop_says_if_no_loop_runs(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    assert lab.aigon(*LOOP).code == 0
    idle = lab.aigon("stop", "42")
    assert (idle.code, "No loop runs on feature 42" in idle.err) == (7, True)
    assert "no feature '43'" in lab.aigon("stop", "43").err
    inside = lab.aigon("stop", "42", env={"AIGON_RUN": "20261120-101523-abcdef"})
    assert (inside.code, "inside a run" in inside.err) == (4, True)


def test_after_the_first_ctrl_c_what_turns_out_proven_is_a_success(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(STUBBORN)
    process = lab.start(*LOOP)
    begun(lab, process)
    interrupt(process)
    go(lab)
    ran = finish(process)
    assert ran.code == 0, ran.out + ran.err
    assert (lab.state()["status"], lab.boxes()) == ("met", "x")
    lab.sound(agrees=True)


@pytest.mark.parametrize(("how", "code", "status"), WAYS)
def test_a_stop_at_once_ends_the_turn_parks_it_and_leaves_the_files(lab: Lab, how: str, code: int, status: str) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(STUBBORN)
    process = lab.start(*LOOP, "--max-iterations", "1")
    begun(lab, process)
    asked = time.monotonic()
    ask_to_stop(lab, process, how)
    ran = finish(process)
    assert time.monotonic() - asked < 10
    assert ran.code == code, ran.out + ran.err
    assert left_behind(lab) == []
    state = lab.state()
    assert (state["status"], state["iteration"], state["exit_code"]) == (status, 0, code)
    assert lab.read("half.txt") == "half\n"
    (ref,) = parked(lab)
    assert lab.git("show", f"{ref}:half.txt") == "half"
    lab.path(how).unlink(missing_ok=True)
    go(lab)
    again = lab.aigon(*RESUME, "--max-iterations", "1")
    assert again.code == 0, again.out + again.err
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1]
    assert turns(lab) == 2
    lab.sound(agrees=True)


SLOW_CHECK = """
    test -e done.txt || exit 1
    trap '' INT TERM
    touch "$HOME/checking"
    setsid bash -c 'trap "" INT TERM; while :; do sleep 60; done' &
    until [ -e "$HOME/go" ]; do sleep 0.05; done
    echo looked > from-the-check.txt
"""
"""Red on the base; on finished work it hangs until it is told `go`, with a daemon beside it."""


@pytest.mark.parametrize(("how", "code", "status"), [WAYS[0], WAYS[3]])
def test_a_stop_at_once_during_a_check_leaves_the_turn_to_be_judged_by_the_resume(
    lab: Lab, how: str, code: int, status: str
) -> None:
    lab.write("slow.sh", textwrap.dedent(SLOW_CHECK))
    lab.commit("a check")
    lab.spec("it is done <!-- verify: bash slow.sh -->")
    lab.agent('echo turn >> "$HOME/turns"; echo work > done.txt')
    lab.config(proof={"home": "real"})
    process = lab.start(*LOOP)
    begun(lab, process, "checking")
    asked = time.monotonic()
    ask_to_stop(lab, process, how)
    ran = finish(process)
    assert time.monotonic() - asked < 10
    assert ran.code == code, ran.out + ran.err
    assert left_behind(lab) == []
    assert (lab.state()["status"], lab.boxes()) == (status, " ")
    (ref,) = parked(lab)
    assert lab.git("show", f"{ref}:done.txt") == lab.read("done.txt").strip() == "work"
    lab.path(how).unlink(missing_ok=True)
    go(lab)
    again = lab.aigon(*RESUME)
    assert again.code == 0, again.out + again.err
    assert turns(lab) == 1
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1]
    assert lab.state()["iterations"][1]["agent"] == "mine"
    assert left_behind(lab) == []
    lab.path("from-the-check.txt").unlink()
    lab.sound(agrees=True)


def test_a_stop_file_that_the_turn_leaves_ends_the_run_before_the_next_turn(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent('echo turn >> "$HOME/turns"; touch EMERGENCY_STOP_RALPH')
    ran = lab.aigon(*LOOP)
    assert ran.code == 3, ran.out + ran.err
    assert "remove" in ran.out, "a resume alone would stop again"
    assert turns(lab) == 1
    again = lab.aigon(*RESUME)
    assert again.code == 3, "the file is still there"
    assert turns(lab) == 1
    lab.path("EMERGENCY_STOP_RALPH").unlink()
    lab.sound(agrees=True)


@pytest.mark.parametrize("name", [".aigon/STOP", "EMERGENCY_STOP_RALPH"])
def test_a_stop_file_from_before_keeps_every_loop_from_starting_an_agent(lab: Lab, name: str) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent('echo turn >> "$HOME/turns"')
    lab.write(name, "")
    ran = lab.aigon(*LOOP)
    assert ran.code == 3, ran.out + ran.err
    assert not (lab.home / "turns").exists()


def test_ctrl_c_during_the_look_at_the_base_ends_the_run_before_any_agent(lab: Lab) -> None:
    lab.spec('slow <!-- verify: touch "$HOME/checking"; until [ -e "$HOME/go" ]; do sleep 0.05; done; false -->')
    lab.agent('echo turn >> "$HOME/turns"')
    lab.config(proof={"home": "real"})
    process = lab.start(*LOOP)
    begun(lab, process, "checking")
    interrupt(process)
    go(lab)
    ran = finish(process)
    assert ran.code == 130, ran.out + ran.err
    assert not (lab.home / "turns").exists()
    assert lab.subjects()[-1].startswith("docs(")
    lab.sound(agrees=True)


def in_a_terminal(lab: Lab, *arguments: str) -> tuple[int, int]:
    """Start aigon as the foreground job of a terminal of its own: its pid, and our end of the terminal."""
    pid, ours = pty.fork()
    if pid == 0:  # in the child: nothing of pytest may run here
        os.chdir(lab.root)
        os.execve(sys.executable, lab.command(*arguments), {**lab.env, "TERM": "xterm", "COLUMNS": "100"})
    return pid, ours


def ended(pid: int, ours: int) -> int:
    """The exit code; what the terminal shows is read meanwhile, as a terminal does."""
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        with contextlib.suppress(OSError):
            if select.select([ours], [], [], 0.02)[0]:
                os.read(ours, 65536)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("it did not end")


def wait_for(name: Path, ours: int) -> None:
    """Wait for a file, reading the terminal meanwhile."""
    limit = time.monotonic() + 20
    while not name.exists():
        assert time.monotonic() < limit
        if select.select([ours], [], [], 0.02)[0]:
            os.read(ours, 65536)


def test_ctrl_c_in_a_terminal_reaches_aigon_and_not_its_agent(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        touch "$HOME/begun"
        until [ -e "$HOME/go" ]; do sleep 0.05; done
        touch done.txt
    """)
    pid, ours = in_a_terminal(lab, *LOOP)
    wait_for(lab.home / "begun", ours)
    os.write(ours, b"\x03")
    time.sleep(0.2)
    go(lab)
    assert ended(pid, ours) == 0
    os.close(ours)
    assert lab.boxes() == "x"
    lab.sound(agrees=True)


def test_a_terminal_that_is_closed_ends_the_run_with_its_state_saved(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        echo half > half.txt
        touch "$HOME/begun"
        sleep 60
    """)
    pid, ours = in_a_terminal(lab, *LOOP)
    wait_for(lab.home / "begun", ours)
    os.close(ours)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
    assert (lab.state()["status"], lab.state()["exit_code"]) == ("interrupted", 143)
    assert lab.git("show", f"{parked(lab)[0]}:half.txt") == "half"
    assert left_behind(lab) == []


def test_a_branch_that_the_ended_turn_had_rewritten_is_put_back(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        [ -e "$HOME/begun" ] && { touch done.txt; exit; }
        git commit -q --amend -m 'the agent was here'
        touch "$HOME/begun"
        sleep 60
    """)
    process = lab.start(*LOOP)
    begun(lab, process)
    ask_to_stop(lab, process, "SIGTERM")
    assert finish(process).code == 143
    assert "the agent was here" not in lab.subjects()
    assert "the agent was here" in [lab.git("log", "-1", "--format=%s", ref) for ref in parked(lab)]
    again = lab.aigon(*RESUME)
    assert again.code == 0, again.out + again.err
    lab.sound(agrees=True)


LAST_WORDS = """
import atexit, sys, time
atexit.register(lambda: (print("bye", flush=True), time.sleep(1)))
sys.argv = ["aigon", "board"]
from aigon.cli import main
main()
"""


def test_a_ctrl_c_that_comes_when_all_is_said_makes_no_crash_of_it(lab: Lab) -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", LAST_WORDS], cwd=lab.root, env=lab.env, stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdout and any("bye" in line for line in process.stdout)
    interrupt(process)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
