"""Statistics over the runs of a repository, in groups: folded from their journals, one at a time."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct, field

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


class _Tally(Struct):
    """A group while it is counted."""

    features: set[str] = field(default_factory=set)
    proven_features: set[str] = field(default_factory=set)
    iterations: list[float] = field(default_factory=list)
    per_criterion: list[float] = field(default_factory=list)
    steps: dict[int, StepResult] = field(default_factory=dict)
    spend: Spend = field(default_factory=Spend)
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)

    def add(self, facts: "_ReadRun", workers: Mapping[Worker, WorkerTurns], *, is_share: bool) -> None:
        """Add a run, or what `workers` did in it."""
        run = facts.run
        proven = run.stop == "met" and (not is_share or run.proven_by in workers)
        self.features.add(run.feature)
        if proven:
            self.proven_features.add(run.feature)
            self.iterations.append(run.iterations)
            self.per_criterion += [run.iterations / run.criteria] if run.criteria else []
        for done in workers.values():
            self.spend = self.spend.and_(done.spend)
            self.seconds += done.seconds if is_share else 0.0
        if not is_share:
            self.spend, self.seconds = self.spend.and_(run.judge_spend), self.seconds + run.seconds
        self._add_steps(run, workers)
        self.stops[run.stop] += 1
        self.counts.update(
            runs=1,
            proven=int(proven),
            turns=sum(done.turns for done in workers.values()),
            failures=run.failures,
            repeated_failures=run.repeated,
            ticks_taken_back=run.taken_back,
            promises_kept=run.promises_kept,
            promises_broken=run.promises_broken,
            judge_decisions=facts.decided,
            judge_overruled=facts.overruled,
        )

    def _add_steps(self, run: RunFacts, workers: Mapping[Worker, WorkerTurns]) -> None:
        for step in {worker.step for worker in workers}:
            known = self.steps.get(step, StepResult())
            turns = sum(done.turns for worker, done in workers.items() if worker.step == step)
            proven = bool(run.proven_by and run.proven_by.step == step and run.proven_by in workers)
            self.steps[step] = StepResult(known.turns + turns, known.runs + 1, known.proven + proven)

    def close(self, name: str = "") -> RunGroup:
        counts = {key: self.counts[key] for key in _COUNTED}
        return RunGroup(
            name=name,
            features=len(self.features),
            features_proven=len(self.proven_features),
            iterations=measure_spread(self.iterations),
            per_criterion=measure_spread(self.per_criterion),
            steps=dict(sorted(self.steps.items())),
            spend=self.spend,
            seconds=self.seconds,
            stops=dict(self.stops.most_common()),
            **counts,
        )


_COUNTED = ("runs", "proven", "turns", "failures", "repeated_failures", "ticks_taken_back", "promises_kept",
            "promises_broken", "judge_decisions", "judge_overruled")  # fmt: skip


class _ReadRun(Struct, frozen=True):
    """A run, how many of its judge's verdicts people decided on, and how many of these they decided otherwise."""

    run: RunFacts
    decided: int
    overruled: int


def gather_statistics(home: Path | None, by: Grouping | None = None, since: date | None = None) -> Statistics:
    """Return what the runs below `home` came to, or those that began on or after the day `since`."""
    total, tallies, unread = _Tally(), dict[str, _Tally](), list[str]()
    for facts in _read_runs(home, since, unread) if home else ():
        total.add(facts, facts.run.workers, is_share=False)
        for name, workers in _divide(facts.run, by):
            tallies.setdefault(name, _Tally()).add(facts, workers, is_share=by in ("agent", "model", "step"))
    groups = sorted((tally.close(name) for name, tally in tallies.items()), key=lambda each: (-each.runs, each.name))
    return Statistics(total.close(), by, tuple(groups), tuple(unread))


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


def _read_runs(home: Path, since: date | None, unread: list[str]) -> Iterator[_ReadRun]:
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
                yield _ReadRun(run, len(answers), overruled)


def _read_run(journal: Path, since: date | None, decisions: Mapping[tuple[int, str], HumanDecision]) -> RunFacts:
    """Return the facts of a run, without a feature for one that began before `since` or has not begun."""
    run = RunFacts(decisions.keys())
    for event in iterate_events(journal, skip=_SKIPPED):
        if since and not run.feature and isinstance(event, RunStarted) and event.at[:10] < since.isoformat():
            break
        run.take(event)
    return run
