"""A repeated error climbs a rung; the run stops only on the top one."""

import pytest

from aigon.job.assessment import Demand
from aigon.job.escalation import find_step
from aigon.job.options import Limits
from aigon.journal.events import IterationFinished, IterationStarted, RunStarted, TurnEnded
from aigon.journal.state import State
from aigon.loop.decide import decide
from aigon.model.criteria import Criterion, Verdict
from aigon.model.outcomes import Stopped
from aigon.model.resources import Probe
from aigon.model.turns import Turn

DEMAND = Demand((Criterion(1, 1, "it works", False, "verify", "false", 0),))
OPEN = (Verdict(1, "unmet", "verify"),)


def started(resumed: bool = False) -> RunStarted:
    return RunStarted("", "run", "42", "x", "", "mine", "solo", "b", "0" * 40, "0" * 40, "s.md", "", 1, 5, resumed)


def after(state: State, number: int, fingerprint: str, rungs: int) -> State:
    """One more iteration on the rung that the ladder says, ending with this set of failures."""
    rung = find_step(state, [0] * rungs, "mine")
    state = state.apply(IterationStarted("", number, "mine", "", rung, rungs, 0))
    state = state.apply(TurnEnded("", Turn(number, "mine", "", "finished")))
    return state.apply(IterationFinished("", number, "", "c", (), OPEN, (), fingerprint, (number,), ""))


def climbed(fingerprints: str, rungs: int, limits: Limits) -> tuple[list[int], str]:
    """The rung of each iteration (one letter per set of failures), and the guard that ended the run."""
    state, seen = State().apply(started()), []
    for number, name in enumerate(fingerprints, 1):
        state = after(state, number, name, rungs)
        seen.append(state.climbs)
        if outcome := decide(DEMAND, limits, state, Probe()):
            assert isinstance(outcome, Stopped)
            return seen, outcome.guard
    return seen, ""


def limits(iterations: int = 20) -> Limits:
    return Limits(iterations=iterations, repeated_error=3, stall=0)


def test_the_same_error_twice_climbs_a_rung() -> None:
    assert climbed("aabc", 3, limits()) == ([0, 0, 1, 1], "")


def test_new_errors_stay_on_their_rung() -> None:
    assert climbed("abcabc", 3, limits()) == ([0] * 6, "")


def test_a_repeat_that_is_interrupted_by_another_error_climbs_nothing() -> None:
    assert climbed("abab", 2, limits()) == ([0, 0, 0, 0], "")


def test_the_run_stops_only_on_the_top_rung() -> None:
    rungs, guard = climbed("a" * 20, 3, limits())
    assert rungs == [0, 0, 1, 1, 2, 2, 2]
    assert guard == "repeated-error"


def test_without_a_ladder_the_third_repeat_stops_the_run() -> None:
    assert climbed("a" * 20, 1, limits()) == ([0, 0, 0], "repeated-error")


def test_rungs_count_over_the_feature_and_not_over_the_invocation() -> None:
    state = State().apply(started())
    for number in (1, 2, 3):
        state = after(state, number, "a", 3)
    assert state.climbs == 1
    state = after(state.apply(started(resumed=True)), 4, "a", 3)
    assert (state.climbs, state.repeats) == (1, 1)


@pytest.mark.parametrize(
    ("climbs", "repeats", "rung"), [(0, 0, 0), (0, 1, 0), (0, 2, 1), (1, 2, 2), (2, 2, 2), (5, 9, 2)]
)
def test_there_is_no_rung_above_the_top(climbs: int, repeats: int, rung: int) -> None:
    assert find_step(State(heights={"mine": climbs}, repeats=repeats), [0, 0, 0], "mine") == rung
