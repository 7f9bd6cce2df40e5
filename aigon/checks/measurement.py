"""Measure by aigon's own clock how long a command takes, so that a busy machine does not decide."""

import time
from collections.abc import Callable
from dataclasses import replace

from aigon.job.results import Measurement
from aigon.model.turns import ProgramExit

RUNS = 5
"""How often a command is run at most; the quickest run counts, since other programs can only make one slower."""
LONGEST = 60.0
"""Seconds after which no further run begins: what takes that long is hardly slower for what runs beside it."""

Run = Callable[[], ProgramExit]


def measure_seconds(
    first: ProgramExit, enough: float, run: Run, run_nothing: Run
) -> tuple[ProgramExit, Measurement | None]:
    """Return the run that counts, and the seconds of the quickest without those that an empty script takes there.

    `first` is a run that exited 0. No other follows once one took at most `enough`. A run that fails is what counts:
    then nothing was measured.
    """
    began, best, idle, last = time.monotonic(), first.duration, float("inf"), first
    for runs in range(1, RUNS + 1):
        idle = min(idle, run_nothing().duration)
        seconds = max(0.0, best - idle)
        if seconds <= enough or runs == RUNS or time.monotonic() - began + first.duration > LONGEST:
            break
        last = run()
        if last.exit_code != 0:
            return last, None
        best = min(best, last.duration)
    took = first.duration + time.monotonic() - began
    return replace(last, duration=took), Measurement(seconds, runs)
