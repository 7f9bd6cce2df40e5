"""Where a run stands is the fold of its events, and nothing else."""

import json
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from aigon.errors import Exit
from aigon.journal.events import (
    CommitIntended,
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    Notice,
    RolledBack,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.replay import decode, dumps
from aigon.journal.spending import Spend
from aigon.journal.state import State, replay
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Stopped
from aigon.model.turns import Turn, TurnEnd

A, B = "a" * 40, "b" * 40


def started(resumed: bool = False, head: str = A, ticks: tuple[str, ...] = ()) -> RunStarted:
    return RunStarted(
        "t0", "run", "42", "x", "", "mine", "solo", "branch", A, head, "s.md", "sha", 2, 5, resumed, False, ticks
    )


def begun(number: int, rung: int = 0) -> IterationStarted:
    return IterationStarted(f"t{number}", number, "mine", "", rung, 3, 100)


def turned(number: int, end: TurnEnd = "finished", cost: float | None = None) -> TurnEnded:
    return TurnEnded("", Turn(number, "mine", "", end, cost=cost))


def looked(
    number: int, *, checkpoint: str = B, fingerprint: str = "f", score: tuple[int, ...] = (0, 0, 0)
) -> IterationFinished:
    return IterationFinished(
        "", number, "", checkpoint, (), (Verdict(1, "unmet", "verify"),), (), fingerprint, score, "digest"
    )


def iteration(number: int, end: TurnEnd = "finished", **how: object) -> list[Event]:
    finished = replace(looked(number), **how)
    return [begun(number), turned(number, end), finished]


def folded(*parts: Event | list[Event]) -> State:
    return replay([event for part in parts for event in (part if isinstance(part, list) else [part])])


def test_the_look_at_the_base_is_no_iteration() -> None:
    base = looked(0, checkpoint="", score=(1, 2, 3))
    state = folded(started(), base)
    assert (state.last, state.base, state.best) == (base, base, (1, 2, 3))
    assert (state.finished, state.used, state.repeats, state.checkpoint) == (0, 0, 0, A)


def test_an_iteration_counts_and_its_commit_is_the_checkpoint() -> None:
    state = folded(started(), looked(0, checkpoint=""), iteration(1))
    assert (state.iteration, state.finished, state.used, state.checkpoint) == (1, 1, 1, B)
    assert not state.turn_ended and not state.half_turn


def test_numbers_continue_after_those_of_earlier_runs() -> None:
    again = folded(replace(started(), earlier_iterations=3), looked(0, checkpoint=""))
    assert (again.last_number, again.finished, again.done) == (3, 0, 0)
    after = replay([replace(started(), earlier_iterations=3), looked(0, checkpoint=""), *iteration(4), *iteration(5)])
    assert (after.last_number, after.used, after.done) == (5, 2, 2)
    back = after.apply(RolledBack("", 0, A, B, "refs/aigon/parked/x", "better"))
    assert (back.last_number, back.done, list(back.taken_back)) == (5, 2, [4, 5])
    assert back.apply(replace(started(resumed=True), earlier_iterations=3)).last_number == 5


def test_the_same_error_is_counted_in_a_row_from_the_first_turn_on() -> None:
    base = looked(0, checkpoint="", fingerprint="same")
    same = [iteration(n, fingerprint="same") for n in (1, 2, 3)]
    assert [folded(started(), base, *same[:n]).repeats for n in (0, 1, 2, 3)] == [0, 1, 2, 3]
    assert folded(started(), base, *same, iteration(4, fingerprint="other")).repeats == 1


def test_nothing_failing_twice_is_no_repeated_error() -> None:
    assert folded(started(), *(iteration(n, fingerprint="") for n in (1, 2))).repeats == 1


def test_a_higher_rung_starts_the_count_of_repeats_anew() -> None:
    state = folded(started(), iteration(1), iteration(2))
    assert state.repeats == 2
    assert state.apply(begun(3, rung=1)).repeats == 0
    assert state.apply(begun(3, rung=0)).repeats == 2


def test_no_progress_is_counted_against_the_best_look_so_far() -> None:
    scores = [(1, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 1)]
    looks = [iteration(n, score=score) for n, score in enumerate(scores, 1)]
    base = looked(0, checkpoint="", score=(0, 5, 5))
    assert [folded(started(), base, *looks[:n]).stalled for n in (1, 2, 3, 4)] == [0, 1, 2, 0]


def test_failed_turns_are_counted_in_a_row() -> None:
    ends: list[TurnEnd] = ["failed", "timed_out", "not_started", "finished", "failed"]
    turns = [iteration(n, end) for n, end in enumerate(ends, 1)]
    assert [folded(started(), *turns[:n]).failed_turns for n in range(1, 6)] == [1, 2, 3, 0, 1]


def test_money_adds_up_and_what_is_unknown_is_counted_apart() -> None:
    state = folded(
        started(), begun(1), turned(1, cost=0.5), MoneySpent("", 1, "judge", 0.25, "estimated"), looked(1), begun(2)
    )
    assert state.spend == Spend(0.75, 0)
    assert state.apply(turned(2, cost=None)).spend == Spend(0.75, 1)


def test_a_resume_restarts_the_counts_and_keeps_what_is_known() -> None:
    failing = [iteration(n, "failed", fingerprint="same") for n in (1, 2)]
    end = RunFinished("", Stopped("iterations", "2 of 2", Exit.STOPPED), "stopped", 3, "", B)
    before = folded(started(), looked(0, checkpoint=""), *failing, MoneySpent("", 2, "judge", 1.0, "reported"), end)
    after = before.apply(started(resumed=True, head=B))
    assert (before.used, before.failed_turns, before.repeats, before.stalled) == (2, 2, 2, 2)
    assert (after.used, after.failed_turns, after.repeats, after.stalled, after.outcome) == (0, 0, 0, 0, None)
    assert (after.finished, after.iteration, after.climbs) == (2, 2, before.climbs)
    assert (after.spend, after.best, after.last, after.base) == (before.spend, before.best, before.last, before.base)


def test_why_the_last_turn_failed_does_not_end_the_next_invocation() -> None:
    before = folded(started(), iteration(1, "unavailable"))
    assert before.turn is not None and before.turn.end == "unavailable"
    assert before.apply(started(resumed=True)).turn is None


def test_a_turn_that_was_not_judged_yet_is_kept_over_a_resume() -> None:
    state = folded(started(), iteration(1), begun(2), turned(2), started(resumed=True))
    assert state.turn_ended and state.turn is not None and state.turn.number == 2


def test_a_look_of_a_resume_at_a_finished_iteration_counts_nothing() -> None:
    before = folded(started(), iteration(1), iteration(2), started(resumed=True))
    after = before.apply(looked(2, checkpoint=""))
    assert (after.used, after.finished, after.repeats, after.checkpoint) == (0, 2, before.repeats, before.checkpoint)
    assert after.apply(looked(2, checkpoint="c" * 40)).checkpoint == "c" * 40


def test_a_person_ticks_at_the_start_and_an_agent_never() -> None:
    state = folded(started(ticks=("it looks good",)), iteration(1), started(resumed=True, ticks=("x", "y")))
    assert state.human_ticks == ("it looks good",)


def test_a_turn_that_was_begun_is_half_until_it_ends_by_itself() -> None:
    state = folded(started(), begun(1))
    assert state.half_turn and state.turn_open and not state.turn_ended
    killed, ended = state.apply(turned(1, "killed")), state.apply(turned(1, "failed"))
    assert killed.half_turn and not killed.turn_ended
    assert ended.turn_ended and not ended.half_turn and not ended.turn_open


def test_an_intention_is_remembered_until_it_has_happened() -> None:
    intended = CommitIntended("", 1, B, A, "branch", looked(1))
    state = folded(started(), begun(1), turned(1), intended)
    assert state.intended == intended
    assert state.apply(looked(1)).intended is None


def test_what_is_only_for_people_changes_nothing() -> None:
    state = folded(started(), iteration(1))
    assert state.apply(Notice("", "hello")) is state


NUMBERS = st.integers(0, 4)
ENDS = st.sampled_from(["finished", "failed", "timed_out", "not_started", "killed", "unavailable"])
SCORES = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 9))
COSTS = st.none() | st.floats(0, 10)
LOOKS = st.builds(
    lambda n, c, f, s: looked(n, checkpoint=c, fingerprint=f, score=s),
    NUMBERS,
    st.sampled_from(["", A, B]),
    st.sampled_from(["", "x", "y"]),
    SCORES,
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(started, st.booleans(), st.sampled_from([A, B]), st.lists(st.text(max_size=3), max_size=2).map(tuple)),
    st.builds(begun, NUMBERS, st.integers(0, 2)),
    st.builds(turned, NUMBERS, ENDS, COSTS),
    LOOKS,
    st.builds(lambda c: MoneySpent("", 1, "judge", c, "estimated"), COSTS),
    LOOKS.map(lambda one: CommitIntended("", one.number, B, A, "branch", one)),
    st.just(RunFinished("", Stopped("stall", "no progress"), "stopped", 3, "", B)),
)


@given(st.lists(EVENTS, max_size=12))
def test_events_that_went_through_the_journal_fold_to_the_same_state(events: list[Event]) -> None:
    written = [decode(json.loads(dumps(event))) for event in events]
    assert replay(written) == replay(events)


@given(st.lists(EVENTS, max_size=12), st.integers(0, 12))
def test_a_fold_may_be_taken_up_anywhere(events: list[Event], at: int) -> None:
    assert reduce(State.apply, events[at:], replay(events[:at])) == replay(events)


@given(st.lists(EVENTS, max_size=20))
def test_spend_and_checkpoints_are_never_lost(events: list[Event]) -> None:
    state = State()
    for event in events:
        after = state.apply(event)
        assert after.spend.usd >= state.spend.usd and after.spend.unknown >= state.spend.unknown
        assert bool(after.checkpoint) or not state.checkpoint or isinstance(event, IterationFinished)
        state = after
