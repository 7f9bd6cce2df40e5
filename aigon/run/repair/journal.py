"""A damaged journal is kept, and written anew from its sound beginning: nothing that comes after is guessed.

What is left of the lost lines tells two things all the same, since neither can make a run seem better than it is: what
turns cost, and which numbers iterations had.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.files.store import as_line, keep_damaged, sound_lines, sync_folder, write_atomic
from aigon.git.person import Checkout
from aigon.journal.codec import dumps
from aigon.journal.events import (
    CheckpointIntended,
    Event,
    IterationFinished,
    RecordMended,
    RunStarted,
    Spent,
    TurnEnded,
)
from aigon.journal.order import impossible
from aigon.journal.sink import decoded
from aigon.journal.state import State, replay
from aigon.model.diagnosis import RepairedRecord

WHAT = "journal"
LARGEST = 100_000
"""No iteration has a higher number: a commit that claims one was not made by aigon."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A journal: its lines, the events of its `sound` beginning, and the `others` that still can be read after that."""

    lines: Sequence[bytes]
    sound: Sequence[Event]
    others: Sequence[Event]

    @property
    def whole(self) -> bool:
        """Whether nothing is lost."""
        return len(self.sound) == len(self.lines)


def parts(path: Path) -> Parts:
    """The parts of a journal. Raises AigonError (exit 7) where any line of it is from a newer version."""
    data = path.read_bytes()
    documents = sound_lines(data)
    found = iter(decoded((each for each in documents if each is not None), path))
    events = [None if document is None else next(found) for document in documents]
    cut = next((at for at, event in enumerate(events) if event is None), len(events))
    beginning = [event for event in events[:cut] if event is not None]
    wrong = impossible(beginning)
    cut = cut if wrong is None else wrong
    return Parts(data.split(b"\n")[:-1], beginning[:cut], [event for event in events[cut:] if event is not None])


def mended(path: Path, checkout: Checkout, now: str) -> RepairedRecord | None:
    """Write a damaged journal anew; what was done, None where it is whole.

    Raises AigonError (exit 7) for one from a newer version.
    """
    found = parts(path)
    if found.whole:
        return None
    kept = keep_damaged(path)
    if not found.sound:
        path.unlink()
        sync_folder(path.parent)
        how = (
            "not even its first event can be read: the next --loop looks at the tree afresh, what was spent is unknown"
        )
        return RepairedRecord(WHAT, str(path), str(kept), how)
    state = replay(list(found.sound))
    published = _published(state, checkout)
    mark = _mark(found, state, checkout, kept, now)
    added = b"".join(as_line(dumps(event)) for event in (*published, mark))
    write_atomic(path, b"".join(line + b"\n" for line in found.lines[: len(found.sound)]) + added, lasting=True)
    return RepairedRecord(WHAT, str(path), str(kept), _how(mark))


def _how(mark: RecordMended) -> str:
    of = f" of after {mark.since}" + (f", up to {mark.until}" if mark.until else "") if mark.since else ""
    return (
        f"written anew from its sound beginning; {mark.lost} lines{of} are lost, and what they cost is unknown; "
        "--resume goes on from the branch"
    )


def _published(state: State, checkout: Checkout) -> tuple[Event, ...]:
    """The iteration whose commit was intended in the last sound lines, if the branch has it."""
    intended = state.intended
    tip = checkout.commit_of(f"refs/heads/{state.started.branch}") if intended and state.started else None
    if not (intended and tip and checkout.commit_of(intended.commit) and checkout.is_ancestor(intended.commit, tip)):
        return ()
    return (intended.finished,)


def _mark(found: Parts, state: State, checkout: Checkout, kept: Path, now: str) -> RecordMended:
    return RecordMended(
        at=now,
        number=max((*_numbers(found.others), *committed(state.started, checkout), 0)),
        lost=len(found.lines) - len(found.sound),
        since=found.sound[-1].at,
        until=found.others[-1].at if found.others else "",
        usd=sum(map(_cost, found.others)),
        kept_as=kept.name,
        checkpoints=tuple(event.commit for event in found.others if isinstance(event, CheckpointIntended)),
    )


def _cost(event: Event) -> float:
    match event:
        case TurnEnded(turn=turn):
            return turn.cost or 0.0
        case Spent(cost=usd):
            return usd or 0.0
        case _:
            return 0.0


def _numbers(events: Iterable[Event]) -> list[int]:
    """The numbers of iterations that were finished, or whose commit was about to be published."""
    return [event.number for event in events if isinstance(event, (IterationFinished, CheckpointIntended))]


def committed(started: RunStarted | None, checkout: Checkout) -> list[int]:
    """The numbers of this run's iterations that commits of the branch name. They identify, they prove nothing."""
    if started is None:
        return []
    key: Callable[[str], str] = lambda name: f"%(trailers:key=Aigon-{name},valueonly,separator=%x20)"  # noqa: E731
    span = ("--max-count=10000", f"refs/heads/{started.branch}", f"^{started.base_commit}")
    told = checkout.ask("rev-list", f"--format={key('Run')} {key('Iteration')}", *span) or ""
    pairs = [line.split() for line in told.splitlines() if not line.startswith("commit ")]
    own = [pair[1] for pair in pairs if len(pair) == 2 and pair[0] == started.run_id]
    return [int(number) for number in own if number.isdecimal() and len(number) <= len(str(LARGEST))]
