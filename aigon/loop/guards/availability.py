"""The guard of those who work: the agent, or the judge if only its word is missing."""

from aigon.job.options import Limits
from aigon.journal.state import State
from aigon.model.judging import JUDGE_BROKEN, JUDGE_UNAVAILABLE
from aigon.model.outcomes import Outcome, Unavailable
from aigon.model.resources import Probe
from aigon.model.turns import TEMPORARY_ENDS
from aigon.text.amounts import format_epoch

AWAY = (*TEMPORARY_ENDS, "bad_credentials")
"""Ends of a turn after which the agent cannot work, at least for now."""


def unavailable(_limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """The agent said itself that it cannot work, or only the judge is left and it cannot: credentials, usage limit."""
    turn = state.turn
    if turn is not None and turn.end in AWAY and turn.number == state.iteration and probe.given_up:
        when = format_epoch(turn.resets_at) if turn.resets_at is not None else ""
        return Unavailable(turn.agent, f"{f'until {when}: ' if when else ''}{turn.detail or 'it cannot run'}")
    open_ = [v for v in state.last.verdicts if v.status != "met"] if state.last else []
    if broken := next((v for v in open_ if v.method == JUDGE_BROKEN), None):
        return Unavailable("the judge", broken.reason)
    lost = [v for v in open_ if v.method == JUDGE_UNAVAILABLE]
    if not lost or any(v.status != "unclear" for v in open_):
        return None
    return Unavailable("the judge", lost[0].reason)


GUARDS = {40: unavailable}
