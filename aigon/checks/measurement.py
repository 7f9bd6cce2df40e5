"""Measure by aigon's own clock how long a command takes, so that a busy machine does not decide."""

import time
from collections.abc import Callable

from msgspec.structs import replace

from aigon.job.results import Measurement
from aigon.model.turns import ProgramExit
from aigon.process.orphans import is_zombie, list_descendants

RUNS = 5
"""How often a command is run at most; the quickest run counts, since other programs can only make one slower."""
LONGEST = 60.0
"""Seconds after which no further run begins: other programs hardly slow down what takes that long."""
HOPELESS = 10
"""How many times longer than it may a command takes if no further run can help."""
PAUSE = 0.002
"""Seconds between two looks at what a command left running."""

Run = Callable[[], ProgramExit]


def measure_seconds(run: Run, run_nothing: Run, enough: float, most: int) -> tuple[ProgramExit, Measurement | None]:
    """Return the last run, and the seconds of the quickest without those that an empty script takes there.

    No other follows once one took at most `enough`, or `most` are made. A run that fails is what counts: then nothing
    was measured.
    """
    began, best, idle, runs = time.monotonic(), float("inf"), float("inf"), 0
    while runs < most and enough < best and (not runs or best <= HOPELESS * enough):
        if time.monotonic() - began > LONGEST:
            break
        idle = min(idle, run_nothing().duration)
        ended = _run_to_the_end(run, enough + idle)
        if ended.exit_code != 0:
            return ended, None
        best, runs = min(best, max(0.0, ended.duration - idle)), runs + 1
    return replace(ended, duration=time.monotonic() - began), Measurement(best, runs)


def _run_to_the_end(run: Run, enough: float) -> ProgramExit:
    """Run a command; its time ends with the last process that it started, even one that left it.

    That is not waited for once the time is more than `enough`. On Linux such a process falls to aigon, which adopts
    orphans.
    """
    before = frozenset(list_descendants())
    ended, exited, late = run(), time.monotonic(), 0.0
    while ended.duration + late <= enough:
        if all(pid in before or is_zombie(pid) for pid in list_descendants()):
            break
        time.sleep(PAUSE)
        late = time.monotonic() - exited
    return replace(ended, duration=ended.duration + late)
