"""The best iteration commit is found by evidence, and a branch that went back to it has the state of that iteration."""

import json
from functools import reduce

import pytest
from msgspec.structs import replace

from aigon.errors import Exit
from aigon.journal.attempts import fold_attempts
from aigon.journal.best import KEPT, Looks, count_regressions, describe_progress, explain_better, rate_assessment
from aigon.journal.events import DURABLE, Event, IterationFinished, RolledBack, RunFinished, RunStarted
from aigon.journal.history import build_history
from aigon.journal.replay import decode, dumps
from aigon.journal.state import State, replay
from aigon.model.changes import Concern
from aigon.model.checks import CheckStatus, Finding, Role, TestCounts
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Refused, Stopped
from tests.journal.test_state import A, begun, started, turned


def suite(status: CheckStatus, passed: int = 0, total: int = 10, role: Role = "tests") -> Finding:
    """A check with this many tests that passed."""
    return Finding("tests", role, "Tests", status, "", counts=TestCounts(total, passed, total - passed))


def lint(status: CheckStatus) -> Finding:
    return Finding("lint", "lint", "Lint", status, "")


def look(number: int, met: int, *findings: Finding, reviews: int = 0) -> IterationFinished:
    """A look at four criteria, of which the first `met` are proven."""
    verdicts = tuple(Verdict(n, "met" if n <= met else "unmet", "verify") for n in range(1, 5))
    concerns = tuple(Concern("special-cases", "review", "if x == 6") for _ in range(reviews))
    return IterationFinished(
        "", number, "", str(number) * 40, findings, verdicts, (), f"f{number}", (met, 0, 0), "", concerns=concerns
    )


def chosen(*looks: IterationFinished) -> int | None:
    found = reduce(lambda kept, each: kept.add(each, looks[0]), looks, Looks()).best
    return found.number if found and found is not looks[0] else None


def numbers(looks: Looks) -> list[int]:
    return [each.number for each in looks.newest]


@pytest.mark.parametrize(
    ("looks", "wanted"),
    [
        ([look(0, 0), look(1, 2), look(2, 3), look(3, 1)], 2),
        ([look(0, 0), look(1, 2), look(2, 2), look(3, 2)], 1),  # of equals the earliest
        ([look(0, 1), look(1, 1), look(2, 0)], None),  # none is better than where it began
        ([look(0, 0)], None),
        # more is proven, whatever was lost for it
        ([look(0, 0, lint("pass")), look(1, 1, lint("pass")), look(2, 2, lint("fail"))], 2),
        # as much is proven, and nothing lost
        ([look(0, 0, lint("pass")), look(1, 1, lint("fail")), look(2, 1, lint("pass"))], 2),
        ([look(0, 0, suite("fail", 8)), look(1, 1, suite("fail", 5)), look(2, 1, suite("fail", 8))], 2),
        # more checks are green
        ([look(0, 0, lint("fail")), look(1, 1, lint("fail")), look(2, 1, lint("pass"))], 2),
        # more tests pass
        ([look(0, 0, suite("fail", 2)), look(1, 1, suite("fail", 2)), look(2, 1, suite("fail", 4))], 2),
        # what waits for a review is no proof
        ([look(0, 0), look(1, 2), look(2, 4, reviews=1)], 1),
        ([look(0, 0), look(1, 4, reviews=1)], None),
    ],
)
def test_the_most_proven_with_nothing_lost_is_the_best(looks: list[IterationFinished], wanted: int | None) -> None:
    assert chosen(*looks) == wanted


def test_nothing_at_all_has_no_best() -> None:
    assert Looks().best is None


def test_aigons_own_checks_are_neither_progress_nor_loss() -> None:
    own = [replace(lint("pass"), check=role, role=role) for role in ("git", "proof", "integrity")]
    assert rate_assessment(look(1, 2, *own), look(0, 0)) == rate_assessment(look(1, 2), look(0, 0, *own))


def test_what_passed_at_the_base_and_fails_or_is_gone_is_lost_unless_skipped() -> None:
    base = look(0, 0, suite("pass", 10), lint("pass"))
    assert count_regressions(look(1, 0, suite("fail", 7), lint("pass")), base) == 4, "the check, and three of its tests"
    assert count_regressions(look(1, 0, suite("error", 0), lint("fail")), base) == 12
    assert count_regressions(look(1, 0, suite("pass", 12)), base) == 1, "lint did not run at all"
    assert count_regressions(look(1, 0, suite("pass", 12), lint("skipped")), base) == 0
    assert count_regressions(look(1, 0, lint("fail")), None) == 0


def test_it_is_said_what_tells_two_looks_apart() -> None:
    base = look(0, 0, lint("pass"))
    assert (
        describe_progress(look(2, 3, lint("fail"), reviews=1), base)
        == "3 of 4 passed, 1 to review, 1 regression from the base"
    )
    assert explain_better(look(2, 3), look(4, 1), None) == "iteration 4 has 1 of 4 passed"
    assert explain_better(look(1, 1, lint("pass")), look(2, 1, lint("fail")), None) == (
        "iteration 2 has 0 checks passed instead of 1"
    )
    assert explain_better(look(1, 1), look(2, 1), None) == "no more criteria passed after it"


# the state of a run whose branch went back


