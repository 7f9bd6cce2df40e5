"""No survivor: daemons of every kind, ended by a process of the test's own (a sweep ends all of one's children)."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from aigon.process.orphans import end_leftovers_of_run, list_children, list_descendants

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a child subreaper is Linux's")

DAEMON = """
    import os, signal, sys, time
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
    os.closerange(0, 3)
    open(sys.argv[1], "w").write(str(os.getpid()))
    while True:
        time.sleep(0.01)
        if len(sys.argv) > 2 and not os.fork():
            os.setsid()
"""
"""Forks twice into a session of its own, deaf to signals; with a second argument it goes on multiplying."""

SWEEPER = """
    import subprocess, sys, time
    from pathlib import Path
    from aigon.process import orphans
    orphans.adopt_orphans()
    subprocess.run(sys.argv[2:])
    while not Path(sys.argv[1]).exists() or not Path(sys.argv[1]).read_text():
        time.sleep(0.005)
    found = orphans.sweep()
    print(found, orphans.list_descendants(), orphans.sweep())
"""


def swept(tmp_path: Path, *more: str) -> tuple[str, int]:
    """Let a process start a daemon and sweep: what it says, and the daemon's pid."""
    daemon, pid = tmp_path / "daemon.py", tmp_path / "pid"
    daemon.write_text(textwrap.dedent(DAEMON))
    argv = [sys.executable, "-c", textwrap.dedent(SWEEPER), str(pid), sys.executable, str(daemon), str(pid), *more]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), int(pid.read_text())


def gone(pid: int) -> bool:
    """Whether a process is no more, or only waits to be collected."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def test_a_daemon_that_forked_twice_and_left_its_session_is_ended(tmp_path: Path) -> None:
    said, pid = swept(tmp_path)
    assert said == "1 [] 0"
    assert gone(pid)


def test_a_daemon_that_multiplies_meanwhile_is_ended_with_all_its_offspring(tmp_path: Path) -> None:
    said, pid = swept(tmp_path, "multiply")
    assert said.endswith("[] 0")
    assert gone(pid)
    everywhere = [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in _read(entry)]
    assert everywhere == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_without_children_a_sweep_takes_no_time() -> None:
    script = """
        import time
        from aigon.process import orphans
        orphans.adopt_orphans()
        took = []
        for _ in range(20):
            begun = time.monotonic()
            assert orphans.sweep() == 0
            took.append(time.monotonic() - begun)
        print(min(took))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert float(done.stdout) < 0.005


def test_descendants_are_found_through_every_generation() -> None:
    with subprocess.Popen(["bash", "-c", "sleep 30 & sleep 30 & wait"], start_new_session=True) as process:
        try:
            limit = time.monotonic() + 10
            while len(list_children(process.pid)) < 2:
                assert time.monotonic() < limit
            assert {process.pid, *list_children(process.pid)} <= set(list_descendants())
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert list_children(process.pid) == []


def test_leftovers_of_a_killed_run_are_known_by_their_environment_alone() -> None:
    env = {"PATH": os.environ["PATH"]}
    argv = ["bash", "-c", "trap '' INT TERM; while :; do sleep 30 & wait; done"]  # it outlives a sleep that is killed
    with (
        subprocess.Popen(argv, env={**env, "AIGON_RUN": "run-1"}, start_new_session=True) as ours,
        subprocess.Popen(argv, env={**env, "AIGON_RUN": "run-12"}, start_new_session=True) as other,
    ):
        try:
            limit = time.monotonic() + 10
            while not (list_children(ours.pid) and list_children(other.pid)):
                assert time.monotonic() < limit
            left = list_children(ours.pid)
            assert end_leftovers_of_run("run-1") >= 2  # the shell may have begun another sleep by then
            assert ours.wait(5) == -signal.SIGKILL
            assert all(gone(pid) for pid in left)
            assert other.poll() is None
        finally:
            os.killpg(other.pid, signal.SIGKILL)


def test_the_run_that_one_is_part_of_does_not_end_itself() -> None:
    script = "from aigon.process.orphans import end_leftovers_of_run; print(end_leftovers_of_run('run-2'))"
    env = {**os.environ, "AIGON_RUN": "run-2"}
    argv = ["bash", "-c", '"$@"; echo shell', "x", sys.executable, "-c", script]
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    assert done.stdout == "0\nshell\n"
