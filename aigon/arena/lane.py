"""The lanes of an arena: how many run at a time, what each has done, how each ended, and one exit code for all."""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import Exit
from aigon.journal.events import (
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.spending import Spend
from aigon.model.agents import Candidate
from aigon.model.outcomes import describe_outcome
from aigon.text.amounts import format_dollars, format_duration
from aigon.text.quoting import fold

GIGABYTE = 1024**3
MEMORY_EACH = GIGABYTE
"""Bytes of available memory that one more loop needs. An allowance and no measurement but for the least part of it:
aigon itself held 50 MB in a trial; the agent's program and the tests of its candidate take some hundreds each."""
PER_CORE = 2
"""Loops for each core: agents mostly wait for the network, and the checks of all loops have slots of their own."""
LEAST_TIME = 1.0
"""Seconds below which a loop is not started: it could only say that its time is over."""

RANKS = (
    Exit.MET,
    Exit.INTERRUPTED,
    Exit.TERMINATED,
    Exit.ENVIRONMENT,
    Exit.USAGE,
    Exit.INTERNAL,
    Exit.UNAVAILABLE,
    Exit.SPENT,
    Exit.NEEDS_HUMAN,
    Exit.STOPPED,
)
"""The exit code of an arena is the first of these that a candidate has: one proven candidate is enough, and the rest is
the documented order. 2 and 1 come right after 7, as they say the same to a script: a loop could not do what it was
asked to, and no waiting, deciding or paying helps before a person has looked. 7 comes first since it is about what
all candidates share, then 2, then 1, which is one process alone and is fixed by resuming it."""


class Parallelism(Struct, frozen=True):
    """The number of loops that run at a time, and the reason for it."""

    number: int
    why: str


class ArenaPlan(Struct, frozen=True):
    """The plan of an arena. `max_cost` is shared by all, in US dollars, and `max_time` by all, in seconds."""

    feature: str
    slug: str
    count: int
    places: Parallelism
    max_cost: float | None = None
    max_time: float | None = None

    @property
    def said(self) -> str:
        """`3 agents, 2 at a time: --parallel 2`."""
        at_a_time = "all at once" if self.places.number >= self.count else f"{self.places.number} at a time"
        return f"{self.count} agents, {at_a_time}: {self.places.why}"

    @property
    def limits(self) -> str:
        """`$5.00 and 2h 00m for all together`; empty without a limit."""
        shared = [format_dollars(self.max_cost)] if self.max_cost else []
        shared += [format_duration(self.max_time)] if self.max_time else []
        return f"{' and '.join(shared)} for all together" if shared else ""


class LaneEnd(Struct, frozen=True):
    """The end of one candidate's run.

    `status` is that of its outcome, `broken_off` where its process died without one, `not_started` where it never had
    a place. `summary` is one sentence, `hint` what its refusal says is to be done, `seconds` how long it ran in this
    arena, `resumable` whether it can go on, `own_word` whether the run itself said so.
    """

    label: str
    agent: str
    branch: str
    status: str
    exit_code: int
    summary: str
    criteria_met: int = 0
    criteria_total: int = 0
    iterations: int = 0
    spend: Spend = field(default_factory=Spend)
    seconds: float = 0.0
    commit: str = ""
    resumable: bool = False
    own_word: bool = True
    hint: str = ""


class ArenaEnd(Struct, frozen=True):
    """The ends of all runs, in the order in which the agents were named."""

    candidates: tuple[LaneEnd, ...]
    exit_code: int

    @property
    def outcome(self) -> str:
        """The status of the candidate that the exit code is of."""
        return next((one.status for one in self.candidates if one.exit_code == self.exit_code), "refused")


def choose_parallelism(
    count: int, *, wanted: int | None, configured: int | None, cores: int, memory: int | None
) -> Parallelism:
    """Return how many of `count` loops run at a time: as many as a person says, else as the machine can bear.

    `memory` is what is available, in bytes; None if that is unknown.
    """
    if wanted:
        return Parallelism(min(wanted, count), f"--parallel {wanted}")
    if configured:
        return Parallelism(min(configured, count), f"arena.parallel is {configured}")
    by_cores = PER_CORE * cores
    by_memory = count if memory is None else max(1, memory // MEMORY_EACH)
    number = max(1, min(count, by_cores, by_memory))
    return Parallelism(number, _explain_parallelism(number, count, cores, by_memory, memory))


def _explain_parallelism(number: int, count: int, cores: int, by_memory: int, memory: int | None) -> str:
    free = "" if memory is None else f"{memory / GIGABYTE:.1f} GB of memory are available"
    on = f"{cores} core{'' if cores == 1 else 's'}"
    if number >= count:
        return f"{on}, {free}" if free else on
    if number == by_memory:
        return f"{free}, and each needs about {MEMORY_EACH // GIGABYTE} GB"
    return f"{on}, and each is enough for {PER_CORE}"


def combine_exit_codes(codes: Sequence[int]) -> int:
    """Return the exit code of an arena whose loops ended so; a code that aigon does not use counts as 1."""
    known = {code if code in RANKS else int(Exit.INTERNAL) for code in codes}
    return next((int(code) for code in RANKS if code in known), int(Exit.ENVIRONMENT))


def compute_time_left(deadline: float | None, now: float) -> float | None:
    """Return the seconds that a loop may take if it starts now; 0 if it is not worth starting."""
    if deadline is None:
        return None
    left = deadline - now
    return left if left >= LEAST_TIME else 0.0


_BY_SIGNAL = {"SIGINT": int(Exit.INTERRUPTED), "SIGTERM": int(Exit.TERMINATED), "SIGHUP": int(Exit.TERMINATED)}
"""Exit codes of processes that a signal ended before they could answer it."""
_WITHOUT_A_WORD = {
    int(Exit.INTERRUPTED): "interrupted",
    int(Exit.TERMINATED): "interrupted",
    int(Exit.USAGE): "refused",
    int(Exit.ENVIRONMENT): "refused",
    int(Exit.UNAVAILABLE): "unavailable",
}
"""What an exit code says of a loop that wrote no last event. Any other, 0 too, is no end that aigon knows."""


class Lane(Struct, frozen=True):
    """One candidate. `spend`, `iterations`, `met` and `finished` begin with what earlier invocations of a resumed run
    came to; `finished` is None where there were none. `looked` says that its base has been looked at, `hint` what is
    to be done where it was refused.
    """

    candidate: Candidate
    met: int = 0
    total: int = 0
    iterations: int = 0
    finished: int | None = None
    spend: Spend = field(default_factory=Spend)
    commit: str = ""
    looked: bool = False
    end: RunFinished | None = None
    hint: str = ""

    @property
    def label(self) -> str:
        return self.candidate.label

    def apply(self, event: Event) -> "Lane":
        match event:
            case RunStarted():
                return replace(self, total=event.criteria_total)
            case IterationStarted():
                return replace(self, iterations=event.number)
            case TurnEnded():
                return replace(self, spend=self.spend.plus(event.turn.cost))
            case MoneySpent():
                return replace(self, spend=self.spend.plus(event.cost))
            case IterationFinished():
                return self._add_look(event)
            case RunFinished():
                return replace(self, end=event, commit=event.commit or self.commit)
            case _:
                return self

    def _add_look(self, event: IterationFinished) -> "Lane":
        met = sum(verdict.status == "met" for verdict in event.verdicts)
        total = len(event.verdicts) or self.total
        return replace(self, met=met, total=total, commit=event.checkpoint or self.commit, looked=True)

    def finish(self, code: int, *, killed_by: str, last_words: str, why: str, seconds: float) -> LaneEnd:
        """Return how it ended: by its own word, or else by how its process did. `why` says who ended it."""
        if self.end is None:
            return self._end_broken_off(code, killed_by, last_words, why, seconds)
        said = f"ended: {why}" if why and self.end.status != "met" else describe_outcome(self.end.outcome)
        # Nothing is to be resumed of a run that never began.
        again = self.end.status not in ("met", "needs_human") and bool(self.total)
        own = not said.startswith("ended: ")
        return self._make_end(self.end.status, self.end.exit_code, said, seconds, resumable=again, own_word=own)

    def not_started(self, code: int, why: str) -> LaneEnd:
        return self._make_end("not_started", code, f"not started: {why}", 0.0, resumable=self.finished is not None)

    def _end_broken_off(self, code: int, killed_by: str, last_words: str, why: str, seconds: float) -> LaneEnd:
        own = _BY_SIGNAL.get(killed_by, code)
        status = _WITHOUT_A_WORD.get(own, "broken_off")
        how = (
            f"{status.replace('_', ' ')} by {killed_by}"
            if killed_by
            else f"{status.replace('_', ' ')}, exit code {code}"
        )
        said = f"ended: {why}" if why else f"{how}: {fold(last_words)}" if last_words else how
        known = own if own in _WITHOUT_A_WORD else int(Exit.INTERNAL)
        return self._make_end(status, known, said, seconds, resumable=bool(self.total or self.finished))

    def _make_end(
        self, status: str, code: int, said: str, seconds: float, *, resumable: bool, own_word: bool = False
    ) -> LaneEnd:
        return LaneEnd(
            self.label,
            self.candidate.agent,
            self.candidate.branch,
            status,
            code,
            said,
            criteria_met=self.met,
            criteria_total=self.total,
            iterations=self.iterations,
            spend=self.spend,
            seconds=seconds,
            commit=self.commit,
            resumable=resumable,
            own_word=own_word,
            hint=self.hint,
        )
