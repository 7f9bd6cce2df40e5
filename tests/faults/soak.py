"""A soak: one feature over many iterations and resumes, with faults drawn at random from a seed.

    python -m tests.faults.soak [--iterations 1000] [--seed N]

Memory, descriptors and aigon's own time per iteration have to be flat, and no iteration may be lost or come twice.
Exit code 1 if anything is not as promised.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.soak_faults import drawn
from tests.faults.soak_measures import MEMORY, TIME, Flat, flat, own_times, piled_up, processor_times, samples
from tests.faults.soak_run import Invoked, invoked, laid_out
from tests.faults.standing import checkpoints, journal
from tests.faults.verdict import Verdict, no_orphans
from tests.lab import BRANCH, Lab

TURNS = 20
"""Of an invocation: the most that aigon allows."""


@dataclass(slots=True)
class Soak:
    """What a soak came to."""

    lab: Lab
    reasons: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    starts: list[float] = field(default_factory=list)
    kills: int = 0
    number: int = 0


def soaked(folder: Path, iterations: int, seed: int, *, turns: int = TURNS, say: bool = False) -> Soak:
    """Run so many iterations; what is not as promised is among the reasons."""
    soak, numbers = Soak(laid_out(folder, iterations)), random.Random(seed)
    told = 0
    while soak.number < iterations * 2 and not _round(soak, numbers, turns):
        done = len(checkpoints(soak.lab, BRANCH))
        if say and done // 100 > told:
            told = done // 100
            print(f"{done} iterations, {soak.number} invocations: {piled_up(soak.lab)}", flush=True)
    _judge(soak, iterations)
    return soak


def _round(soak: Soak, numbers: random.Random, turns: int) -> bool:
    """One invocation; whether it was the last."""
    soak.number += 1
    fault = drawn(numbers, turns)
    ran = invoked(soak.lab, fault, turns, first=soak.number == 1)
    soak.faults[fault.fault.name] += 1
    soak.kills += ran.signalled
    soak.starts += [ran.start] if ran.start else []
    if ran.code not in _expected(ran):
        soak.reasons.append(f"invocation {soak.number}, {fault}: exit {ran.code}\n{ran.out[-1000:]}\n{ran.err}")
        return True
    return ran.code == 0


def _expected(ran: Invoked) -> tuple[int, ...]:
    return (0, 3, 130, 143, -9) if ran.signalled else (0, 3)


def _judge(soak: Soak, iterations: int) -> None:
    lab, found = soak.lab, checkpoints(soak.lab, BRANCH)
    if list(found) != list(range(1, len(found) + 1)) or len(found) < iterations:
        soak.reasons.append(
            f"checkpoints lost or twice: {len(found)}, {[n for n, c in Counter(found).items() if c > 1]}"
        )
    numbers = [each["number"] for each in lab.state()["iterations"]]
    if numbers != list(range(len(found) + 1)):
        soak.reasons.append(f"the state file has other iterations: {len(numbers)}, not {len(found) + 1}")
    if (turns := len(samples(lab))) > len(found) + soak.kills:
        soak.reasons.append(f"{turns} turns for {len(found)} iterations and {soak.kills} signals")
    verdict = Verdict()
    no_orphans(verdict, lab, "after the soak")
    soak.reasons += verdict.reasons
    if soak.reasons:  # stopped half-way, it has every right to be in the middle of something
        soak.reasons.append(lab.git("status", "--porcelain", "--untracked-files=all"))
        return
    lab.sound()


def measured(soak: Soak) -> list[Flat]:
    """What has to be flat, over the whole soak."""
    seen = samples(soak.lab)
    return [
        flat("own time per iteration, s", own_times(journal(soak.lab, "")), TIME),
        flat("processor per iteration, s", processor_times(seen), TIME),
        flat("memory, MiB", [one.memory / 1024 for one in seen], MEMORY),
        flat("descriptors", [one.descriptors for one in seen], 1.0),
    ]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--iterations", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=7, help="what faults are drawn from")
    asked, began = parser.parse_args(), time.monotonic()
    os.environ["AIGON_FRESH_PROCESSES"] = "1"  # a fork of the warm interpreter has memory of its own
    with tempfile.TemporaryDirectory(prefix="aigon-soak-", ignore_cleanup_errors=True) as folder:
        soak = soaked(Path(folder), asked.iterations, asked.seed, say=True)
        return _told(soak, measured(soak), time.monotonic() - began)


def _told(soak: Soak, found: list[Flat], seconds: float) -> int:
    print(f"\n{len(samples(soak.lab))} turns in {soak.number} invocations, {soak.kills} signals, {seconds:.0f} s")
    print(", ".join(f"{name}: {count}" for name, count in sorted(soak.faults.items())))
    print(f"\n{'':28} {'first 10th':>10} {'last 10th':>10}", *found, sep="\n")
    print(flat("until the first event, s", soak.starts, TIME), " (not promised)")
    print(f"on disk: {piled_up(soak.lab)}", *soak.reasons, sep="\n")
    return int(bool(soak.reasons) or not all(one.good for one in found))


if __name__ == "__main__":
    sys.exit(main())
