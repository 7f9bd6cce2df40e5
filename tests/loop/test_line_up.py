"""Who works next, and until when one that cannot is left alone."""

import math

import pytest

from aigon.job.escalation import (
    LONGEST_WAIT,
    AgentStep,
    choose_worker,
    compute_return,
    find_next_step,
    merge_equal_steps,
)
from aigon.job.options import Limits
from aigon.journal.events import IterationFinished, IterationStarted, RunStarted, TurnEnded
from aigon.journal.state import State
from aigon.loop.decide import decide, is_turn_forbidden
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Stopped, Unavailable
from aigon.model.resources import Probe
from aigon.model.turns import Agent, Turn, TurnEnd
from tests.job.test_ladder import DEMAND

NOW = 1_800_000_000.0


def rungs(name: str, *models: str) -> tuple[AgentStep, ...]:
    return tuple(AgentStep(Agent(name, "command", model)) for model in models)


FIRST, OTHER = rungs("first", "a", "b", "c", "d"), rungs("other", "x")


def held(end: TurnEnd = "usage_limit", resets_at: float | None = None) -> Turn:
    return Turn(1, "first", "", end, resets_at=resets_at)


def begun() -> State:
    return State().apply(
        RunStarted("", "run", "42", "x", "", "mine", "solo", "b", "0" * 40, "0" * 40, "s.md", "", 1, 5)
    )


def turn(state: State, agent: str, rung: int, of: int, end: TurnEnd = "finished", cost: float | None = None) -> State:
    number = state.finished + 1
    state = state.apply(IterationStarted("", number, agent, "", rung, of, 0))
    return state.apply(TurnEnded("", Turn(number, agent, "", end, cost=cost)))


def look(state: State, name: str = "same") -> State:
    verdicts = (Verdict(1, "unmet", "verify"),)
    return state.apply(IterationFinished("", state.finished + 1, "", "c", (), verdicts, (), name, (0,), ""))


def test_the_first_that_is_not_away_works_on_a_rung_of_its_own_ladder() -> None:
    state = State(repeats=2)
    assert choose_worker((FIRST, OTHER), state, {}, NOW) == (1, 4, FIRST[1])
    assert choose_worker((FIRST, OTHER), state, {"first": NOW + 1}, NOW) == (0, 1, OTHER[0])
    assert choose_worker((FIRST, OTHER), state, {"first": NOW}, NOW) == (1, 4, FIRST[1])
    assert choose_worker((FIRST, OTHER), state, {"first": math.inf, "other": NOW + 1}, NOW) is None
    assert choose_worker((), state, {}, NOW) is None


def test_one_that_stands_in_neither_climbs_nor_brings_down_the_ladder_of_the_other() -> None:
    state = turn(begun(), "first", 2, 4)
    state = look(turn(state, "other", 0, 1))
    assert find_next_step(state, FIRST) == 2
    assert (state.climbs, state.rungs) == (0, 1)
    longer = look(turn(begun(), "other", 5, 6))
    assert find_next_step(longer, FIRST) == 0


def test_a_stand_in_without_a_ladder_is_ended_by_the_same_error_again_and_again() -> None:
    state = turn(begun(), "first", 0, 4, "usage_limit")
    for _ in range(3):
        state = look(turn(state, "other", 0, 1))
    outcome = decide(DEMAND, Limits(iterations=20, stall=0), state, Probe())
    assert isinstance(outcome, Stopped) and outcome.guard == "repeated-error"


@pytest.mark.parametrize("end", ["usage_limit", "overloaded"])
def test_held_up_again_and_again_uses_up_nothing_and_is_nobodys_failure(end: TurnEnd) -> None:
    state = begun()
    for _ in range(30):
        state = look(turn(state, "first", 0, 4, end))
    assert (state.finished, state.used, state.turns, state.failed_turns, state.stalled) == (30, 0, 0, 0, 0)
    assert find_next_step(state, FIRST) == 0
    assert isinstance(decide(DEMAND, Limits(iterations=1), state, Probe(given_up=True)), Unavailable)


@pytest.mark.parametrize("end", ["bad_credentials", "unavailable", "not_started"])
def test_a_turn_in_which_nobody_worked_counts_for_no_rung(end: TurnEnd) -> None:
    assert look(turn(begun(), "first", 0, 4, end)).turns == 0
    assert look(turn(begun(), "first", 0, 4, "failed")).turns == 1


@pytest.mark.parametrize("resets_at", [None, 0.0, -5.0, NOW, NOW - 1, math.nan])
def test_without_a_moment_to_come_the_patience_grows_and_is_bounded(resets_at: float | None) -> None:
    waits = [compute_return(held(resets_at=resets_at), NOW, 30.0, before) - NOW for before in (0, 1, 2, 10, 5000)]
    assert waits == [30.0, 60.0, 120.0, LONGEST_WAIT, LONGEST_WAIT]


def test_a_moment_is_believed_once_and_then_no_start_comes_too_soon() -> None:
    soon, late = held(resets_at=NOW + 2), held(resets_at=NOW + 7200)
    assert [compute_return(soon, NOW, 30.0, before) - NOW for before in (0, 1, 2)] == [3.0, 60.0, 120.0]
    assert [compute_return(late, NOW, 30.0, before) - NOW for before in (0, 9)] == [7201.0, 7201.0]
    assert compute_return(held(resets_at=math.inf), NOW, 30.0, 0) == math.inf


def test_a_long_first_wait_is_kept_and_what_waiting_cannot_mend_is_for_ever() -> None:
    assert compute_return(held(), NOW, 3600.0, 3) - NOW == 3600.0
    assert compute_return(held("bad_credentials", NOW + 1), NOW, 30.0, 0) == math.inf


def test_no_turn_begins_if_money_or_time_are_spent_or_a_stop_was_asked() -> None:
    state, limits = turn(begun(), "first", 0, 4, "overloaded", cost=1.0), Limits(max_cost=1.0)
    assert is_turn_forbidden(limits, state, Probe())
    assert not is_turn_forbidden(Limits(max_cost=1.1), state, Probe())
    assert is_turn_forbidden(Limits(run_time=10), state, Probe(elapsed=10))
    assert is_turn_forbidden(Limits(), state, Probe(interrupt="SIGINT"))


def test_rungs_that_differ_in_nothing_are_one() -> None:
    agent = Agent("claude", "claude", "opus", "max")
    ladder = (
        AgentStep(agent, 2),
        AgentStep(agent, 1, full=True),
        AgentStep(agent, 2, full=True),
        AgentStep(agent, 0, full=True),
    )
    assert merge_equal_steps(ladder) == (AgentStep(agent, 2), AgentStep(agent, 0, full=True))
    assert merge_equal_steps(ladder[:3]) == (AgentStep(agent, 2), AgentStep(agent, 3, full=True))
    assert merge_equal_steps(FIRST) == FIRST
    assert merge_equal_steps(()) == ()
