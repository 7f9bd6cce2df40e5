"""An arena: how many loops run at a time, how each ended, and what that comes to as one exit code."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aigon.errors import Exit
from aigon.journal.spending import Spend
from aigon.text.amounts import format_dollars, format_duration

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
the documented order. 2 and 1 stand right after 7, for they say the same to a script: a loop could not do what it was
asked to, and no waiting, deciding or paying helps before somebody has looked. 7 comes first since it is about what
all candidates share, then 2, then 1, which is one process alone and is mended by resuming it."""


@dataclass(frozen=True, slots=True)
class Places:
    """How many loops run at a time, and why so many."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What an arena is about to do. `max_cost` is shared by all, in US dollars, and `max_time` by all, in seconds."""

    feature: str
    slug: str
    count: int
    places: Places
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


@dataclass(frozen=True, slots=True)
class Ended:
    """How the run of one candidate ended.

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


@dataclass(frozen=True, slots=True)
class ArenaEnded:
    """How all of them ended, in the order in which they were named."""

    candidates: tuple[Ended, ...]
    exit_code: int

    @property
    def outcome(self) -> str:
        """The status of the candidate that the exit code is of."""
        return next((one.status for one in self.candidates if one.exit_code == self.exit_code), "refused")


def places(count: int, *, wanted: int | None, configured: int | None, cores: int, memory: int | None) -> Places:
    """How many of `count` loops run at a time: as many as a person says, else as the machine can bear.

    `memory` is what is available, in bytes; None where that is unknown.
    """
    if wanted:
        return Places(min(wanted, count), f"--parallel {wanted}")
    if configured:
        return Places(min(configured, count), f"arena.parallel is {configured}")
    by_cores = PER_CORE * cores
    by_memory = count if memory is None else max(1, memory // MEMORY_EACH)
    number = max(1, min(count, by_cores, by_memory))
    return Places(number, _why(number, count, cores, by_memory, memory))


def _why(number: int, count: int, cores: int, by_memory: int, memory: int | None) -> str:
    free = "" if memory is None else f"{memory / GIGABYTE:.1f} GB of memory are available"
    on = f"{cores} core{'' if cores == 1 else 's'}"
    if number >= count:
        return f"{on}, {free}" if free else on
    if number == by_memory:
        return f"{free}, and each needs about {MEMORY_EACH // GIGABYTE} GB"
    return f"{on}, and each is enough for {PER_CORE}"


def exit_code(codes: Sequence[int]) -> int:
    """The exit code of an arena whose loops ended so; a code that is none of aigon's counts as 1."""
    known = {code if code in RANKS else int(Exit.INTERNAL) for code in codes}
    return next((int(code) for code in RANKS if code in known), int(Exit.ENVIRONMENT))


def time_left(deadline: float | None, now: float) -> float | None:
    """Seconds that a loop which starts now may take of the time of all; 0 where it is not worth starting."""
    if deadline is None:
        return None
    left = deadline - now
    return left if left >= LEAST_TIME else 0.0
