"""What journals tell of a feature: resumes, turns that were held up or broken off, a new run over an old one."""

from msgspec.structs import replace

from aigon.journal.events import (
    CheckFinished,
    CriterionJudged,
    Event,
    IterationFinished,
    MoneySpent,
    RolledBack,
    RunFinished,
)
from aigon.journal.history import History, build_history
from aigon.journal.state import replay
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met, Stopped
from aigon.model.turns import Usage
from tests.journal.tried import GREEN, at, begun, iteration, looked, red, turned, warned
from tests.views.story import run_started


def asked(number: int, criterion: int, status: str = "pass") -> Event:
    """The command of a criterion has ended."""
    found = Finding(f"criterion-{criterion}", "script", "Script", status, status)  # type: ignore[arg-type]
    return CheckFinished(at(number), number, found)


def started(run_id: str = "r1", **more: object) -> Event:
    return replace(run_started(), run_id=run_id, **more)


def finished(met: bool, minute: int = 9) -> RunFinished:
    outcome = Met() if met else Stopped("max-iterations", "5 iterations")
    return RunFinished(at(minute), outcome, "met" if met else "stopped", 0 if met else 3, "", "c" * 40)


def numbers(found: History) -> list[int]:
    return [step.number for step in found.steps]


def test_a_run_is_its_iterations_and_what_the_feature_had_cost_by_then() -> None:
    judged = MoneySpent(at(1), 1, "judge", 0.05, "estimated")
    first = [*iteration(1, red("a"), met=0)]
    events = [started(), looked(0, red("a")), *first[:2], judged, first[2], *iteration(2, GREEN, met=2), finished(True)]
    found = build_history([events])
    assert numbers(found) == [0, 1, 2] and [step.proven for step in found.steps] == [0, 0, 2]
    assert [round(step.spend.usd, 2) for step in found.steps] == [0.0, 0.25, 0.45]
    assert found.base == found.steps[0] and found.last == found.steps[2] and found.outcome == Met()
    assert found.statuses == {"reported", "estimated"}


def test_what_the_commands_of_criteria_came_to_belongs_to_the_look_they_ran_for() -> None:
    said = CriterionJudged(at(1), 1, Verdict(1, "met", "verify"), "it works")
    events = [asked(0, 1, "fail"), asked(0, 2, "fail"), looked(0), asked(1, 1), said, *iteration(1, GREEN, met=1)]
    found = build_history([[started(), *events]])
    assert [[each.status for each in step.asked] for step in found.steps] == [["fail", "fail"], ["pass"]]
    assert found.texts == {1: "it works"}


def test_a_turn_that_was_held_up_is_one_of_several_turns_of_its_iteration() -> None:
    held = turned(1, "usage_limit", cost=None, cost_status="unknown", usage=Usage(10, 1))
    events = [started(), looked(0), begun(1), held, begun(1), turned(1, usage=Usage(20, 2, 5)), looked(1, GREEN)]
    found = build_history([events])
    assert [turn.end for turn in found.steps[1].turns] == ["usage_limit", "finished"]
    assert found.usage == Usage(30, 3, 5) and (found.spend.usd, found.spend.unknown) == (0.2, 1)


def test_a_resume_looks_again_at_an_iteration_which_keeps_its_commit_and_counts_once() -> None:
    again = looked(1, GREEN, met=2, checkpoint="")
    resumed = [started(resumed=True, at=at(20)), replace(again, at=at(21)), finished(True, 22)]
    found = build_history([[started(), looked(0), *iteration(1, red("a"), met=1), finished(False), *resumed]])
    assert numbers(found) == [0, 1] and found.steps[1].proven == 2 and found.steps[1].look.checkpoint == "c" * 40
    assert [step.invocation for step in found.steps] == [0, 1]
    assert [run.heard for run in found.runs] == [at(9), at(22)] and found.outcome == Met()


def test_a_broken_off_turn_has_an_unknown_cost() -> None:
    events = [started(), looked(0), begun(1), started(resumed=True), *iteration(1, GREEN, met=2)]
    found = build_history([events])
    assert numbers(found) == [0, 1] and found.spend.unknown == 1 and "unknown" in found.statuses
    assert found.spend == replay(events).spend


def test_a_look_that_was_cut_short_has_no_commit_and_is_no_iteration() -> None:
    found = build_history([[started(), looked(0), begun(1), turned(1), looked(1, checkpoint="")]])
    assert numbers(found) == [0] and len(found.steps) == 1 and found.outcome is None


def test_a_new_run_counts_anew_and_what_the_old_one_spent_stays_known() -> None:
    old = [started(), looked(0), *iteration(1, red("a")), *iteration(2, red("b")), finished(False)]
    new = [started("r2", spent_before=0.4), warned("low"), looked(0), *iteration(1, GREEN, met=2), finished(True)]
    found = build_history([old, new])
    assert numbers(found) == [0, 1, 2, 0, 1] and round(found.spend.usd, 2) == 0.6
    assert [step.number for step in found.latest] == [0, 1]
    assert build_history([old, new[:1]]).latest == () and build_history([old, new[:1]]).outcome is None


def test_where_the_old_journal_is_gone_the_new_run_says_what_was_spent_before() -> None:
    found = build_history([[started(spent_before=1.5, unknown_before=2), looked(0), *iteration(1, GREEN, met=2)]])
    assert round(found.spend.usd, 2) == 1.7 and found.spend.unknown == 2


def test_iterations_before_a_rollback_stay_known_and_are_not_the_last() -> None:
    back = RolledBack(at(8), 1, "c" * 40, "d" * 40, "refs/aigon/parked/x", "more is proven there")
    events = [started(), looked(0), *iteration(1, GREEN, met=2), *iteration(2, red("a")), back, finished(False)]
    found = build_history([events])
    assert [step.undone for step in found.steps] == [False, False, True]
    assert found.last is not None and found.last.number == 1


def test_no_journal_tells_nothing() -> None:
    empty = build_history([])
    assert (empty.steps, empty.started, empty.last, empty.usage, empty.outcome) == ([], None, None, None, None)
    assert isinstance(looked(0), IterationFinished) and numbers(build_history([[looked(0)]])) == [0]
