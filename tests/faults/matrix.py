"""All trials of the kill matrix, some at a time, and what they came to."""

import os
import random
import shutil
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.faults.kill import tried, uninterrupted
from tests.faults.moment import Trial, at_every_point, at_every_step, at_random
from tests.faults.scenario import AT_POINTS, EVERY, Scenario
from tests.faults.standing import Whole
from tests.faults.verdict import Verdict

Wholes = dict[tuple[str, str], Whole]


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial, what it came to, and where its laboratory is kept, unless it went well."""

    trial: Trial
    verdict: Verdict
    kept: str = ""


def wholes(scenarios: Iterable[Scenario], proof: str = "") -> Wholes:
    """What each scenario comes to when nobody kills it."""
    return {(each.mode, each.agent): _whole(each, proof) for each in scenarios}


def _whole(scenario: Scenario, proof: str) -> Whole:
    with tempfile.TemporaryDirectory(prefix="aigon-faults-", ignore_cleanup_errors=True) as folder:
        return uninterrupted(scenario, Path(folder), proof)


def trials(modes: Sequence[str], known: Wholes, number: int, seed: int, *, points: bool = True) -> list[Trial]:
    """Every fail point of every scenario of these modes, and so many random moments; in any order, of all a part."""
    chosen = [each for each in EVERY if each.mode in modes]
    pointed = [each for each in chosen if each.agent in AT_POINTS]
    fixed = [at_every_point(each.mode, each.agent, known[each.mode, each.agent].events) for each in pointed]
    fixed += [at_every_step(each.mode, each.agent) for each in pointed]
    drawn = at_random(number, [(each.mode, each.agent, each.labels) for each in chosen], seed)
    wanted = [*(trial for some in fixed if points for trial in some), *drawn]
    random.Random(seed).shuffle(wanted)
    return wanted


def one(trial: Trial, whole: Whole, proof: str = "") -> Tried:
    """Try it in a folder of its own, which is kept unless all went well. Never raises."""
    folder = tempfile.mkdtemp(prefix="aigon-faults-")
    try:
        verdict = tried(trial, whole, Path(folder), proof)
    except Exception:
        verdict = Verdict(reasons=[f"the trial broke off:\n{traceback.format_exc()}"])
    if verdict.reasons:
        return Tried(trial, verdict, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return Tried(trial, verdict)


def all_tried(wanted: Sequence[Trial], known: Wholes, jobs: int) -> Iterator[Tried]:
    """Try all, `jobs` at a time, each given as it is done."""
    # Spawned: a fork would share this process's warm interpreter with all others.
    with ProcessPoolExecutor(min(jobs, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        asked = [pool.submit(one, trial, known[trial.mode, trial.agent]) for trial in wanted]
        try:
            for each in as_completed(asked):
                yield each.result()
        finally:
            pool.shutdown(cancel_futures=True)
