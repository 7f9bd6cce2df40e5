"""Where a run stands: the fold of its events, and nothing that is not in them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from aigon.journal.attempts import Attempts
from aigon.journal.durations import Durations, add_duration
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
from aigon.model.outcomes import Outcome, Refused
from aigon.model.resources import PeakUses, update_peak_uses
from aigon.model.turns import Turn


@dataclass(frozen=True, slots=True)
class State:
    """Everything that guards, ladder and prompt ask about the past of a run.

    `began` is when the current iteration (or the look at the base) did; `iteration` is the number of the last turn
    begun; `finished` of the last iteration that has a look at its tree; `used` counts finished iterations against this
    invocation's limit; `failed_turns`, `repeats` and `stalled` are lengths of the current series; `repeats` counts
    iterations in a row with the same `fingerprint`; `climbs` is the rung, from 0, of the last turn begun, on a ladder
    of so many `rungs`; `heights` says by agent which rung it last stood on, since one that stands in has a ladder of
    its own. `told` are the questions that were open at the look before the last, so that an agent has had a turn to
    settle them. `idle` counts iterations on one rung in which nothing got better, `turns` those that an agent worked in
    (it was not held up, locked out or missing); `model` and `effort` are those that were asked for. `tried` is what is
    known of every iteration, `paid` are the turns that said what they cost, `unpriced` names the last agent that did
    not. `earlier` is what runs before this one spent on the feature. `durations` says how long each check took when it
    last ran. `greed` is the most that an iteration took of disk and memory. `looks` are the last looks at the commits
    that the branch can go back to, by iteration, each with its commit as `checkpoint`: none before what a person
    committed. `rolled_back` says that it went back; iterations up to number `undone` are not in the branch
    since, or are of an earlier run.
    `lost`: a part of the record is, and with it what that cost; `regained` are the checkpoints that what is left of it
    still names.
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
    looks: Mapping[int, IterationFinished] = field(default_factory=dict)
    rolled_back: RolledBack | None = None
    undone: int = 0
    lost: bool = False
    regained: tuple[str, ...] = ()

    def apply(self, event: Event) -> "State":
        """The state after `event`."""
        after, tried = self._after(event), self.tried.apply(event)
        if isinstance(event, IterationFinished):
            after = replace(after, looks=self._with_look(event, after.checkpoint))
        if isinstance(event, IterationFinished | TurnEnded) and event.took:
            number = event.turn.number if isinstance(event, TurnEnded) else event.number
            after = replace(after, greed=update_peak_uses(self.greed, event.took, number))
        return after if tried is self.tried else replace(after, tried=tried)

    def _with_look(self, event: IterationFinished, commit: str) -> Mapping[int, IterationFinished]:
        """With a look at a commit. One that committed nothing may be at more than the last commit holds (what was kept
        of a broken-off turn): it takes the place of an older one only where both name the same content."""
        known = self.looks.get(event.number)
        same = known is not None and bool(event.content) and known.content == event.content
        if known and event.number and not event.checkpoint and not same:
            return self.looks
        return {**self.looks, event.number: replace(event, checkpoint=commit)}

    def _after(self, event: Event) -> "State":
        match event:
            case RunStarted():
                return self._begun(event)
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
                return self._turned(event.turn)
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
                return replace(self, last=event, intended=None, checkpoint=event.checkpoint or self.checkpoint)
            case IterationFinished():
                return self._after_iteration(event)
            case RolledBack():
                return self._gone_back(event)
            case RecordRepaired():
                return self._mended(event)
            case RunFinished():
                return replace(self, outcome=event.outcome)
            case _:
                return self

    def _gone_back(self, event: RolledBack) -> "State":
        """As after that iteration, but for what was tried and spent since; numbers of iterations are not given anew."""
        look = self.looks.get(event.number, self.last)
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
            looks={number: each for number, each in self.looks.items() if number <= event.number},
            rolled_back=event,
            outcome=None,
        )

    def _mended(self, event: RecordRepaired) -> "State":
        """As in the middle of a turn of which nothing is known: what it left is nobody's finished work.

        No number is given twice, and the branch goes back to nothing that was meant before.
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

    def _begun(self, event: RunStarted) -> "State":
        """A new invocation: its counts start anew, what is known stays; a broken-off turn is repeated."""
        fresh = replace(self, started=event, began=event.at, used=0, failed_turns=0, repeats=0, stalled=0, outcome=None)
        if self.half_turn:
            unpaid = fresh.spend.plus(None) if self.turn_open else fresh.spend
            fresh = replace(fresh, iteration=self.finished, turn_open=False, spend=unpaid)
        return replace(
            fresh,
            # A turn that was judged already is history: why it failed must not end the next invocation.
            turn=self.turn if self.iteration > self.finished else None,
            unpriced="",
            earlier=Spend(event.spent_before, event.unknown_before),
            checkpoint=event.since or event.head,
            # A person's commits, or a spec that they changed: the branch does not go back before these.
            looks=self.looks if event.head == self.checkpoint else {},
            rolled_back=None,
            undone=max(self.undone, event.earlier_iterations),
            human_ticks=self.human_ticks if event.resumed else event.human_ticks,
        )

    def _turned(self, turn: Turn) -> "State":
        worked = _worked(turn)
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

    def _after_iteration(self, event: IterationFinished) -> "State":
        same = bool(event.fingerprint) and event.fingerprint == self.fingerprint
        better = event.score > self.best
        failed = self.turn is not None and self.turn.failed
        held = self.turn is not None and self.turn.held
        return replace(
            self,
            last=event,
            finished=event.number,
            used=self.used + (0 if held else 1),
            turns=self.turns + (1 if self.turn is None or _worked(self.turn) else 0),
            idle=0 if better else self.idle + (0 if held else 1),
            intended=None,
            checkpoint=event.checkpoint,
            fingerprint=event.fingerprint,
            repeats=self.repeats + (0 if held else 1) if same else 1,
            best=event.score if better else self.best,
            stalled=0 if better else self.stalled + (0 if held else 1),
            told=self.last.questions if self.last else (),
            failed_turns=self.failed_turns + 1 if failed else self.failed_turns if held else 0,
        )

    @property
    def turn_ended(self) -> bool:
        """The agent's turn `iteration` ended by itself, but its tree has no checkpoint yet."""
        return self.iteration > self.finished and self.turn is not None and self.turn.end != "killed"

    @property
    def last_number(self) -> int:
        """The highest number of an iteration that was finished, one that the branch does not hold any more included."""
        return max(self.finished, self.undone)

    @property
    def done(self) -> int:
        """How many iterations this run has finished over its resumes, those that were taken back included."""
        return self.last_number - self._earlier

    @property
    def taken_back(self) -> range:
        """The numbers of the iterations that the branch does not hold any more since it went back."""
        went = self.rolled_back
        return range(max(went.number, self._earlier) + 1, self.undone + 1) if went else range(0)

    @property
    def _earlier(self) -> int:
        return self.started.earlier_iterations if self.started else 0

    @property
    def going_back(self) -> RolledBack | None:
        """What the branch was about to go back to when the run broke off, which may have happened or not."""
        return self.rolled_back if self.outcome is None or isinstance(self.outcome, Refused) else None

    @property
    def unseen(self) -> bool:
        """Commits after the checkpoint may be those of a broken-off turn: no checkpoint was made since it was."""
        since = self.started.since if self.started else ""
        return bool(since) and self.checkpoint == since

    @property
    def half_turn(self) -> bool:
        """A turn was begun and broken off: its edits are nobody's finished work."""
        return self.iteration > self.finished and not self.turn_ended


def _worked(turn: Turn) -> bool:
    """Whether an agent had its turn, whatever came of it."""
    return not turn.held and turn.end not in ("not_started", "bad_credentials")


def replay(events: Iterable[Event]) -> State:
    """The state that a run's events lead to."""
    return reduce(State.apply, events, State())
