"""Statistics over the runs of a repository, in groups: folded from their journals, one at a time."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import reduce
from itertools import starmap
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import AigonError
from aigon.journal.decisions import HumanDecision
from aigon.journal.events import RunStarted
from aigon.journal.records import CLOSED, Records
from aigon.journal.replay import iterate_events
from aigon.journal.run_facts import NOT_RECORDED, RunFacts, Worker, WorkerTurns
from aigon.journal.spending import Spend

Grouping = Literal["kind", "agent", "model", "profile", "step", "judge"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
FEWEST = 5
"""Runs below which a group has no percentages: they would say more about chance than about the group."""
_SKIPPED = ("check_started", "check_finished", "criterion_judged", "judge_asked", "checkpoint_intended", "hook_ran",
            "parked", "notice", "waiting")  # fmt: skip
"""Events that nothing here counts, most of a journal: they are not read."""


class Spread(Struct, frozen=True):
    """The spread of `n` numbers; `p90` is the smallest that nine in ten do not exceed."""

    n: int
    mean: float
    median: float
    p90: float


class StepResult(Struct, frozen=True):
    """The result of an escalation step: its turns, the runs that reached it, and those that were proven on it."""

    turns: int = 0
    runs: int = 0
    proven: int = 0


class RunGroup(Struct, frozen=True):
    """Runs with something in common; `name` says what, and is "" for all.

    By agent, model and step a run is in the group of each that had a turn in it: `turns`, `spend`, `seconds` and
    `steps` are of these turns alone, and it is proven in the group of its last turn. Otherwise `seconds` is how long
    the runs took, and `spend` includes the judge. `iterations` are those of proven runs, `per_criterion` the same for
    each criterion. `stops` counts the runs by how they ended.
    """

    name: str
    features: int
    features_proven: int
    runs: int
    proven: int
    iterations: Spread | None
    per_criterion: Spread | None
    turns: int
    steps: Mapping[int, StepResult]
    spend: Spend
    seconds: float
    stops: Mapping[str, int]
    failures: int
    repeated_failures: int
    ticks_taken_back: int
    promises_kept: int
    promises_broken: int
    judge_decisions: int
    judge_overruled: int

    @property
    def is_small(self) -> bool:
        """True if it has too few runs for percentages."""
        return self.runs < FEWEST


class Statistics(Struct, frozen=True):
    """All runs, and their `groups` by `by`, the largest first. `unread` says which journals could not be read."""

    total: RunGroup
    by: Grouping | None = None
    groups: tuple[RunGroup, ...] = ()
    unread: tuple[str, ...] = ()


class _Share(Struct, frozen=True):
    """A run in a group, with those of its turns that count there; `is_whole`: the others count nowhere else.

    People decided on `decided` verdicts of its judge, and on `overruled` of these otherwise.
    """

    run: RunFacts
    decided: int
    overruled: int
    workers: Mapping[Worker, WorkerTurns]
    is_whole: bool = True

    @property
    def is_proven(self) -> bool:
        return self.run.stop == "met" and (self.is_whole or self.run.proven_by in self.workers)

    @property
    def spend(self) -> Spend:
        own = self.run.judge_spend if self.is_whole else Spend()
        return reduce(Spend.and_, (done.spend for done in self.workers.values()), own)

    @property
    def seconds(self) -> float:
        return self.run.seconds if self.is_whole else sum(done.seconds for done in self.workers.values())


def gather_statistics(home: Path | None, by: Grouping | None = None, since: date | None = None) -> Statistics:
    """Return what the runs below `home` came to, or those that began on or after the day `since`."""
    unread: list[str] = []
    whole = list(_read_runs(home, since, unread)) if home else []
    shares: dict[str, list[_Share]] = {}
    for each in whole:
        for name, workers in _divide(each.run, by):
            is_whole = by not in ("agent", "model", "step")
            shares.setdefault(name, []).append(replace(each, workers=workers, is_whole=is_whole))
    groups = sorted(starmap(_make_group, shares.items()), key=lambda group: (-group.runs, group.name))
    return Statistics(_make_group("", whole), by, tuple(groups), tuple(unread))


def _make_group(name: str, shares: Sequence[_Share]) -> RunGroup:
    runs, proven = [share.run for share in shares], [share.run for share in shares if share.is_proven]
    steps = sorted({worker.step for share in shares for worker in share.workers})
    return RunGroup(
        name=name,
        features=len({run.feature for run in runs}),
        features_proven=len({run.feature for run in proven}),
        runs=len(runs),
        proven=len(proven),
        iterations=measure_spread([run.iterations for run in proven]),
        per_criterion=measure_spread([run.iterations / run.criteria for run in proven if run.criteria]),
        turns=sum(done.turns for share in shares for done in share.workers.values()),
        steps={step: _sum_up_step(step, shares) for step in steps},
        spend=reduce(Spend.and_, (share.spend for share in shares), Spend()),
        seconds=sum(share.seconds for share in shares),
        stops=dict(Counter(run.stop for run in runs).most_common()),
        failures=sum(run.failures for run in runs),
        repeated_failures=sum(run.repeated for run in runs),
        ticks_taken_back=sum(run.taken_back for run in runs),
        promises_kept=sum(run.promises_kept for run in runs),
        promises_broken=sum(run.promises_broken for run in runs),
        judge_decisions=sum(share.decided for share in shares),
        judge_overruled=sum(share.overruled for share in shares),
    )


def _sum_up_step(step: int, shares: Sequence[_Share]) -> StepResult:
    there = [share for share in shares if any(worker.step == step for worker in share.workers)]
    turns = sum(done.turns for share in there for worker, done in share.workers.items() if worker.step == step)
    last = [share.run.proven_by for share in there if share.run.proven_by in share.workers]
    return StepResult(turns, len(there), sum(worker is not None and worker.step == step for worker in last))


def measure_spread(numbers: Sequence[float]) -> Spread | None:
    """Return how the numbers are spread; None for none."""
    if not numbers:
        return None
    from statistics import fmean, median

    return Spread(len(numbers), fmean(numbers), median(numbers), sorted(numbers)[math.ceil(0.9 * len(numbers)) - 1])


def _divide(run: RunFacts, by: Grouping | None) -> Iterator[tuple[str, Mapping[Worker, WorkerTurns]]]:
    """Yield the name of each group that a run belongs to, with those of its turns that count there."""
    match by:
        case None:
            return
        case "kind" | "profile" | "judge":
            yield {"kind": run.kind, "profile": run.profile, "judge": run.judge}[by], run.workers
        case "agent" | "model" | "step":
            divided: dict[str, dict[Worker, WorkerTurns]] = {}
            for worker, done in run.workers.items():
                names = {"agent": worker.agent, "model": worker.model or NOT_RECORDED, "step": f"step {worker.step}"}
                divided.setdefault(names[by], {})[worker] = done
            yield from divided.items()


def _read_runs(home: Path, since: date | None, unread: list[str]) -> Iterator[_Share]:
    for folder in (*sorted(home.glob(f"{CLOSED}/*/*/")), *sorted(home.glob("features/*/"))):
        records = Records(folder)
        try:
            decisions = {(each.criterion, each.content): each for each in records.decisions()}
        except AigonError as error:
            unread.append(f"{folder.name}/{records.decided.name}: {error.what}")
            decisions = {}
        for journal in records.journals():
            try:
                run = _read_run(journal, since, decisions)
            except (AigonError, OSError) as error:
                why = error.what if isinstance(error, AigonError) else error.strerror
                unread.append(f"{folder.name}/{journal.name}: {why}")
                continue
            if run.feature:
                answers = {key: decisions.pop(key).decision == "approve" for key in run.judged}
                overruled = sum(approved != (run.judged[key] == "met") for key, approved in answers.items())
                yield _Share(run, len(answers), overruled, run.workers)


def _read_run(journal: Path, since: date | None, decisions: Mapping[tuple[int, str], HumanDecision]) -> RunFacts:
    """Return the facts of a run, without a feature for one that began before `since` or has not begun."""
    run = RunFacts(decisions.keys())
    for event in iterate_events(journal, skip=_SKIPPED):
        if since and not run.feature and isinstance(event, RunStarted) and event.at[:10] < since.isoformat():
            break
        run.take(event)
    return run
