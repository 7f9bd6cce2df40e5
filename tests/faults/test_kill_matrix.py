"""A part of the kill matrix, drawn from a seed; all is `python -m tests.faults`. And what the matrix would see."""

import functools
import random
import tempfile
from pathlib import Path

import pytest

from tests.faults.kill import uninterrupted
from tests.faults.matrix import one
from tests.faults.moment import Moment, Trial, at_every_point, at_random, trial_of
from tests.faults.scenario import Scenario
from tests.faults.standing import Whole, timeless
from tests.faults.steps import QUEUE_STEPS
from tests.faults.table import failure
from tests.faults.verdict import Verdict, judge

SEED = 7
IN_PLACE = "in-place"
"""Half of what a short run costs is its clean room. The slow part has one."""


@functools.cache
def whole(scenario: Scenario, proof: str = IN_PLACE) -> Whole:
    """What nobody kills, once for all tests."""
    with tempfile.TemporaryDirectory(prefix="aigon-faults-", ignore_cleanup_errors=True) as folder:
        return uninterrupted(scenario, Path(folder), proof)


def survives(trial: Trial, proof: str = IN_PLACE) -> None:
    """Fail with everything that is not as promised, and with how to repeat it."""
    result = one(trial, whole(Scenario(trial.mode, trial.agent), proof), proof)
    assert not result.verdict.reasons, failure(result)
    assert result.verdict.kills or trial.moments[0].part, "the point was not reached"


def drawn(number: int) -> list[str]:
    """So many points of a two-step run, drawn from the seed out of those that every such run reaches."""
    reached = {"iteration_started": 3, "turn_ended": 3, "checkpoint_intended": 3, "iteration_finished": 4}
    every = at_every_point("solo", "two-step", {**reached, "check_started": 4, "criterion_judged": 6})
    return [str(trial) for trial in random.Random(SEED).sample(every, number)]


@pytest.mark.parametrize("trial", [
    *drawn(2), "solo:two-step:~0.5000+~0.3000", "solo:daemon:~0.4000", "worktree:two-step:checkpoint_intended.between",
])  # fmt: skip
def test_a_run_that_is_killed_comes_to_the_same(trial: str) -> None:
    survives(trial_of(trial))


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_event_comes_to_the_same() -> None:
    scenario = Scenario("solo", "two-step")
    for trial in at_every_point("solo", "two-step", whole(scenario, "").events):
        survives(trial, "")


@pytest.mark.slow
@pytest.mark.parametrize("trial", [
    "worktree:two-step:turn_ended.before@2", "worktree:two-step:~0.5000+~0.5000", "arena:both:run_started.before",
    "arena:both:checkpoint_intended", "arena:both:~0.7000", "arena:both:~0.8000/two-step",
    "arena:daemons:~0.7000+~0.5000",
])  # fmt: skip
def test_candidates_that_are_killed_come_to_the_same(trial: str) -> None:
    survives(trial_of(trial), "")


@pytest.mark.slow
@pytest.mark.parametrize("trial", [f"{mode}:two-step:!{step}" for mode, steps in QUEUE_STEPS.items() for step in steps])
def test_a_queue_that_is_killed_at_any_step_starts_nothing_twice(trial: str) -> None:
    survives(trial_of(trial))


@pytest.mark.slow
@pytest.mark.parametrize("trial", [
    "watch:two-step:turn_ended.between", "watch:two-step:~0.6000/two-step", "watch:daemon:~0.7000",
    "start:two-step:checkpoint_intended", "start:daemon:~0.6000+~0.5000", "solo:asks:turn_ended.before",
    "solo:asks:~0.5000",
])  # fmt: skip
def test_a_queue_and_what_an_agent_asked_for_survive_a_kill(trial: str) -> None:
    survives(trial_of(trial))


def test_a_trial_is_what_is_written_down_of_it() -> None:
    for text in (
        "solo:two-step:turn_ended.between@2",
        "arena:both:~0.5000/two-step",
        "solo:honest:~0.2500+parked",
        "watch:honest:!taken.before",
    ):
        assert str(trial_of(text)) == text
    assert trial_of("arena:both:~0.5000/honest").moments == (Moment("", 0.5, "honest"),)
    with pytest.raises(ValueError, match="no moment"):
        trial_of("solo:honest:sometime")


def test_a_seed_draws_the_same_moments_again() -> None:
    ways = [("solo", "honest", ("",)), ("arena", "both", ("honest", "two-step"))]
    assert at_random(20, ways, 3) == at_random(20, ways, 3) != at_random(20, ways, 4)


def test_only_times_are_masked_in_a_log() -> None:
    log = "## Iteration 1 (2026-11-22 07:53:35)\n- Turn: timed out (exit code 9) after 1m 2.5s\n- Cost: $0.10\n"
    assert timeless(log) == "## Iteration 1 (TIME)\n- Turn: timed out (exit code 9) after TIME\n- Cost: $0.10\n"
    assert timeless("## Iteration 1 (never)\n- Files changed: 1\n") == "## Iteration 1 (never)\n- Files changed: 1\n"


def test_the_matrix_sees_what_is_lost_repeated_left_and_changed(tmp_path: Path) -> None:
    scenario = Scenario("solo", "two-step")
    lab = scenario.laid_out(tmp_path, proof=IN_PLACE)
    assert lab.aigon(*scenario.command("--loop")).code == 0
    lost = lab.git("rev-parse", "HEAD")
    lab.git("reset", "-q", "--hard", "HEAD^")
    lab.write("more.txt", "more\n")
    lab.write(".git/index.lock", "")
    with (lab.home / "turns-two-step").open("a") as file:
        file.write("again\n")
    verdict = Verdict()
    judge(verdict, lab, scenario, whole(scenario), {"": (lost,)})
    assert (verdict.lost, verdict.repeated, verdict.locks, verdict.trees) == (2, 1, 1, 1), verdict
    said = "\n".join(verdict.reasons)
    assert all(word in said for word in ("lost", "turns repeated after 0 kills", "index.lock", "more.txt", "-100644"))
