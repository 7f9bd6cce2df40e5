"""What becomes of the branch after a run that stopped short: what a person wants, and when it is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aigon.errors import Exit
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped


def _nobody(_question: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RollbackPolicy:
    """`keep` leaves the branch as it is, `rollback` goes back to the best checkpoint, `ask` asks by `confirm`.

    Where nobody can be asked, `confirm` says no, and the branch stays as it is.
    """

    wanted: Literal["keep", "rollback", "ask"] = "keep"
    confirm: Callable[[str], bool] = _nobody


def has_stopped_short(outcome: Outcome, state: State) -> bool:
    """Whether the run got as far as it could and that was not all.

    Not where the last turn has not been judged: a resume does that. Not where a person asked for the end (a signal, a
    stop file) or where nobody could work or judge: that goes on from the very same place, and what waits for a judge is
    not known to be worse. Not either where a person is to look at what there is, or where there is no room to write
    (exit 7).
    """
    if not isinstance(outcome, Stopped) or state.iteration > state.finished:
        return False
    return outcome.code in (Exit.STOPPED, Exit.SPENT) and outcome.guard != "stop-file"
