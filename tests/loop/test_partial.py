"""What becomes of the branch after a run that stopped short."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from aigon.errors import Exit
from aigon.journal.state import State
from aigon.loop.roll_back import has_stopped_short
from aigon.model.outcomes import Interrupted, Met, NeedsHuman, Outcome, Refused, Stopped, Unavailable
from tests.lab import BRANCH, LOG, Lab, Ran, until
from tests.loop.processes import LOOP, RESUME, answer_in_terminal, events, journal, named, ok, parked, turns

BACK, KEEP = ("--on-partial", "rollback"), ("--on-partial", "keep")
"""A resume continues as the run was started, unless it is told otherwise."""
CRITERIA = (
    "one <!-- verify: test -f one.txt -->",
    "two <!-- verify: test -f two.txt -->",
    "three <!-- verify: test -f three.txt -->",
    "never <!-- verify: false -->",
)
FADING = """
    echo turn >> "$HOME/turns"
    echo "$AIGON_ITERATION" >> "$HOME/numbers"
    cat > "$HOME/prompt"
    case "$AIGON_ITERATION" in
        1) touch one.txt; touch old.txt ;;
        2) touch two.txt three.txt; echo second > work.txt ;;
        3) rm two.txt; echo third > work.txt; echo more > more.txt ;;
        4) rm three.txt old.txt; echo fourth > work.txt ;;
        *) ls > "$HOME/found"; echo "$AIGON_ITERATION" > later.txt ;;
    esac
