"""The history of a feature under one label over all its runs, read from journals for evaluation and report."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.journal.events import (
    CheckFinished,
    CriterionJudged,
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    Notice,
    RecordRepaired,
    RolledBack,
    RunFinished,
    RunStarted,
    SavedAside,
    TurnEnded,
)
from aigon.journal.spending import Spend
from aigon.model.checks import Finding
from aigon.model.outcomes import Outcome
from aigon.model.turns import CostStatus, Turn, Usage
from aigon.text.patterns import compile_re

_CRITERION_CHECK = compile_re(r"criterion-\d+", re.ASCII)
_ROUNDING = 1e-9
"""US dollars by which two sums of the same amounts may differ."""


class IterationRecord(Struct, frozen=True):
    """An iteration: its turns (several if one was rate-limited, none for the baseline) and its assessment.

    `invocation` is its index in `History.runs`: a resume has one of its own. `asked` are the findings on the commands
    of criteria; `spend` is what the feature had cost by then; `undone`: the branch went back and no longer holds it.
    """

    look: IterationFinished
    turns: tuple[Turn, ...] = ()
    invocation: int = 0
    asked: tuple[Finding, ...] = ()
    spend: Spend = field(default_factory=Spend)
    undone: bool = False

    @property
    def number(self) -> int:
        """Counted over all runs; 0 is the baseline."""
        return self.look.number

    @property
    def proven(self) -> int:
        """The number of criteria that passed."""
        return sum(verdict.status == "met" for verdict in self.look.verdicts)


class RunRecord(Struct, frozen=True):
    """One invocation of the loop. `heard` is when its last event came."""

    started: RunStarted
    finished: RunFinished | None = None
    heard: str = ""


class History(Struct):
    """All runs of a feature under one label, oldest first. A new run counts iterations from 0 again.

    `steps` are the iterations that count, by their last assessment; `spend` is what turns and judge cost, `statuses`
    how well those amounts are known. `texts` are the criteria by number, as last judged.
    """

    runs: list[RunRecord] = field(default_factory=list)
    steps: list[IterationRecord] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    parked: list[SavedAside] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    statuses: set[CostStatus] = field(default_factory=set)

    @property
    def latest(self) -> tuple[IterationRecord, ...]:
        """The iterations of the last run with its resumes, including those that were undone."""
        first = max((at for at, step in enumerate(self.steps) if step.number == 0), default=0)
        begun = [at for at, run in enumerate(self.runs) if not run.started.resumed]
        fresh = begun[-1] if begun else 0
        return tuple(step for step in self.steps[first:] if step.invocation >= fresh)

    @property
    def started(self) -> RunStarted | None:
        """The first event of the last run."""
        return self.runs[-1].started if self.runs else None

    @property
    def finished(self) -> RunFinished | None:
        """The last event of the last run."""
        return self.runs[-1].finished if self.runs else None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the last run."""
        return self.finished.outcome if self.finished else None

    @property
    def base(self) -> IterationRecord | None:
        """The baseline."""
        return next((step for step in self.steps if step.number == 0), None)

    @property
    def last(self) -> IterationRecord | None:
        """The last assessment of what the branch holds."""
        return next((step for step in reversed(self.steps) if not step.undone), None)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn, oldest first."""
        return tuple(turn for step in self.steps for turn in step.turns)

    @property
    def usage(self) -> Usage | None:
        """Tokens of all turns that reported them; None if none did."""
        usages = [turn.usage for turn in self.turns if turn.usage]
        if not usages:
            return None
        return Usage(sum(u.input for u in usages), sum(u.output for u in usages), sum(u.cached for u in usages))


class _JournalReader(Struct):
    """Reads the journal of one run into the history."""

    history: History
    steps: dict[int, IterationRecord] = field(default_factory=dict)
    turns: dict[int, list[Turn]] = field(default_factory=dict)
    asked: dict[str, Finding] = field(default_factory=dict)
    asked_at: int = 0
    unpaid: bool = False

    def read(self, event: Event) -> None:
        self._track_run(event)
        match event:
            case IterationStarted():
                self.unpaid = True
            case TurnEnded(turn=turn):
                self.turns.setdefault(turn.number, []).append(turn)
                self.unpaid = False
                self._pay(turn.cost, turn.cost_status)
            case MoneySpent():
                self._pay(event.cost, event.status)
            case CheckFinished() if _CRITERION_CHECK.fullmatch(event.finding.check):
                self._add_answer(event)
            case CriterionJudged():
                self.history.texts[event.verdict.criterion] = event.text
            case IterationFinished(number=number):
                # A resume looks again at an iteration that has its commit; only what has one, and the base, counts.
                if number == 0 or event.checkpoint or number in self.steps:
                    self.steps[number] = self._record_iteration(event)
            case RolledBack():
                for number in [each for each in self.steps if each > event.number]:
                    self.steps[number] = replace(self.steps[number], undone=True)
            case RecordRepaired():
                self.history.spend, self.unpaid = self.history.spend.plus(event.usd), False
                self._pay(None, "unknown")
            case SavedAside():
                self.history.parked.append(event)
            case Notice():
                self.history.notices.append(event)

    def _track_run(self, event: Event) -> None:
        """Track the invocation that is under way, and its last event."""
        if isinstance(event, RunStarted):
            self._begin(event)
        elif self.history.runs:
            ended = event if isinstance(event, RunFinished) else self.history.runs[-1].finished
            self.history.runs[-1] = replace(self.history.runs[-1], finished=ended, heard=event.at)

    def _begin(self, event: RunStarted) -> None:
        """Begin an invocation. An earlier run's spending is in its journal; if that is gone, in this event."""
        self.history.runs.append(RunRecord(event, heard=event.at))
        if self.unpaid:  # broken off: it may have cost something, and nobody knows what
            self._pay(None, "unknown")
        self.unpaid = False
        if event.spent_before > self.history.spend.usd + _ROUNDING:
            self.history.spend = Spend(event.spent_before, max(self.history.spend.unknown, event.unknown_before))

    def _pay(self, cost: float | None, status: CostStatus) -> None:
        self.history.spend = self.history.spend.plus(cost)
        self.history.statuses.add("unknown" if cost is None else status)

    def _add_answer(self, event: CheckFinished) -> None:
        if event.number != self.asked_at:
            self.asked, self.asked_at = {}, event.number
        self.asked[event.finding.check] = event.finding

    def _record_iteration(self, look: IterationFinished) -> IterationRecord:
        number, before = look.number, self.steps.get(look.number)
        if before and not look.checkpoint:  # nothing to commit: the commit that is there holds what was looked at
            look = replace(look, checkpoint=before.look.checkpoint)
        return IterationRecord(
            look,
            tuple(self.turns.get(number, ())),
            max(len(self.history.runs) - 1, 0),
            tuple(self.asked.values()) if self.asked_at == number else (),
            self.history.spend,
        )


def build_history(journals: Iterable[Sequence[Event]]) -> History:
    """Return the history that the journals of a feature's runs tell, oldest journal first."""
    history, unpaid = History(), False
    for events in journals:
        reader = _JournalReader(history, unpaid=unpaid)
        for event in events:
            reader.read(event)
        history.steps += [step for _, step in sorted(reader.steps.items())]
        unpaid = reader.unpaid
    return history
