"""What the journal of a run comes to, from one reading of it: the events themselves are not kept in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from aigon.journal.events import Event
from aigon.journal.state import State
from aigon.journal.state_file import Iterations
from aigon.journal.step_sink import Turns


@dataclass(frozen=True, slots=True)
class Past:
    """The state that the events so far led to, and what the sinks of a run that goes on have to know of them."""

    state: State = field(default_factory=State)
    iterations: Iterations = field(default_factory=Iterations)
    turns: Turns = field(default_factory=Turns)


def past_of(events: Iterable[Event]) -> Past:
    """What these events come to, oldest first; each is let go of before the next one is asked for."""
    state, iterations, turns = State(), Iterations(), Turns()
    for event in events:
        state = state.apply(event)
        iterations.take(event)
        turns.take(event)
    return Past(state, iterations, turns)
