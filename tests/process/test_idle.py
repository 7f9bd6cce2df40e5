"""A program that hangs is told from one that works in silence; no deadline depends on the clock of the day."""

import os
import signal
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aigon.model.turns import ProgramExit
from aigon.process import meter
from aigon.process.run import Command, EndingSteps, run

QUICK: EndingSteps = ((signal.SIGINT, 0.15), (signal.SIGTERM, 0.15), (signal.SIGKILL, 5.0))
ENV: Mapping[str, str] = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def bash(script: str, cwd: Path, **options: Any) -> ProgramExit:
    """Run a bash script in `cwd`."""
    return run(Command(["bash", "-c", textwrap.dedent(script)], cwd, ENV, ladder=QUICK, **options))


def test_one_that_neither_prints_nor_computes_is_ended_by_the_ladder(tmp_path: Path) -> None:
    script = "trap 'echo INT' INT; trap 'echo TERM' TERM; echo begun; sleep 60 & while :; do wait; done"
    exited = bash(script, tmp_path, idle=0.4, deadline=60)
    assert exited.stdout.startswith(b"begun\nINT\n")
    assert (exited.timed_out, exited.killed, exited.silent) == (True, False, 0.4)
    assert exited.duration < 20


def test_one_that_prints_now_and_then_goes_on(tmp_path: Path) -> None:
    exited = bash("for n in 1 2 3 4 5 6; do sleep 0.2; echo $n; done", tmp_path, idle=0.8)
    assert (exited.exit_code, exited.timed_out, exited.silent) == (0, False, 0.0)


def test_one_that_computes_in_silence_goes_on(tmp_path: Path) -> None:
    exited = bash("end=$((SECONDS + 2)); until [ $SECONDS -ge $end ]; do :; done", tmp_path, idle=0.8)
    assert (exited.exit_code, exited.timed_out) == (0, False)


@pytest.mark.slow
def test_what_works_for_it_in_a_session_of_its_own_counts_too(tmp_path: Path) -> None:
    worker = "end=$((SECONDS + 2)); until [ $SECONDS -ge $end ]; do :; done; touch done"
    exited = bash(f"setsid bash -c '{worker}' & until [ -e done ]; do sleep 0.3; done", tmp_path, idle=0.8)
    assert (exited.exit_code, exited.timed_out) == (0, False)


def test_without_a_limit_silence_is_nobodys_business(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "measure_processor_seconds", lambda: pytest.fail("nobody asked"))
    assert bash("sleep 0.2", tmp_path).exit_code == 0


def test_what_is_only_waited_for_by_a_timer_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a Node program that waits for a dead connection: a few milliseconds of every minute."""
    now, used = [100.0], {7: 5.0}
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(meter, "measure_processor_seconds", lambda: dict(used))
    silence = meter.IdleClock(600.0)
    while not silence.over():
        now[0] += 0.5
        used[7] += 0.5 * 0.0013
    assert 700.0 <= now[0] <= 700.0 + meter.LONGEST_LOOK_SECONDS


def test_a_clock_that_jumps_ends_nothing_and_keeps_nothing_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day ahead, then a day back, at every look at it; a machine that slept is the same to a monotonic clock."""
    real, jumps = time.time, iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: real() + (86_400 if next(jumps) % 2 else -86_400))
    assert not bash("sleep 0.3", tmp_path, deadline=20, idle=20).timed_out
    late = bash("sleep 60", tmp_path, deadline=0.3)
    assert (late.timed_out, late.duration < 20) == (True, True)
    assert bash("sleep 60", tmp_path, idle=0.3).silent == 0.3


def test_where_the_system_shows_no_files_about_processes_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = os.fork()
    if not pid:
        signal.pause()
    try:
        monkeypatch.setattr(meter, "list_descendants", lambda: [pid, 999_999_999])
        assert set(meter._ask_psutil()) == {pid}
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
