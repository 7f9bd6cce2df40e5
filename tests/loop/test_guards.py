"""What ends a run that is not proven: each guard through the real command line."""

import re
import time

from tests.lab import DONE_WHEN, LOG, SPEC, Lab

IN_PLACE = True
OPEN = f"it is done <!-- verify: {DONE_WHEN} -->"
NEW_EACH_TIME = (
    'echo "$AIGON_ITERATION" >> turns.txt; sed -i "s/^/$AIGON_ITERATION/" why.txt 2>/dev/null || echo 0 > why.txt\n'
)


def stopped(lab: Lab, *options: str, code: int, guard: str) -> int:
    """Run the loop to the guard that stops it; how many iterations it took."""
    ran = lab.aigon("feature-implement", "42", "--loop", *options)
    assert ran.code == code, ran.out + ran.err
    state = lab.state()
    assert f"guard {guard}" in state["stop_reason"], state["stop_reason"]
    assert state["exit_code"] == code and state["status"] == "stopped"
    assert f"Stopped by the guard {guard}" in ran.out
    return len(state["iterations"]) - 1


def test_the_iteration_limit_ends_the_run_and_every_turn_is_one_commit(lab: Lab) -> None:
    lab.spec("it differs <!-- verify: cat why.txt; false -->")
    lab.agent(NEW_EACH_TIME)
    assert stopped(lab, "--max-iterations", "2", code=3, guard="iterations") == 2
    assert len(lab.subjects()) == 4
    assert lab.state()["stop_reason"].endswith(": the limit of 2 iterations is reached")