"""
"""Proves three of four in its second turn, and less and less after it."""


def ready(lab: Lab, script: str = FADING, *criteria: str) -> None:
    lab.config(proof="in-place", guards={"repeatedError": 0, "stall": 0})
    lab.spec(*(criteria or CRITERIA))
    lab.agent(script)


def faded(lab: Lab, *options: str, code: int = 3) -> Ran:
    """Four turns of the agent that gets worse after the second."""
    ready(lab)
    return ok(lab.aigon(*LOOP, "--max-iterations", "4", *options), code)


def checkpoints(lab: Lab) -> dict[int, str]:
    """The commits of the iterations, those that the branch does not hold any more included."""
    return {each["number"]: each["checkpoint"] for each in named(lab, "iteration_finished") if each["checkpoint"]}


def cut_after(lab: Lab, last: str) -> None:
    """The journal as it was after its last event of the kind `last`."""
    lines = journal(lab).read_bytes().splitlines(keepends=True)
    at = max(i for i, line in enumerate(lines) if f'"event":"{last}"'.encode() in line)
    journal(lab).write_bytes(b"".join(lines[: at + 1]))


# keep


@pytest.mark.slow
def test_by_default_the_branch_stays_and_the_summary_names_what_was_better(lab: Lab) -> None:
    ran = faded(lab)
    assert parked(lab) == [] and named(lab, "rolled_back") == []
    assert lab.git("rev-parse", "HEAD") == checkpoints(lab)[4]
    second = checkpoints(lab)[2]
    assert f"The best iteration commit is iteration 2 (3 of 4 passed, {second[:12]})" in " ".join(ran.out.split())
    state = lab.state()
    assert (state["best"]["number"], state["best"]["checkpoint"], state["best"]["criteria_met"]) == (2, second, 3)
    assert (state["iteration"], state["criteria_met"], state["rolled_back"]) == (4, 1, None)
    lab.sound(agrees=True)


def test_the_command_that_the_summary_offers_continues_from_the_best_checkpoint(lab: Lab) -> None:
    ready(lab)
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "3"), 3)
    (command,) = re.findall(r"^  aigon (.* --resume-from best)$", ran.out, re.M)
    lab.write("mine.txt", "a person's\n")
    refused = ok(lab.aigon(*command.split()), 7)
    assert "mine.txt" in refused.err
    lab.path("mine.txt").unlink()
    again = ok(lab.aigon(*command.split(), "--max-iterations", "1"), 3)
    found = checkpoints(lab)
    assert lab.git("rev-parse", "HEAD^") == found[2] and lab.git("rev-parse", parked(lab)[0]) == found[3]
    assert "iteration 4 of 4" in again.out, "no number is given twice"
    lab.sound(agrees=True)


@pytest.mark.slow
def test_asked_without_a_terminal_the_branch_stays_and_that_is_said(lab: Lab) -> None:
    ran = faded(lab, "--on-partial", "ask")
    assert "the branch stays as it is since no person confirmed; its best iteration commit is iteration 2" in ran.out
    assert parked(lab) == [] and lab.git("rev-parse", "HEAD") == checkpoints(lab)[4]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [b"y\n", b"n\n"])
def test_a_person_at_a_terminal_is_asked_and_decides(lab: Lab, answer: bytes) -> None:
    ready(lab)
    code, text = answer_in_terminal(lab, answer, *LOOP, "--max-iterations", "4", "--on-partial", "ask")
    assert code == 3 and "The best iteration commit is iteration 2 (3 of 4 passed" in " ".join(text.split())
    there = 2 if answer == b"y\n" else 4
    assert lab.git("rev-parse", "HEAD") == checkpoints(lab)[there] and len(parked(lab)) == (there == 2)
    lab.sound(agrees=True)


# rollback


def test_the_branch_goes_back_to_the_best_checkpoint_and_the_rest_is_parked(lab: Lab) -> None:
    ran = faded(lab, *BACK)
    found, (went,) = checkpoints(lab), named(lab, "rolled_back")
    assert (went["number"], went["commit"], went["from_commit"]) == (2, found[2], found[4])
    (ref,) = parked(lab)
    assert went["ref"] == ref and ref.endswith("-4-after-best")
    assert lab.git("rev-parse", "HEAD") == found[2] and lab.git("rev-parse", ref) == found[4]
    assert lab.git("branch", "--show-current") == BRANCH
    assert lab.read("work.txt") == "second\n" and lab.path("two.txt").exists() and not lab.path("more.txt").exists()
    assert lab.boxes() == "xxx " and lab.read(LOG).count("\n## Iteration ") == 2
    flat = " ".join(ran.out.split())
    assert f"went back to iteration 2 (3 of 4 passed); iterations 3 and 4 are saved aside as {ref}" in flat
    assert "back to iteration 2 (" in flat and "iteration 4 has 1 of 4 passed" in flat and "3 of 4 criteria" in flat
    assert events(lab)[-1]["event"] == "run_finished" and events(lab)[-1]["commit"] == found[2]
    lab.sound(agrees=True)


@pytest.mark.slow
def test_state_summary_and_resume_agree_and_the_numbers_go_on(lab: Lab) -> None:
    faded(lab, *BACK)
    state, found = lab.state(), checkpoints(lab)
    assert (state["iteration"], state["criteria_met"], state["checkpoint"]) == (2, 3, found[2])
    assert (state["rolled_back"]["number"], state["best"]["number"]) == (2, 2)
    assert state["rolled_back"]["undone"] == [3, 4]
    assert [i["number"] for i in state["iterations"]] == [0, 1, 2, 3, 4]
    ran = ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert "rewritten" not in ran.err and "commits since the last iteration commit" not in ran.out
    assert (lab.home / "numbers").read_text().split() == ["1", "2", "3", "4", "5"]
    assert "more.txt" not in (lab.home / "found").read_text().split()
    assert "the branch went back to iteration 2" in (lab.home / "prompt").read_text()
    after = lab.state()
    assert (after["iteration"], after["criteria_met"], after["rolled_back"]) == (5, 3, None)
    assert [i["number"] for i in after["iterations"]] == [0, 1, 2, 3, 4, 5]
    assert [i["criteria"][1]["verdict"] for i in after["iterations"][3:]] == ["unmet", "unmet", "met"]
    assert lab.git("rev-parse", "HEAD^") == found[2]
    assert lab.read(LOG).count("\n## Iteration ") == 3
    lab.sound(agrees=True)


@pytest.mark.slow
def test_a_broken_off_turn_after_it_is_repeated_under_its_new_number(lab: Lab) -> None:
    faded(lab, *BACK)
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    cut_after(lab, "iteration_started")
    lab.git("reset", "-q", "--hard", "HEAD^")
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert (lab.home / "numbers").read_text().split()[-2:] == ["5", "5"]
    lab.sound(agrees=True)


@pytest.mark.slow
def test_where_nothing_was_proven_it_goes_back_to_where_the_run_began(lab: Lab) -> None:
    ready(lab, 'echo "$AIGON_ITERATION" > work.txt', "never <!-- verify: false -->")
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "2", *BACK), 3)
    assert "went back to the base (0 of 1 passed); iterations 1 and 2 are saved aside" in " ".join(ran.out.split())
    base = lab.state()["base_commit"]
    assert lab.git("rev-parse", "HEAD") == base and not lab.path("work.txt").exists()
    assert lab.git("show", f"{parked(lab)[0]}:work.txt") == "2"
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert lab.read("work.txt") == "3\n" and lab.state()["iteration"] == 3
    lab.sound(agrees=True)


def test_the_latest_is_kept_where_it_is_the_best(lab: Lab) -> None:
    ready(lab, "[ -e one.txt ] && touch two.txt; touch one.txt", *CRITERIA)
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "2", *BACK), 3)
    assert lab.git("rev-parse", "HEAD") == checkpoints(lab)[2] and parked(lab) == []
    assert "best checkpoint" not in ran.out


@pytest.mark.parametrize(
    ("outcome", "short"),
    [
        (Stopped("iterations", ""), True),
        (Stopped("stall", ""), True),
        (Stopped("cost", "", Exit.SPENT), True),
        (Stopped("hook", ""), True),
        (Stopped("stop-file", ""), False),
        (Stopped("disk", "", Exit.ENVIRONMENT), False),
        (Unavailable("the judge", ""), False),
        (Interrupted("SIGTERM"), False),
        (NeedsHuman((1,), ""), False),
        (Refused(""), False),
        (Met(), False),
    ],
)
def test_only_a_run_that_a_guard_ended_for_want_of_progress_or_means_stopped_short(
    outcome: Outcome, short: bool
) -> None:
    assert has_stopped_short(outcome, State(iteration=2, finished=2)) is short
    assert not has_stopped_short(outcome, State(iteration=3, finished=2)), (
        "a turn that was not judged is for the resume"
    )


@pytest.mark.parametrize("how", ["human", "stop-file"])
def test_other_ends_leave_the_branch_as_it_is(lab: Lab, how: str) -> None:
    more = {"human": "fine <!-- human -->"}.get(how, "two <!-- verify: test -f two.txt -->")
    script = f"""
        [ "$AIGON_ITERATION" = 2 ] && [ {how} = stop-file ] && {{ rm one.txt; touch .aigon/STOP; exit; }}
        touch one.txt
    """
    ready(lab, script, "one <!-- verify: test -f one.txt -->", more)
    ok(lab.aigon(*LOOP, "--max-iterations", "3", *BACK), {"human": 4, "stop-file": 3}[how])
    assert named(lab, "rolled_back") == [] and not [ref for ref in parked(lab) if "after-best" in ref]


@pytest.mark.slow
def test_it_does_not_go_back_before_what_a_person_committed_in_between(lab: Lab) -> None:
    ready(lab)
    ok(lab.aigon(*LOOP, "--max-iterations", "2"), 3)
    lab.write("theirs.txt", "a person's\n")
    theirs = lab.commit("by hand")
    ok(lab.aigon(*RESUME, "--max-iterations", "2", *BACK), 3)
    assert lab.git("rev-parse", "HEAD") == theirs
    assert lab.boxes() == "xxx " and lab.state()["iteration"] == 2
    lab.sound(agrees=True)


@pytest.mark.slow
def test_what_no_commit_holds_is_moved_away_and_named(lab: Lab) -> None:
    lab.write(".gitignore", "build/\n")
    ready(lab, """
        case "$AIGON_ITERATION" in
            1) touch one.txt; echo a file > build ;;
            2) rm one.txt build; mkdir build; echo precious > build/notes.txt ;;
        esac
    """, *CRITERIA)  # fmt: skip
    lab.commit("ready")
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "2", *BACK), 3)
    assert lab.read("build") == "a file\n"
    (kept,) = (path for path in lab.path(".git/aigon/displaced").iterdir() if path.name.endswith("-build"))
    assert (kept / "notes.txt").read_text() == "precious\n" and kept.name in ran.out
    lab.sound(agrees=True)


@pytest.mark.slow
def test_the_events_say_it_to_programs(lab: Lab) -> None:
    ready(lab)
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "4", *BACK, "--json"), 3)
    kinds = [event["event"] for event in ran.events]
    assert kinds[-3:] == ["parked", "rolled_back", "run_finished"]
    assert (ran.events[-2]["number"], ran.events[-2]["schema_version"]) == (2, 1)


# kill -9


def as_before_it_moved(lab: Lab) -> None:
    """Branch, index and files as they were when only the journal knew."""
    lab.git("reset", "-q", "--hard", named(lab, "rolled_back")[0]["from_commit"])


def as_when_only_the_branch_had_moved(lab: Lab) -> None:
    as_before_it_moved(lab)
    lab.git("reset", "-q", "--soft", named(lab, "rolled_back")[0]["commit"])


def as_with_files_half_back(lab: Lab) -> None:
    as_when_only_the_branch_had_moved(lab)
    lab.path("more.txt").unlink()
    lab.write("two.txt", "")


@pytest.mark.slow
@pytest.mark.parametrize("broken_off", [as_before_it_moved, as_when_only_the_branch_had_moved, as_with_files_half_back])
def test_a_kill_on_the_way_back_is_made_good_by_the_resume(lab: Lab, broken_off: Any) -> None:
    faded(lab, *BACK)
    broken_off(lab)
    cut_after(lab, "rolled_back")
    (ref,), found = parked(lab), checkpoints(lab)
    ran = ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert f"the branch is back at iteration 2; what came after it is saved aside as {ref}" in ran.out
    assert lab.git("rev-parse", "HEAD^") == found[2] and lab.git("rev-parse", ref) == found[4]
    assert lab.read("work.txt") == "second\n" and lab.path("two.txt").exists() and not lab.path("more.txt").exists()
    assert (lab.home / "numbers").read_text().split() == ["1", "2", "3", "4", "5"]
    lab.sound(agrees=True)


@pytest.mark.slow
@pytest.mark.parametrize("broken_off", [as_before_it_moved, as_when_only_the_branch_had_moved])
def test_a_kill_while_the_last_iteration_is_taken_back_is_made_good_by_any_resume(lab: Lab, broken_off: Any) -> None:
    ready(lab)
    ok(lab.aigon(*LOOP, "--max-iterations", "2"), 3)
    ok(lab.aigon(*RESUME, "--resume-from", "last-iteration", "--max-iterations", "1"), 3)
    broken_off(lab)
    cut_after(lab, "rolled_back")
    (ref,), found = parked(lab), checkpoints(lab)
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert lab.git("rev-parse", "HEAD^") == found[1] and lab.git("rev-parse", ref) == found[2]
    assert (lab.home / "numbers").read_text().split() == ["1", "2", "3", "3"]
    lab.sound(agrees=True)


@pytest.mark.slow
def test_a_kill_after_parking_and_before_the_record_of_it_leaves_the_branch(lab: Lab) -> None:
    faded(lab, *BACK)
    as_before_it_moved(lab)
    found = checkpoints(lab)
    cut_after(lab, "iteration_finished")
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert lab.git("rev-parse", "HEAD^") == found[4] and lab.read("work.txt") == "fourth\n"
    lab.sound(agrees=True)


@pytest.mark.slow
def test_a_run_that_is_really_killed_on_the_way_back_goes_on_from_the_best(lab: Lab) -> None:
    ready(lab)
    process = lab.start(*LOOP, "--max-iterations", "4", *BACK)
    files = "state/repos/*/features/42/journal.jsonl"
    until(
        lambda: process.poll() is not None or any("rolled_back" in file.read_text() for file in lab.home.glob(files)),
        60,
    )
    process.send_signal(signal.SIGKILL)
    process.communicate()
    found = checkpoints(lab)
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert lab.git("rev-parse", "HEAD^") == found[2] and lab.git("rev-parse", parked(lab)[0]) == found[4]
    assert (lab.read("work.txt"), lab.state()["iteration"]) == ("second\n", 5)
    lab.sound(agrees=True)


@pytest.mark.slow
def test_a_branch_that_cannot_be_moved_ends_the_run_and_the_resume_goes_back(lab: Lab) -> None:
    lock = lab.path(f".git/refs/heads/{BRANCH}.lock")
    hook = lab.home / "hook"
    hook.write_text(f"#!/bin/sh\ngrep -q '\"number\": *4' && touch {lock}\ntrue\n")
    hook.chmod(0o755)
    lab.config(hooks={"after_iteration": {"command": [str(hook)]}})
    ran = faded(lab, *BACK, code=7)
    assert "git could not move the branch" in ran.err
    assert lab.git("rev-parse", "HEAD") == checkpoints(lab)[4] and lab.read("work.txt") == "fourth\n"
    lock.unlink()
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert lab.git("rev-parse", "HEAD^") == checkpoints(lab)[2] and lab.read("work.txt") == "second\n"
    lab.sound(agrees=True)


@pytest.mark.slow
def test_what_a_person_wrote_since_the_kill_is_parked_and_not_lost(lab: Lab) -> None:
    faded(lab, *BACK)
    as_when_only_the_branch_had_moved(lab)
    cut_after(lab, "rolled_back")
    lab.write("theirs.txt", "a person's\n")
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    (ref,) = (each for each in parked(lab) if each.endswith("-going-back"))
    assert lab.git("show", f"{ref}:theirs.txt") == "a person's"
    lab.sound(agrees=True)


@pytest.mark.slow
def test_commits_of_a_person_since_the_kill_are_kept_in_the_branch(lab: Lab) -> None:
    faded(lab, *BACK)
    as_before_it_moved(lab)
    cut_after(lab, "rolled_back")
    lab.write("theirs.txt", "a person's\n")
    theirs = lab.commit("by hand")
    ran = ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert "commits since the last iteration commit are kept" in ran.out
    assert lab.git("rev-parse", "HEAD^") == theirs
    lab.sound(agrees=True)


@pytest.mark.slow
def test_a_person_who_takes_the_rest_back_goes_on_with_it(lab: Lab) -> None:
    faded(lab, *BACK)
    lab.git("merge", "-q", "--ff-only", parked(lab)[0])
    ran = ok(lab.aigon(*RESUME, "--max-iterations", "1", *KEEP), 3)
    assert "commits since the last iteration commit are kept" in ran.out
    assert lab.read("work.txt") == "fourth\n"
    lab.sound(agrees=True)


@pytest.mark.slow
def test_a_journal_of_an_older_aigon_is_read_and_has_a_best_checkpoint(lab: Lab) -> None:
    faded(lab)
    assert "rolled_back" not in journal(lab).read_text()
    ok(lab.aigon(*RESUME, "--max-iterations", "1", *BACK), 3)
    assert lab.git("rev-parse", "HEAD") == checkpoints(lab)[2]
    assert turns(lab) == 5 and lab.state()["rolled_back"]["undone"] == [3, 4, 5]
    lab.sound(agrees=True)


# in a worktree


@pytest.mark.slow
def test_in_a_worktree_it_is_that_branch_and_those_files_that_go_back(lab: Lab) -> None:
    ready(lab)
    lab.commit("ready")
    ok(lab.aigon(*LOOP, "--worktree", "--max-iterations", "4", *BACK), 3)
    (row,) = lab.aigon("feature-status", "42", "--json").json["features"]
    (lane,) = row["candidates"]
    state, there = lane["state"], Path(lane["worktree"])
    assert (lane["label"], lane["status"], lane["best"], state["iteration"]) == ("mine", "stopped", None, 2)
    assert lab.git("rev-parse", lane["branch"]) == state["checkpoint"] == state["rolled_back"]["commit"]
    assert (there / "work.txt").read_text() == "second\n" and not (there / "more.txt").exists()
    assert lab.git("-C", str(there), "status", "--porcelain") == ""
    assert lane["next"] == "aigon feature-implement 42 --resume --agent mine"
    ok(lab.aigon(*lane["next"].split()[1:], "--max-iterations", "1", *KEEP), 3)
    assert (lab.home / "numbers").read_text().split() == ["1", "2", "3", "4", "5"]
    assert lab.git("rev-parse", f"{lane['branch']}^") == state["checkpoint"]
    assert lab.state(".aigon/loop-state-42-mine.json")["label"] == "mine"
    shown = lab.aigon("feature-status", "42").out
    assert "mine  (mine, worktree): stopped, 3/4 criteria, iteration 5" in shown and f"worktree: {there}" in shown
    log = lab.aigon("feature-status", "42", "--failures").out
    assert "  mine  iteration 1  " in log and "5 failures in 5 attempts" in log
