"""A clock that is set, or stands still while the machine sleeps, moves no deadline."""

import signal
import time
from pathlib import Path

import pytest

from aigon.process import run
from aigon.process.stop import Stop
from tests.compare.bench import world_of
from tests.lab import Lab
from tests.process.test_process import bash

FORWARD, BACK = 10 * 365 * 86400.0, -10 * 365 * 86400.0


@pytest.mark.parametrize("jump", [FORWARD, BACK])
def test_a_deadline_is_counted_on_a_clock_that_nobody_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    begun = time.time()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + (jump if real() > begun + 0.2 else 0))
    exited = bash("sleep 0.5; echo whole", tmp_path, Stop([]), deadline=60)
    assert (exited.exit_code, exited.timed_out) == (0, False)
    ladder: run.EndingSteps = ((signal.SIGKILL, 1.0),)
    exited = bash("sleep 60", tmp_path, Stop([]), deadline=0.3, ladder=ladder)
    assert exited.timed_out


@pytest.mark.parametrize("jump", [FORWARD, BACK])
def test_a_runs_time_is_counted_on_a_clock_that_nobody_sets(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    with world_of(lab) as world:
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + jump)
        assert 0 <= world.elapsed() < 60