def back(number: int, last: int) -> RolledBack:
    ref = f"refs/aigon/parked/feature-42/run-{last}-after-best"
    return RolledBack("t", number, str(number) * 40, str(last) * 40, ref, "3 of 4 passed there")


def told(*met: int) -> list[Event]:
    """A run whose iterations proved so many criteria each, the base first."""
    events: list[Event] = [started(), replace(look(0, met[0]), checkpoint="")]
    for number, proven in enumerate(met[1:], 1):
        events += [begun(number), turned(number), look(number, proven)]
    return events


def test_the_state_is_as_after_that_iteration_and_numbers_go_on() -> None:
    before = replay(told(0, 1, 3, 2, 1))
    after = before.apply(back(2, 4))
    assert before.last_number == after.last_number == 4
    assert after.last and (after.last.number, after.checkpoint, after.best) == (2, "2" * 40, (3, 0, 0))
    assert (after.iteration, after.finished, after.half_turn, after.turn_ended) == (2, 2, False, False)
    assert numbers(after.looks) == [0, 1, 2] and after.spend == before.spend and after.used == before.used
    assert after.going_back == after.rolled_back == back(2, 4)
    ended = after.apply(RunFinished("", Stopped("stall", "x"), "stopped", 3, "", ""))
    assert ended.going_back is None and ended.rolled_back
    refused = after.apply(RunFinished("", Refused("x"), "refused", 7, "", ""))
    assert refused.going_back, "it could not be carried out"
    resumed = ended.apply(started(True, head="2" * 40))
    assert (resumed.rolled_back, resumed.last_number, numbers(resumed.looks)) == (None, 4, [0, 1, 2])


def test_back_where_the_run_began_it_is_as_after_the_look_at_the_base() -> None:
    after = replay([*told(0, 0, 0), back(0, 2)])
    assert after.last and (after.last.number, after.last.checkpoint) == (0, A)
    assert (after.finished, after.iteration, after.last_number, after.fingerprint) == (0, 0, 2, "")


def test_what_a_person_committed_is_never_gone_behind() -> None:
    theirs = "e" * 40
    resumed = replay([*told(0, 1, 3), started(True, head=theirs)])
    assert numbers(resumed.looks) == []
    looked = resumed.apply(replace(look(2, 3), checkpoint=""))
    assert [each.checkpoint for each in looked.looks.newest] == [theirs]


def test_an_assessment_of_more_than_the_commit_does_not_replace_that_of_the_commit() -> None:
    state = replay([*told(0, 1), started(True, head="1" * 40)])
    more = state.apply(replace(look(1, 4), checkpoint="", content="with files that were kept"))
    assert more.last and more.last.verdicts == look(1, 4).verdicts
    assert more.looks.find(1) == look(1, 1)
    same = replay([started(), look(0, 0), begun(1), turned(1), replace(look(1, 1), content="c")])
    again = same.apply(replace(look(1, 2), checkpoint="", content="c"))
    assert again.looks.find(1) == replace(look(1, 2), content="c")


def test_a_thousand_assessments_are_held_in_the_room_of_a_few_and_the_best_is_known() -> None:
    state = replay(told(0, 3, *[1] * 1000))
    assert len(state.looks.newest) == KEPT and [each.number for each in state.looks.leaders] == [0, 1]
    best = state.apply(back(1, 1001))
    assert best.last and best.last.number == 1 and numbers(best.looks) == [1]
    assert best.looks.best == best.last
    # each time that the last iteration is repeated, the one before it is the last
    climbing = replay([started(), *(replace(look(n, 0), findings=(suite("fail", n, 1000),)) for n in range(100))])
    for number in range(98, 98 - KEPT + 1, -1):
        climbing = climbing.apply(back(number, number + 1))
        assert climbing.last and climbing.last.number == number
        assert climbing.looks.best == climbing.last == climbing.looks.newest[-1]


def test_the_event_is_durable_and_comes_back_from_the_journal() -> None:
    assert isinstance(back(2, 4), DURABLE) and decode(json.loads(dumps(back(2, 4)))) == back(2, 4)


def test_the_record_of_the_tries_keeps_what_was_put_back_and_says_so() -> None:
    events = [*told(0, 1, 3, 2), back(2, 3), started(True, head="2" * 40), replace(look(2, 3), checkpoint="")]
    tries = fold_attempts([*events, begun(4), turned(4), look(4, 3)])
    assert [each.number for each in tries] == [1, 2, 3, 4]
    assert [bool(each.notes) for each in tries] == [False, False, True, False]
    assert tries[2].notes == ("the whole iteration was put back: the branch went back to iteration 2",)


def test_the_history_tells_what_the_branch_holds() -> None:
    known = build_history([[*told(0, 1, 3, 2), back(2, 3)]])
    assert known.last and known.last.number == 2
    assert [(step.number, step.undone) for step in known.steps] == [(0, False), (1, False), (2, False), (3, True)]


def test_a_stopped_run_has_the_exit_code_that_it_had() -> None:
    end = RunFinished("", Stopped("cost", "x", Exit.SPENT), "stopped", 5, "", "")
    assert replay([*told(0, 1), back(0, 1), end]).outcome == end.outcome


def test_an_older_journal_without_it_leads_to_the_same_state_as_ever() -> None:
    state = replay(told(0, 1, 3))
    assert (state.rolled_back, state.undone, state.last_number) == (None, 0, 2)
    assert isinstance(state, State) and isinstance(state.started, RunStarted)
