"""Whole features with `--agent api`: aigon as a real process, the agent as its child, the model on loopback."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.agents.api.streaming import bash, cut, edit, ending, streamed, text, use
from tests.lab import Lab, Ran, alive, finish, until
from tests.model_server import ModelServer, Script, refusal


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with a feature that is done when done.txt is there."""
    lab = Lab(tmp_path).init()
    lab.spec("done <!-- verify: grep -q yes done.txt -->")
    lab.commit("spec")
    return lab


def env(server: ModelServer) -> dict[str, str]:
    """What leads the agent to the scripted server."""
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key-of-nobody"}


def ran(lab: Lab, *script: Script, options: tuple[str, ...] = ()) -> Ran:
    """A run against this script."""
    with ModelServer(*script) as server:
        return lab.aigon("feature-implement", "42", "--agent", "api", "--loop", "--json", *options, env=env(server))


def turns(done: Ran) -> list[dict[str, object]]:
    """The turns of a run."""
    return [event["turn"] for event in done.events if event["event"] == "turn_ended"]


def test_a_feature_is_built_over_two_turns_with_everything_going_wrong_on_the_way(lab: Lab) -> None:
    done = ran(
        lab,
        refusal(529, retry_after="0"),
        streamed(use("bash", 1, raw='{"command": no}')),
        bash("echo no > done.txt; ln -s / root; echo x > root/outside-of-it", 2),
        streamed(text("I think that it is there.")),
        refusal(429, retry_after="0"),
        refusal(500, retry_after="0"),
        cut(text("I will ")),
        streamed(edit("str_replace", 3, path="done.txt", old_str="no", new_str="yes")),
        bash("rm -f root", 4),
        ending(),
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    first, second = turns(done)
    assert first["end"] == second["end"] == "finished" and "CONTINUE" in str(first["detail"])
    assert second["cost_status"] == "estimated" and float(str(second["cost"])) > 0
    log = [json.loads(line) for line in next(lab.root.glob(".aigon/runs/*/001/tools.jsonl")).read_text().splitlines()]
    assert [one["failed"] for one in log] == [True, False] and "done.txt" in log[1]["input"]["command"]
    assert not Path("/outside-of-it").exists() and lab.boxes() == "x"


@pytest.mark.slow  # by default: tests/agents/api/test_reply.py, and other agents in tests/loop
def test_a_turn_that_asks_for_a_person_ends_the_run_as_such(lab: Lab) -> None:
    done = ran(lab, ending("NEEDS_HUMAN", "criterion 1 contradicts itself"))
    assert done.code == 4 and "contradicts itself" in done.out, done.out + done.err


@pytest.mark.slow
def test_an_address_where_nobody_answers_is_waited_for_and_costs_no_failed_turn(lab: Lab) -> None:
    lab.config(guards={"firstWait": "200ms"}, agents={"api": {"adapter": "api", "args": ["--attempts", "1"]}})
    nowhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "test-key-of-nobody"}
    command = ("feature-implement", "42", "--agent", "api", "--loop", "--json", "--max-wait", "500ms")
    done = lab.aigon(*command, env=nowhere)
    assert done.code == 6, done.out + done.err
    assert [turn["end"] for turn in turns(done)] == ["unavailable", "unavailable"]
    assert [event["agent"] for event in done.events if event["event"] == "waiting"] == ["api"]


@pytest.mark.slow
def test_a_hang_is_ended_by_the_deadline_and_nothing_of_it_is_left(lab: Lab) -> None:
    mark = f"sleep 62.{os.getpid()}"
    lab.config(guards={"iterationTimeout": 20})  # a busy machine takes some seconds until the model is asked
    done = ran(lab, bash(f"setsid -f {mark}; {mark}"), options=("--max-iterations", "1"))
    [turn] = turns(done)
    assert turn["end"] == "timed_out" and turn["usage"] == {"input": 1000, "output": 100, "cached": 0}
    assert not alive(mark) and not alive("_api/__main__.py --workspace " + str(lab.root))


@pytest.mark.slow
def test_a_signal_ends_the_turn_at_once_and_what_was_spent_is_known(lab: Lab) -> None:
    mark = f"sleep 63.{os.getpid()}"
    with ModelServer(cut(text("a")), bash(mark)) as server:
        process = lab.start("feature-implement", "42", "--agent", "api", "--loop", "--json", env=env(server))
        until(lambda: alive(mark))
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.code == 128 + signal.SIGTERM
    [turn] = turns(done)
    assert turn["end"] == "killed" and float(str(turn["cost"])) > 0.0002
    assert "stopped by a signal" in next(lab.root.glob(".aigon/runs/*/001/agent.log")).read_text()
    assert not alive(mark) and not alive("_api/__main__.py --workspace " + str(lab.root))
