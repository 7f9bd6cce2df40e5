"""`aigon logs`: what a run does, while it runs and afterwards."""

import json
import signal
from pathlib import Path

from tests.lab import DONE_WHEN, Lab, finish, interrupt, until

SPEAKS = "echo reading the spec; echo token ghp_$(printf a%.0s $(seq 36)) >&1; touch done.txt; echo touched it"


def test_the_log_of_a_run_has_its_events_and_what_the_agent_did_between_them(lab: Lab) -> None:
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent(SPEAKS)
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    ran = lab.aigon("logs", "42")
    lines = [line[9:] for line in ran.out.splitlines()]
    begun = next(number for number, line in enumerate(lines) if line.startswith("iteration 1 of 5: mine is working"))
    steps = ["  prints reading the spec", "  prints token [redacted]", "  prints touched it"]
    assert lines[begun + 1 : begun + 4] == steps
    assert lines[begun + 4].startswith("mine finished after") and lines[-1].startswith("exit code 0")
    assert lab.aigon("logs", "42", "--raw").out == "reading the spec\ntoken [redacted]\ntouched it\n"
    documents = lab.aigon("logs", "42", "--json").events
    assert next(each["text"] for each in documents if each["event"] == "activity") == "reading the spec"
    assert documents[0]["event"] == "run_started" and documents[-1]["event"] == "run_finished"


def test_a_run_in_another_terminal_is_followed_to_its_end(lab: Lab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent(f"echo at work; while [ ! -e {gate} ]; do sleep 0.05; done; echo on it; touch done.txt")
    loop = lab.start("feature-implement", "42", "--loop")
    until(lambda: "prints at work" in lab.aigon("logs", "42").out)
    follower = lab.start("logs", "42", "-f")
    given_up = lab.start("logs", "42", "-f")
    assert follower.stdout and given_up.stdout
    while "at work" not in given_up.stdout.readline():
        pass
    interrupt(given_up, signal.SIGINT)
    assert finish(given_up).code == 130
    assert loop.poll() is None, "following must not stop the loop"
    gate.touch()
    assert finish(loop).code == 0
    followed = finish(follower)
    assert followed.code == 0 and "prints on it" in followed.out and "exit code 0" in followed.out.splitlines()[-1]


def test_a_feature_or_agent_without_a_run_is_named_with_what_to_do(lab: Lab) -> None:
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    none = lab.aigon("logs", "42")
    assert none.code == 2 and "Feature 42 has not run" in none.err and "--loop" in none.err
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    other = lab.aigon("logs", "42", "--agent", "claude")
    assert other.code == 2 and "There: mine" in other.err
    assert lab.aigon("logs", "42", "--raw", "--json").code == 2
    assert json.loads(lab.aigon("logs", "42", "--json").out.splitlines()[0])["schema_version"] == 1


def test_a_resumed_run_is_counted_as_it_counted_itself(lab: Lab) -> None:
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent("[ $AIGON_ITERATION = 2 ] && touch done.txt; echo $AIGON_ITERATION >> log.txt")
    assert lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 3
    again = lab.aigon("feature-implement", "42", "--resume", "--max-iterations", "2")
    assert again.code == 0
    logged = lab.aigon("logs", "42").out
    said = [line[9:] for line in again.out.splitlines() if "iteration 2 of 3" in line]
    assert said and [line[9:] for line in logged.splitlines() if "iteration 2 of" in line] == said
