"""What an arena decides: how many loops at a time, what their ends come to, what is left of the time."""

from itertools import permutations

import pytest

from aigon.arena.lane import (
    GIGABYTE,
    ArenaEnd,
    ArenaPlan,
    Lane,
    LaneEnd,
    Parallelism,
    choose_parallelism,
    combine_exit_codes,
    compute_time_left,
)
from aigon.journal.events import Event, RunFinished
from aigon.model.agents import Candidate
from aigon.model.outcomes import Met, NeedsHuman
from tests.views.story import story

CC = Candidate("42", "dark-mode", "cc", "claude", "arena", 1, "feature-42-cc-dark-mode", "/w/cc")


def at_a_time(count: int, cores: int, memory: float | None) -> Parallelism:
    """How many the machine bears, with memory in gigabytes."""
    free = None if memory is None else int(memory * GIGABYTE)
    return choose_parallelism(count, wanted=None, configured=None, cores=cores, memory=free)


@pytest.mark.parametrize(
    ("count", "cores", "memory", "number"),
    [(3, 2, 8.0, 3), (3, 2, 2.4, 2), (3, 2, 0.2, 1), (5, 2, 64.0, 4), (3, 1, None, 2), (2, 64, 64.0, 2)],
)
def test_as_many_run_as_memory_and_cores_allow(count: int, cores: int, memory: float | None, number: int) -> None:
    assert at_a_time(count, cores, memory).number == number


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (at_a_time(3, 2, 8.0), "3 agents, all at once: 2 cores, 8.0 GB of memory are available"),
        (at_a_time(3, 2, 2.4), "3 agents, 2 at a time: 2.4 GB of memory are available, and each needs about 1 GB"),
        (at_a_time(3, 1, None), "3 agents, 2 at a time: 1 core, and each is enough for 2"),
        (choose_parallelism(3, wanted=2, configured=1, cores=8, memory=None), "3 agents, 2 at a time: --parallel 2"),
        (
            choose_parallelism(3, wanted=None, configured=9, cores=1, memory=1),
            "3 agents, all at once: arena.parallel is 9",
        ),
    ],
)
def test_how_many_and_why_is_said(plan: Parallelism, said: str) -> None:
    assert ArenaPlan("42", "dark-mode", 3, plan).said == said


def test_limits_are_said_to_be_shared() -> None:
    one = Parallelism(1, "")
    assert ArenaPlan("42", "x", 2, one, max_cost=5.0, max_time=7200.0).limits == "$5.00 and 2h 00m for all together"
    assert ArenaPlan("42", "x", 2, one).limits == ""


def test_one_that_is_proven_is_enough() -> None:
    for codes in permutations((0, 130, 7, 3)):
        assert combine_exit_codes(codes) == 0


@pytest.mark.parametrize(
    ("codes", "code"),
    [((3, 4), 4), ((4, 5), 5), ((5, 6), 6), ((6, 1), 1), ((1, 2), 2), ((2, 7), 7), ((7, 143), 143), ((143, 130), 130),
     ((3, 99), 1), ((3, -9), 1)],
)  # fmt: skip
def test_else_the_first_in_the_documented_order_is_taken(codes: tuple[int, ...], code: int) -> None:
    assert combine_exit_codes(codes) == combine_exit_codes(codes[::-1]) == code


def test_the_outcome_is_that_of_the_candidate_whose_code_it_is() -> None:
    stopped = LaneEnd("cc", "claude", "b", "stopped", 3, "")
    waits = LaneEnd("cx", "codex", "b", "needs_human", 4, "")
    assert ArenaEnd((stopped, waits), 4).outcome == "needs_human"


def test_whoever_starts_later_gets_what_is_left() -> None:
    assert compute_time_left(None, 5.0) is None
    assert compute_time_left(100.0, 40.0) == 60.0
    assert compute_time_left(100.0, 99.5) == 0.0
    assert compute_time_left(100.0, 140.0) == 0.0


def rode(*events: Event) -> Lane:
    """The lane after these."""
    lane = Lane(CC)
    for event in events:
        lane = lane.apply(event)
    return lane


def test_a_run_is_followed_by_its_events() -> None:
    lane = rode(*story()[:8])
    assert (lane.total, lane.met, lane.looked) == (5, 0, False)
    ended = rode(*story()).finish(0, killed_by="", last_words="", why="", seconds=9.0)
    assert (ended.status, ended.exit_code, ended.criteria_met, ended.iterations) == ("met", 0, 5, 3)
    assert (round(ended.spend.usd, 2), ended.spend.unknown, ended.commit[:7]) == (0.42, 1, "3c4d5e6")
    assert ended.own_word and not ended.resumable


def test_who_was_ended_says_by_what_and_one_that_was_proven_by_then_stays_so() -> None:
    why = "cx was proven first"
    assert rode(*story()).finish(0, killed_by="", last_words="", why=why, seconds=1.0).status == "met"
    killed = rode(*story()[:9]).finish(-9, killed_by="SIGKILL", last_words="x", why=why, seconds=1.0)
    assert (killed.status, killed.summary, killed.exit_code) == ("broken_off", f"ended: {why}", 1)


@pytest.mark.parametrize(
    ("code", "killed_by", "status", "said", "own"),
    [
        (-9, "SIGKILL", "broken_off", "broken off by SIGKILL: no memory", 1),
        (1, "", "broken_off", "broken off, exit code 1: no memory", 1),
        (0, "", "broken_off", "broken off, exit code 0: no memory", 1),
        (2, "", "refused", "refused, exit code 2: no memory", 2),
        (-15, "SIGTERM", "interrupted", "interrupted by SIGTERM: no memory", 143),
        (130, "", "interrupted", "interrupted, exit code 130: no memory", 130),
    ],
)
def test_a_process_that_ends_without_a_word_is_known_by_how(
    code: int, killed_by: str, status: str, said: str, own: int
) -> None:
    ended = Lane(CC).finish(code, killed_by=killed_by, last_words="no\x1b[1m memory\n", why="", seconds=1.0)
    assert (ended.status, ended.summary, ended.exit_code, ended.resumable) == (status, said, own, False)


def test_one_that_waits_for_a_person_is_not_to_be_resumed() -> None:
    end = RunFinished("", NeedsHuman((1,), "look"), "needs_human", 4, "", "abc")
    ended = rode(story()[0], end).finish(4, killed_by="", last_words="", why="", seconds=1.0)
    assert (ended.resumable, ended.summary, ended.commit) == (False, "Needs a human: look", "abc")


def test_a_run_that_never_began_has_nothing_to_resume() -> None:
    end = RunFinished("", Met(), "refused", 7, "", "")
    assert not rode(end).finish(7, killed_by="", last_words="", why="", seconds=1.0).resumable
    assert not Lane(CC).not_started(5, "no time").resumable and Lane(CC, finished=2).not_started(5, "").resumable
