"""Counts about one run for statistics, folded from its journal event by event."""

from collections.abc import Collection

from msgspec import Struct, field

from aigon.journal.account import seconds_between
from aigon.journal.events import (
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    RecordRepaired,
    RolledBack,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.spending import Spend
from aigon.journal.state import has_worked
from aigon.model.criteria import VerdictStatus
from aigon.model.outcomes import Met, Stopped, get_status
from aigon.model.turns import Turn

NOT_RECORDED = "not recorded"
"""What an older version left out of its journals."""
UNFINISHED = "unfinished"
"""The end of a run without an end on record: it goes on, or was killed."""

Judged = tuple[int, str]
"""A criterion by number, and the content that was judged."""


class Worker(Struct, frozen=True):
    """An agent with a model, on an escalation step from 1."""

    agent: str
    model: str
    step: int


class WorkerTurns(Struct):
    """The turns of a worker in a run, in which an agent worked, their cost, and their time in seconds."""

    turns: int = 0
    spend: Spend = field(default_factory=Spend)
    seconds: float = 0.0


class RunFacts(Struct):
    """Counts of one run with its resumes.

    `iterations` are those that it finished, `proven_by` the worker of the last turn before the proof. `judge_spend` is
    what was spent on anything but turns. `failures` are iterations that left one, and `repeated` those whose
    failure an earlier iteration had. `taken_back` are criteria that passed at an assessment and not at the next.
    `judged` is what a judge said of contents that people decided on.
    """

    wanted: Collection[Judged] = ()
    feature: str = ""
    started_at: str = ""
    kind: str = ""
    profile: str = ""
    judge: str = ""
    criteria: int = 0
    workers: dict[Worker, WorkerTurns] = field(default_factory=dict)
    iterations: int = 0
    stop: str = UNFINISHED
    proven_by: Worker | None = None
    judge_spend: Spend = field(default_factory=Spend)
    failures: int = 0
    repeated: int = 0
    taken_back: int = 0
    promises_kept: int = 0
    promises_broken: int = 0
    judged: dict[Judged, VerdictStatus] = field(default_factory=dict)
    _begun: str = ""
    _heard: str = ""
    _earlier_seconds: float = 0.0
    _earlier_iterations: int = 0
    _open_turn: IterationStarted | None = None
    _last_worker: Worker | None = None
    _passed: frozenset[int] = frozenset()
    _fingerprints: set[str] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """The seconds it took, without the time between an end and a resume."""
        return self._earlier_seconds + seconds_between(self._begun, self._heard)

    def take(self, event: Event) -> None:
        """Count `event`. Nothing that grows with the run is kept but a name for each new failure."""
        match event:
            case RunStarted():
                self._begin(event)
            case IterationStarted():
                self._open_turn = event
            case TurnEnded(turn=turn):
                self._end_turn(turn)
            case MoneySpent():
                self.judge_spend = self.judge_spend.plus(event.cost)
            case RecordRepaired():
                self.judge_spend = self.judge_spend.plus(event.usd).plus(None)
            case IterationFinished():
                self._assess(event)
            case RolledBack():
                self._passed = frozenset()
            case RunFinished(outcome=outcome):
                self.stop = f"stopped: {outcome.guard}" if isinstance(outcome, Stopped) else get_status(outcome)
                self.proven_by = self._last_worker if isinstance(outcome, Met) else None
        self._heard = event.at

    def _begin(self, event: RunStarted) -> None:
        """Begin an invocation. A turn that was broken off may have cost something."""
        if self._open_turn:
            worker = Worker(self._open_turn.agent, self._open_turn.model, self._open_turn.rung + 1)
            self._add_turn(worker, None, 0.0)
        self._earlier_seconds = self.seconds
        self._begun, self._open_turn, self.stop, self.proven_by = event.at, None, UNFINISHED, None
        if not self.feature:
            self.feature, self.started_at = event.feature_id or event.slug, event.at
            self._earlier_iterations, self.criteria = event.earlier_iterations, event.criteria_total
        self.kind, self.profile = event.kind or NOT_RECORDED, event.profile or NOT_RECORDED
        self.judge = (event.choices.judge or "none") if event.choices else NOT_RECORDED

    def _end_turn(self, turn: Turn) -> None:
        begun, self._open_turn = self._open_turn, None
        step = begun.rung + 1 if begun else 1
        if has_worked(turn):
            self._last_worker = Worker(turn.agent, turn.model, step)
            self._add_turn(self._last_worker, turn.cost, turn.duration)

    def _add_turn(self, worker: Worker, cost: float | None, seconds: float) -> None:
        known = self.workers.setdefault(worker, WorkerTurns())
        known.turns, known.spend, known.seconds = known.turns + 1, known.spend.plus(cost), known.seconds + seconds

    def _assess(self, event: IterationFinished) -> None:
        passed = frozenset(verdict.criterion for verdict in event.verdicts if verdict.status == "met")
        self.taken_back += len(self._passed - passed)
        self._passed = passed
        for verdict in event.verdicts:
            key = verdict.criterion, event.content
            if verdict.method == "judge" and verdict.status != "unclear" and key in self.wanted:
                self.judged[key] = verdict.status
        number = event.number - self._earlier_iterations
        if number <= self.iterations:  # the baseline, or a resume that assesses the last commit again
            return
        self.iterations = number
        self.promises_kept += sum(promise.kept for promise in event.promises)
        self.promises_broken += sum(not promise.kept for promise in event.promises)
        if event.fingerprint:
            self.failures += 1
            self.repeated += event.fingerprint in self._fingerprints
            self._fingerprints.add(event.fingerprint)
