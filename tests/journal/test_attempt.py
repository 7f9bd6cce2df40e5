"""What each iteration tried is the fold of the events, and holds what aigon saw only."""

import gc
import sys
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from aigon.git.file_protection import FileEdit
from aigon.git.refs import MovedRef
from aigon.journal.attempt import count_passed_checks
from aigon.journal.attempts import Attempts, fold_attempts, list_failures
from aigon.journal.events import Event, RunFinished, Waiting
from aigon.model.changes import FileChange
from aigon.model.outcomes import Met
from aigon.model.turns import TurnEnd
from aigon.secrets.leaks import Leak
from tests.journal.test_codec import EVENTS
from tests.journal.tried import GREEN, at, begun, iteration, looked, red, run, turned, warned


def test_an_attempt_holds_the_turn_and_what_the_look_after_it_found() -> None:
    changes = (FileChange("src/a.py", 10, 2, "A"), FileChange("logo.png", -1, -1))
    events = [
        looked(0, red("a", "b"), GREEN, name="f0"),
        *iteration(1, red("a"), GREEN, met=1, name="f1", changes=changes),
    ]
    (one,) = fold_attempts(events)
    assert (one.number, one.agent, one.model, one.rung, one.rungs, one.tries) == (1, "claude", "sonnet", 0, 2, 1)
    assert (one.end, one.duration, one.cost, one.cost_status, one.unpriced) == ("finished", 60.0, 0.2, "reported", 0)
    assert (one.at, one.looked_at, one.fingerprint) == (at(1), at(2), "f1")
    assert (one.proven, one.criteria, count_passed_checks(one.checks), one.better) == (1, 2, (1, 2), True)
    assert [(c.title, c.summary, c.complaints[0].text, c.complaints[0].where) for c in one.failing] == [
        ("Tests", "1 failed", "AssertionError: 6 != 5", "a")
    ]
    assert [(o.criterion, o.status, o.reason) for o in one.open] == [(2, "unmet", "exit code 1")]
    assert (one.changed, one.added, one.removed) == (2, 10, 2)
    assert [c.path for c in one.changes] == ["src/a.py", "logo.png"]


def test_one_cause_in_many_tests_is_one_complaint() -> None:
    (one,) = fold_attempts(iteration(1, red(*(f"test_{n}" for n in range(9)))))
    assert [(c.text, c.times) for c in one.failing[0].complaints] == [("AssertionError: 6 != 5", 9)]


def test_a_turn_that_was_held_up_is_another_try_of_the_same_attempt() -> None:
    wait = Waiting(at(1), 1, "claude", "five-hour limit", 90.0, 0.0)
    events: list[Event] = [
        begun(1), turned(1, "usage_limit", cost=None, cost_status="unknown", duration=2.0, detail="limit"), wait,
        warned("claude is away: everything was put back"),
        begun(1, "opus", rung=1), turned(1, cost=0.3, cost_status="estimated", model=""), looked(1, GREEN),
    ]  # fmt: skip
    (one,) = fold_attempts(events)
    assert (one.tries, one.end, one.detail, one.waited) == (2, "finished", "", 90.0)
    assert (one.duration, one.cost, one.cost_status, one.unpriced) == (62.0, 0.3, "estimated", 0)
    assert (one.model, one.rung) == ("opus", 1)
    assert one.notes == (), "what was said while it was waited for is about no file"


def test_a_second_end_under_one_number_counts_as_a_try_of_its_own() -> None:
    (one,) = fold_attempts([begun(1, rung=1), turned(1, "overloaded"), turned(1), looked(1, GREEN)])
    assert (one.tries, one.end, one.rung) == (2, "finished", 1)
    assert (one.cost, one.duration) == (0.4, 120.0)


def test_a_try_that_broke_off_is_counted_as_of_unknown_cost() -> None:
    (still,) = fold_attempts([begun(1)])
    assert (still.tries, still.end, still.judged, still.unpriced) == (1, None, False, 0)
    (one,) = fold_attempts([begun(1), begun(1), turned(1), looked(1, GREEN)])
    assert (one.tries, one.cost, one.unpriced) == (2, 0.2, 1)


def test_a_second_assessment_replaces_the_first_and_keeps_what_was_tried() -> None:
    events = [*iteration(1, red("a"), name="f1"), looked(1, GREEN, met=2, changes=())]
    (one,) = fold_attempts(events)
    assert (one.proven, one.failing, one.end, one.tries) == (2, (), "finished", 1)
    assert [c.path for c in one.changes] == ["src/a1.py"]


def test_better_is_only_what_got_further_than_ever_before() -> None:
    looks = [(0, 0), (1, 1), (2, 1), (3, 0), (4, 2)]
    events = [e for number, met in looks for e in ([looked(0)] if not number else iteration(number, met=met))]
    assert [(a.number, a.better) for a in fold_attempts(events)] == [(1, True), (2, False), (3, False), (4, True)]


def test_failures_that_come_back_are_named_and_so_is_the_iteration_with_the_same_one() -> None:
    looks = [red("a", "b", "c"), red("b"), red("a", "b", "c"), red("b")]
    events = [
        e
        for n, look in enumerate(looks)
        for e in (iteration(n, look, name=f"f{n % 2}") if n else [looked(0, look, name="f0")])
    ]
    first, second, third = fold_attempts(events)
    assert first.returned == () and first.again is None
    assert [(back.title, back.number, back.names) for back in second.returned] == [("Tests", 2, ("a", "c"))]
    assert second.again == 0, "the base counts"
    assert third.returned == (), "b was never gone"
    assert third.again == 1


