"""The kill matrix: SIGKILL at every fail point and at random moments, `--resume`, and what came of it.

    python -m tests.faults [--seed N] [--random 300] [--modes solo,worktree,arena] [--jobs 2] [--no-points]
    python -m tests.faults --only 'solo:two-step:turn_ended.between@2'

One trial is written MODE:AGENT:MOMENT, with `+` between the moments of several kills. Laboratories of trials that did
not go well are kept. Exit code 1 if anything is not as promised.
"""

import argparse
import contextlib
import sys
import time

from tests.faults.matrix import Tried, all_tried, trials, wholes
from tests.faults.moment import trial_of
from tests.faults.scenario import EVERY, MODES, Scenario
from tests.faults.table import failure, table


def main() -> int:
    """The command."""
    asked, began = _asked(), time.monotonic()
    if asked.only:
        wanted = [trial_of(text) for text in asked.only]
        known = wholes({Scenario(each.mode, each.agent) for each in wanted})
    else:
        modes = asked.modes.split(",")
        known = wholes(each for each in EVERY if each.mode in modes)
        wanted = trials(modes, known, asked.random, asked.seed, points=not asked.no_points)
    print(f"{len(wanted)} trials, seed {asked.seed}", flush=True)
    done: list[Tried] = []
    with contextlib.suppress(KeyboardInterrupt):  # what was tried so far is told
        for result in all_tried(wanted, known, asked.jobs):
            done.append(result)
            _tell(result, len(done), len(wanted), sum(bool(one.verdict.reasons) for one in done))
    print(f"\n{table(done)}\n{len(done)} of {len(wanted)} trials, {time.monotonic() - began:.0f} s")
    return int(len(done) < len(wanted) or any(one.verdict.reasons for one in done))


def _tell(result: Tried, number: int, of: int, failed: int) -> None:
    """A line that is written over on a terminal; what did not go well stays."""
    if result.verdict.reasons:
        print(failure(result), flush=True)
    if sys.stdout.isatty():
        print(f"\r{number}/{of}, {failed} failed  {result.trial!s:60.60}", end="", flush=True)
    elif number % 25 == 0 or number == of:
        print(f"{number}/{of}, {failed} failed", flush=True)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=7, help="what random moments are drawn from")
    parser.add_argument("--random", type=int, default=300, metavar="N", help="so many random moments")
    parser.add_argument("--modes", default=",".join(MODES), help="with commas between them")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="so many trials at a time")
    parser.add_argument("--no-points", action="store_true", help="random moments only")
    parser.add_argument("--only", action="append", metavar="TRIAL", help="this trial; several times for several")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