def test_failed_turns_in_a_row_end_the_run_and_their_edits_are_committed(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.config(guards={"consecutiveFailures": 2, "repeatedError": 0, "stall": 0})
    lab.agent("echo $AIGON_ITERATION > turn.txt; echo out of ideas >&2; exit 1")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 3, ran.out + ran.err
    assert "guard consecutive-failures" in lab.state()["stop_reason"]
    assert "exited with 1: out of ideas" in lab.state()["stop_reason"]
    assert lab.git("show", "HEAD:turn.txt") == "2"
    assert [subject.partition(",")[0] for subject in lab.subjects()[-2:]] == [
        f"chore(feature-42): iteration {number}: turn failed" for number in (1, 2)
    ]
    for log in re.findall(r"exited with 1: out of ideas \(see (\S+)\)|output of mine: (\S+)", ran.out):
        assert "out of ideas" in lab.read("".join(log))
    assert ran.out.count("/agent.log") == 3


def test_an_agent_that_cannot_start_any_more_is_a_failed_turn(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.config(guards={"repeatedError": 0, "stall": 0})
    lab.agent('echo 1 > turn.txt; rm -- "$0"')
    assert stopped(lab, "--max-consec-fails", "2", code=3, guard="consecutive-failures") == 3
    assert [it["turn"] for it in lab.state()["iterations"][1:]] == ["finished", "not_started", "not_started"]


def test_the_same_error_again_and_again_ends_the_run(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.agent(NEW_EACH_TIME)
    assert stopped(lab, code=3, guard="repeated-error") == 3
    assert "the same errors and open criteria 3 iterations in a row" in lab.state()["stop_reason"]


def test_an_agent_that_changes_no_file_is_the_reason_that_is_given(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.agent("echo nothing to do")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 3, ran.out + ran.err
    assert lab.state()["stop_reason"].endswith("repeated-error: the agent changed no file in 3 turns")
    assert "iteration 1 of 5 finished: no files changed, 0 of 1 criteria passed, no check ran" in ran.out
    assert lab.subjects()[-3:] == [
        f"chore(feature-42): iteration {number}: no files changed, 0/1 criteria proven" for number in (1, 2, 3)
    ]
    assert "- No files changed\n" in lab.read(LOG)
    assert "best checkpoint" not in ran.out, "there is nothing to go back from"
    (log,) = re.findall(r"output of mine: (\S+)", ran.out)
    assert "nothing to do" in lab.read(log)


def test_a_repeated_error_climbs_the_ladder_before_it_ends_the_run(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.config(ladder=[{"model": "small"}, {"model": "large", "effort": "high"}], guards={"stall": 0})
    lab.agent('echo "told: $AIGON_TURN_STEP $AIGON_TURN_MODEL $AIGON_TURN_EFFORT, $AIGON_ITERATION/$AIGON_TURN_LIMIT"')
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "10", "--json")
    assert ran.code == 3, ran.out + ran.err
    turns = [event for event in ran.events if event["event"] == "iteration_started"]
    assert [(turn["rung"], turn["model"]) for turn in turns] == [(0, "small")] * 2 + [(1, "large")] * 3
    assert ran.events[-1]["outcome_detail"]["guard"] == "repeated-error"
    end = ran.events[-1]
    assert (end["success"], end["iterations"]) == (False, 5)
    assert end["remaining_issues"][0].startswith("Criterion 1: it is done (")
    told = [event["turn"]["said"] for event in ran.events if event["event"] == "turn_ended"]
    assert told[1:3] == ["told: 1/2 small , 2/10", "told: 2/2 large high, 3/10"]


def test_no_progress_ends_the_run_though_the_errors_differ(lab: Lab) -> None:
    lab.spec("it differs <!-- verify: cat why.txt; false -->")
    lab.config(guards={"stall": 2, "repeatedError": 0})
    lab.agent(NEW_EACH_TIME)
    assert stopped(lab, code=3, guard="stall") == 2


def test_a_turn_over_its_time_is_ended_and_what_it_did_is_judged(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.agent("echo half > turn.txt; sleep 60")
    begun = time.monotonic()
    assert stopped(lab, "--max-iterations", "1", "--iteration-timeout", "1s", code=3, guard="iterations") == 1
    assert time.monotonic() - begun < 30
    assert lab.state()["iterations"][1]["turn"] == "timed_out"
    assert lab.git("show", "HEAD:turn.txt") == "half"


def test_the_time_of_the_run_ends_it_with_its_own_exit_code(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.agent("sleep 2.2; echo done > turn.txt")
    assert stopped(lab, "--max-time", "2s", code=5, guard="run-time") == 1
    assert lab.git("show", "HEAD:turn.txt") == "done"


def test_the_money_of_the_run_ends_it_with_its_own_exit_code(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.config(guards={"repeatedError": 0})
    lab.agent("""echo '{"cost_usd": 0.75, "usage": {"input": 10, "output": 2}}'""")
    assert stopped(lab, "--max-cost", "1.5", code=5, guard="cost") == 2
    assert lab.state()["spend"] == {"usd": 1.5, "unknown": 0}
    again = lab.aigon("feature-implement", "42", "--resume", "--max-cost", "2.3")
    assert again.code == 5, again.out + again.err
    assert lab.state()["spend"]["usd"] == 2.25


def test_without_room_on_disk_or_in_memory_no_turn_is_begun(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.agent("touch done.txt")
    for key, guard in (("diskFree", "disk"), ("memoryFree", "memory")):
        lab.config(guards={"diskFree": 0, "memoryFree": 0, key: 10**18})
        assert stopped(lab, code=7, guard=guard) == 0
    assert not lab.path("done.txt").exists()


def test_a_single_iteration_is_exit_3_unless_it_proves_everything(lab: Lab) -> None:
    lab.spec(OPEN, "it reads well <!-- human -->")
    lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    assert lab.aigon("feature-implement", "42").code == 3
    lab.path(SPEC).write_text(lab.read(SPEC).replace("- [ ] it reads", "- [x] it reads"))
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42")
    assert ran.code == 0, ran.out + ran.err
    assert lab.boxes() == "xx"


def test_flags_go_before_the_environment_before_the_project_before_the_person(lab: Lab) -> None:
    lab.spec(OPEN)
    lab.agent("true")
    user = lab.home / ".config/aigon/config.json"
    user.parent.mkdir(parents=True)
    user.write_text('{"ralph": {"maxIterations": 2}, "guards": {"maxCost": 7.5}}')

    def limits(*options: str, **env: str) -> tuple[int, float]:
        ran = lab.aigon("feature-implement", "42", "--loop", "--dry-run", "--json", *options, env=env)
        assert ran.code == 0, ran.err
        return ran.json["limits"]["iterations"], ran.json["limits"]["max_cost"]

    assert limits() == (2, 7.5)
    lab.config(ralph={"maxIterations": 3})
    assert limits() == (3, 7.5)
    assert limits(AIGON_MAX_ITERATIONS="4", AIGON_MAX_COST="8") == (4, 8)
    assert limits("--max-iterations", "6", "--max-cost", "9", AIGON_MAX_ITERATIONS="4", AIGON_MAX_COST="8") == (6, 9)


def test_an_agent_that_says_it_is_impossible_ends_the_run_for_a_person_to_decide(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent("echo 'I looked at it. <impossible>1 contradicts itself</impossible>'")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 4, ran.out + ran.err
    assert "the agent says it is impossible: 1 contradicts itself" in ran.out
    assert "--accept-spec" in ran.out
    assert lab.state()["iteration"] == 1
    lab.sound(agrees=True)