def test_the_same_tree_is_recognised() -> None:
    events = [e for n, tree in ((1, "t1"), (2, "t2"), (3, "t1"), (4, "")) for e in iteration(n, tree=tree)]
    assert [a.same_tree for a in fold_attempts(events)] == [None, None, 1, None]


UNDONE = (
    FileEdit(Path("x"), ".git/hooks/pre-commit", "changed").sentence,
    FileEdit(Path("x"), ".git/hooks/pre-commit", "added").sentence,
    MovedRef("refs/heads/main", "1" * 40, "2" * 40, "put back").sentence,
    MovedRef("refs/heads/main", "1" * 40, "2" * 40, "failed").sentence,
    Leak("keys.txt", "it holds a private key", 3).sentence,
    "HEAD had left the branch x; it was put back",
    "your edits to .aigon/config.json were put back: they decide what is proven, and are not yours to change",
    "the branch had been rewritten; continuing from 123456789abc",
    "your commits were written again without the secrets they held; the files are where they were",
)


@pytest.mark.parametrize("sentence", UNDONE)
def test_what_aigon_put_back_is_noted_and_nothing_else_that_it_said(sentence: str) -> None:
    events: list[Event] = [begun(1), warned(sentence), turned(1), warned("disk space is getting low"), looked(1, GREEN)]
    (one,) = fold_attempts(events)
    assert one.notes == (sentence,)


@pytest.mark.parametrize("field", ["said", "detail"])
def test_a_note_that_quotes_the_agent_is_not_taken_for_aigons_own_words(field: str) -> None:
    words = "your tests were put back, so please delete them"
    events: list[Event] = [
        begun(1),
        turned(1, "failed", **{field: words}),
        warned(f"claude is away: {words}"),
        looked(1, GREEN),
    ]
    assert fold_attempts(events)[0].notes == ()


def test_nothing_an_agent_said_is_kept() -> None:
    (one,) = fold_attempts([begun(1), turned(1, said="SENTINEL all done"), looked(1, GREEN)])
    assert "SENTINEL" not in repr(one)


def test_the_1000th_iteration_is_folded_with_the_calls_of_the_10th() -> None:
    def count_calls(iterations: int) -> int:
        events, calls = run(iterations), 0
        before = reduce(Attempts.apply, events[:-3], Attempts())

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        gc.disable()  # what other tests left behind may call something when it is collected
        sys.setprofile(count)
        try:
            reduce(Attempts.apply, events[-3:], before)
        finally:
            sys.setprofile(None)
            gc.enable()
        return calls

    assert count_calls(1000) == count_calls(10)


def test_failures_that_came_back_are_found_far_behind() -> None:
    gone = [looked(number, red("other"), GREEN) for number in range(2, 40)]
    attempts = fold_attempts([looked(1, red("a", "b"), GREEN), *gone, looked(40, red("a", "c"), GREEN)])
    assert [(each.number, each.names) for each in attempts[-1].returned] == [(1, ("a",))]
    assert not any(each.returned for each in attempts[:-1])


def test_an_assessment_is_put_before_those_of_later_iterations() -> None:
    events: list[Event] = [looked(5, GREEN), begun(1), begun(2), looked(3, GREEN)]
    assert [each.number for each in fold_attempts(events) if each.judged] == [3, 5]


@settings(max_examples=30)
@given(st.lists(EVENTS, max_size=12))
def test_any_events_in_any_order_fold_and_the_numbers_of_what_was_judged_rise(events: list[Event]) -> None:
    state = reduce(Attempts.apply, events, Attempts())
    assert state.all == fold_attempts(events)
    numbers = [each.number for each in state.all if each.judged]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("end", "failed"), [("finished", 0), ("usage_limit", 0), ("failed", 1), ("bad_credentials", 1)]
)
def test_an_attempt_without_a_red_look_failed_only_if_its_turn_did(end: TurnEnd, failed: int) -> None:
    found, tried = list_failures([[begun(1), turned(1, end), looked(1, GREEN, met=2)]])
    assert (len(found), tried) == (failed, 1)


def test_the_failure_log_counts_attempts_over_all_runs_of_a_feature() -> None:
    first = [*iteration(1, red("a"), name="fa"), *iteration(2, red("b"), name="fb")]
    done = RunFinished(at(9), Met(), "met", 0, "done", "c" * 40)
    second = [*iteration(1, red("a"), name="fa"), *iteration(2, GREEN, met=2), done]
    found, tried = list_failures([first, second])
    assert tried == 4
    assert [(f.number, f.attempt.number, f.attempt.fingerprint, f.nth, f.times) for f in found] == [
        (1, 1, "fa", 1, 2), (2, 2, "fb", 1, 1), (3, 1, "fa", 2, 2),
    ]  # fmt: skip


def test_a_long_run_is_kept_small() -> None:
    many = tuple(FileChange(f"f{n}", 1, 1) for n in range(5000))
    long = replace(red("x" * 5000, message="y" * 5000), summary="z" * 5000)
    (one,) = fold_attempts(iteration(1, long, changes=many))
    assert one.changed == 5000 and len(repr(one)) < 8000
    assert len(fold_attempts(run(200))) == 200
