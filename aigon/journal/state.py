"""The state of a run: the fold of its events, and nothing that is not in them."""

from collections.abc import Iterable, Mapping
from functools import reduce

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.journal.attempts import Attempts
from aigon.journal.best import Looks
from aigon.journal.events import (
    CheckFinished,
    CommitIntended,
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
from aigon.journal.spending import Paid, Spend
from aigon.journal.tasks import Tasks
from aigon.model.checks import Durations, add_duration
from aigon.model.outcomes import Outcome, Refused
from aigon.model.requests import Requests
from aigon.model.resources import PeakUses, update_peak_uses
from aigon.model.turns import Turn


class State(Struct, frozen=True):
    """The past of a run, as guards, escalation and prompt ask about it.

    `iteration` is the number of the last turn begun, `finished` that of the last assessed one, `used` the count against
    this invocation's limit. `failed_turns`, `repeats` (of one `fingerprint`), `stalled` and `idle` (on one escalation
    step) are lengths of the current series; `turns` counts those in which an agent worked. `climbs` is the escalation
    step of the last turn, from 0, of `rungs`; `heights` are the last steps by agent. `told` are the questions open at
    the assessment before the last: an agent has had a turn to settle them. `put_back` counts by path how often a file
    was put back after a turn. `unpriced` names the last agent that did not
    report its cost, `earlier` is what runs before this one spent. `looks` are the assessments of the commits that the
    branch can go back to, none from before a person's commit. Iterations up to `undone` are not in the
    branch any more, or are of an earlier run. `lost`: a part of the journal is unreadable; `regained` are commits that
    the rest of it names. `requests` are those of agents that are in force, `tasks` the criteria as work to do.
    """

    started: RunStarted | None = None
    began: str = ""
    iteration: int = 0
    finished: int = 0
    used: int = 0
    turn: Turn | None = None
    turn_open: bool = False
    intended: CommitIntended | None = None
    checkpoint: str = ""
    last: IterationFinished | None = None
    base: IterationFinished | None = None
    fingerprint: str = ""
    repeats: int = 0
    climbs: int = 0
    rungs: int = 1
    heights: Mapping[str, int] = field(default_factory=dict)
    best: tuple[int, ...] = ()
    stalled: int = 0
    failed_turns: int = 0
    spend: Spend = field(default_factory=Spend)
    outcome: Outcome | None = None
    human_ticks: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    put_back: Mapping[str, int] = field(default_factory=dict)
    idle: int = 0
    turns: int = 0
    model: str = ""
    effort: str = ""
    tried: Attempts = field(default_factory=Attempts)
    paid: tuple[Paid, ...] = ()
    unpriced: str = ""
    earlier: Spend = field(default_factory=Spend)
    durations: Durations = field(default_factory=dict)
    greed: PeakUses = field(default_factory=dict)
    looks: Looks = field(default_factory=Looks)
    rolled_back: RolledBack | None = None
    undone: int = 0
    lost: bool = False
    regained: tuple[str, ...] = ()
    requests: Requests = field(default_factory=Requests)
    tasks: Tasks = field(default_factory=Tasks)

    def apply(self, event: Event) -> "State":
        """Return the state after `event`."""
        after, tried, tasks = self._after(event), self.tried.apply(event), self.tasks.apply(event)
        if isinstance(event, RolledBack) and after.last:
            tasks = tasks.assess(after.last)
        if isinstance(event, IterationFinished):
            after = replace(after, looks=self._add_look(event, after))
        if isinstance(event, IterationFinished | TurnEnded) and event.took:
            number = event.turn.number if isinstance(event, TurnEnded) else event.number
            after = replace(after, greed=update_peak_uses(self.greed, event.took, number))
        same = tried is self.tried and tasks is self.tasks
        return after if same else replace(after, tried=tried, tasks=tasks)

    def _add_look(self, event: IterationFinished, after: "State") -> Looks:
        """Add the assessment of a commit.

        One that committed nothing may have seen more than the last commit holds (edits of a broken-off turn): it
        replaces an older one only if both name the same content.
        """
        known = self.looks.find(event.number)
        same = known is not None and bool(event.content) and known.content == event.content
        if known and event.number and not event.checkpoint and not same:
            return self.looks
        return self.looks.add(replace(event, checkpoint=after.checkpoint), after.base)

    def _after(self, event: Event) -> "State":
        match event:
            case RunStarted():
                return self._begin(event)
            case IterationStarted():
                higher = event.rung > self.heights.get(event.agent, 0)
                return replace(
                    self,
                    began=event.at,
                    iteration=event.number,
                    turn=None,
                    turn_open=True,
                    climbs=event.rung,
                    rungs=event.rungs,
                    heights={**self.heights, event.agent: event.rung},
                    model=event.model,
                    effort=event.effort,
                    repeats=0 if higher else self.repeats,
                    idle=0 if higher else self.idle,
                )
            case TurnEnded():
                after = self._end_turn(event.turn)
                return replace(after, requests=self.requests.apply(event.requests)) if event.requests else after
            case MoneySpent():
                return replace(self, spend=self.spend.plus(event.cost))
            case CheckFinished(finding=found):
                known = add_duration(self.durations, found.check, found.status, found.duration, cached=found.cached)
                return self if known is self.durations else replace(self, durations=known)
            case CommitIntended():
                return replace(self, intended=event)
            case IterationFinished(number=0):
                return replace(self, last=event, base=event, best=event.score)
            case IterationFinished() if event.number == self.finished:
                # aigon itself made the commits that a repair found again; by now they are assessed.
                seen = self.started.head if self.started and self.started.head in self.regained else self.checkpoint
                return replace(self, last=event, intended=None, checkpoint=event.checkpoint or seen)
            case IterationFinished():
                return self._finish_iteration(event)
            case RolledBack():
                return self._go_back(event)
            case RecordRepaired():
                return self._repair(event)
            case RunFinished():
                return replace(self, outcome=event.outcome)
            case _:
                return self

    def _go_back(self, event: RolledBack) -> "State":
        """Return to that iteration, except for what was tried and spent since. Numbers are not reused."""
        look = self.looks.find(event.number) or self.last
        return replace(
            self,
            checkpoint=event.commit,
            last=look,
            best=look.score if look else (),
            fingerprint=look.fingerprint if look and look.number else "",
            finished=event.number,
            iteration=event.number,
            undone=self.last_number,
            turn=None,
            turn_open=False,
            intended=None,
            looks=self.looks.until(event.number),
            rolled_back=event,
            outcome=None,
        )

    def _repair(self, event: RecordRepaired) -> "State":
        """Continue as if in the middle of an unknown turn, whose edits are unfinished work.

        No number is used twice, and an earlier intention to go back is forgotten.
        """
        finished = max(self.last_number, event.number)
        return replace(
            self,
            iteration=finished + 1,
            finished=finished,
            turn=None,
            turn_open=False,
            intended=None,
            rolled_back=None,
            outcome=None,
            spend=self.spend.plus(event.usd).plus(None),
            lost=True,
            regained=(*self.regained, *event.checkpoints),
        )

    def _begin(self, event: RunStarted) -> "State":
        """Begin an invocation: its counts start anew, and a broken-off turn is repeated."""
        fresh = replace(self, started=event, began=event.at, used=0, failed_turns=0, repeats=0, stalled=0, outcome=None)
        if self.half_turn:
            unpaid = fresh.spend.plus(None) if self.turn_open else fresh.spend
            fresh = replace(fresh, iteration=self.finished, turn_open=False, spend=unpaid)
        return replace(
            fresh,
            # A turn that was judged already is history: why it failed must not end the next invocation.
            turn=self.turn if self.iteration > self.finished else None,
            unpriced="",
            put_back={},
            earlier=Spend(event.spent_before, event.unknown_before),
            checkpoint=event.since or event.head,
            # A person's commits, or a spec that they changed: the branch does not go back before these.
            looks=self.looks if event.head == self.checkpoint else Looks(),
            rolled_back=None,
            undone=max(self.undone, event.earlier_iterations),
            human_ticks=self.human_ticks if event.resumed else event.human_ticks,
            requests=(self.requests.resume() if self.outcome else self.requests).apply(event.requests),
        )

    def _end_turn(self, turn: Turn) -> "State":
        worked = has_worked(turn)
        known = (Paid(turn.agent, self.model, turn.cost),) if worked and turn.cost is not None else ()
        silent = worked and turn.cost is None and turn.end != "killed"
        return replace(
            self,
            turn=turn,
            turn_open=False,
            spend=self.spend.plus(turn.cost),
            paid=(*self.paid, *known),
            unpriced=turn.agent if silent else self.unpriced,
        )

    def _finish_iteration(self, event: IterationFinished) -> "State":
        same = bool(event.fingerprint) and event.fingerprint == self.fingerprint
        better = event.score > self.best
        failed = self.turn is not None and self.turn.failed
        held = self.turn is not None and self.turn.held
        return replace(
            self,
            last=event,
            finished=event.number,
            used=self.used + (0 if held else 1),
            turns=self.turns + (1 if self.turn is None or has_worked(self.turn) else 0),
            idle=0 if better else self.idle + (0 if held else 1),
            intended=None,
            checkpoint=event.checkpoint,
            fingerprint=event.fingerprint,
            repeats=self.repeats + (0 if held else 1) if same else 1,
            best=event.score if better else self.best,
            stalled=0 if better else self.stalled + (0 if held else 1),
            told=self.last.questions if self.last else (),
            put_back={**self.put_back, **{p.path: self.put_back.get(p.path, 0) + 1 for p in event.put_back}},
            failed_turns=self.failed_turns + 1 if failed else self.failed_turns if held else 0,
            requests=self.requests.settle(),
        )

    @property
    def turn_ended(self) -> bool:
        """True if the turn `iteration` ended by itself and has no commit yet."""
        return self.iteration > self.finished and self.turn is not None and self.turn.end != "killed"

    @property
    def worked(self) -> bool:
        """True if an agent has had a turn, be it the one that is now assessed."""
        had_turn = self.used > 0 or self.turns > 0
        return had_turn or (self.turn_ended and self.turn is not None and not self.turn.held)

    @property
    def last_number(self) -> int:
        """The highest number of a finished iteration, including those that were undone."""
        return max(self.finished, self.undone)

    @property
    def done(self) -> int:
        """The number of iterations that this run finished over its resumes, including those that were undone."""
        return self.last_number - self._earlier

    @property
    def taken_back(self) -> range:
        """The numbers of the iterations that the branch lost when it went back."""
        went = self.rolled_back
        return range(max(went.number, self._earlier) + 1, self.undone + 1) if went else range(0)

    @property
    def _earlier(self) -> int:
        return self.started.earlier_iterations if self.started else 0

    @property
    def going_back(self) -> RolledBack | None:
        """The way back that was intended when the run broke off, which may have happened or not."""
        return self.rolled_back if self.outcome is None or isinstance(self.outcome, Refused) else None

    @property
    def unseen(self) -> bool:
        """True if commits after the last iteration commit may be those of a broken-off turn."""
        since = self.started.since if self.started else ""
        return bool(since) and self.checkpoint == since

    @property
    def half_turn(self) -> bool:
        """True if a turn was broken off: its edits are unfinished work."""
        return self.iteration > self.finished and not self.turn_ended


def has_worked(turn: Turn) -> bool:
    """Return whether an agent had its turn, whatever came of it."""
    return not turn.held and turn.end not in ("not_started", "bad_credentials")


def replay(events: Iterable[Event]) -> State:
    """Fold the events of a run."""
    return reduce(State.apply, events, State())
