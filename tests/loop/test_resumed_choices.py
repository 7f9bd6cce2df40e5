"""A resume continues with what its run was started with: agent, model, judge, sandbox, limits."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.lab import DONE_WHEN, Lab, until
from tests.loop.processes import LOOP, RESUME, begun, events, go, journal, left_behind, named, ok
from tests.loop.test_held_up import claude, starts
from tests.loop.test_resume import kill
from tests.scripted_judges import decision, decisions

IN_PLACE = True
WAITS = """
    echo "{name} $AIGON_ITERATION" >> "$HOME/workers"
    touch "$HOME/begun"
    until [ -e "$HOME/go" ]; do sleep 0.02; done
    echo '{{"cost_usd": 0.25}}'
"""


@pytest.fixture
def lab(lab: Lab) -> Lab:
    """A feature that nobody finishes, with two agents; `mine` is the default."""
    lab.spec("never <!-- verify: false -->")
    lab.agent(WAITS.format(name="other"), name="other")
    lab.agent(WAITS.format(name="mine"), name="mine")
    lab.config(proof="in-place")
    return lab


def workers(lab: Lab) -> list[str]:
    """Who began a turn, and which."""
    return (lab.home / "workers").read_text().splitlines()


def choices(lab: Lab) -> list[dict[str, Any]]:
    """What every invocation of the run recorded."""
    return [started["choices"] for started in named(lab, "run_started")]


def rewrite(lab: Lab, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the events of a journal, which then has right sums again."""
    documents = events(lab)
    for document in documents:
        change(document)
    lines = (json.dumps(document, separators=(",", ":")).encode() for document in documents)
    journal(lab).write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(line), line) for line in lines))


def test_after_a_kill_the_recorded_agent_continues_under_the_limits_of_the_run(lab: Lab) -> None:
    flags = ("--agent", "other", "--max-iterations", "2", "--max-cost", "5", "--max-wait", "1h", "--promise", "YES",
             "--idle-timeout", "90s", "--on-partial", "rollback")  # fmt: skip
    process = lab.start(*LOOP, *flags)
    begun(lab, process)
    kill(process)
    until(lambda: not left_behind(lab))
    go(lab)
    lab.config(guards={"maxCost": 100, "idleTimeout": "1h"})
    ran = ok(lab.aigon(*RESUME, env={"AIGON_AGENT": "mine", "AIGON_MODEL": "big", "AIGON_MAX_ITERATIONS": "9"}), 3)
    assert workers(lab) == ["other 1", "other 1", "other 2"]
    assert lab.state()["max_iterations"] == 2
    assert "limit of 2 iterations" in lab.state()["stop_reason"]
    first, second = choices(lab)
    assert first == second
    assert (first["max_cost"], first["idle_timeout"], first["promises"]) == (5.0, 90.0, ["YES"])
    said = next(line for line in ran.out.splitlines() if "Resumed as it was started" in line)
    assert "--agent other" in said and "--max-cost 5 " in said and "--max-iterations 2" in said
    assert "--max-wait" not in said.replace("--max-wait 3600", ""), said


@pytest.mark.slow
def test_another_agent_is_a_warning_before_anything_is_paid(lab: Lab) -> None:
    go(lab)
    ok(lab.aigon(*LOOP, "--agent", "other", "--max-iterations", "1"), 3)
    ran = ok(lab.aigon(*RESUME, "--agent", "mine", "--json"), 3)
    kinds = [(e["event"], e.get("level"), e.get("text", "")) for e in ran.events]
    warning = ("notice", "warning", "mine continues a run that other started. Without --agent, other continues it.")
    assert kinds.index(warning) < next(i for i, kind in enumerate(kinds) if kind[0] == "iteration_started")
    assert workers(lab) == ["other 1", "mine 2"]
    ok(lab.aigon(*RESUME), 3)
    assert workers(lab)[2:] == ["mine 3"], "a resume of a resume continues with the agent of the latter"


def test_a_journal_without_choices_still_names_its_agent(lab: Lab) -> None:
    go(lab)
    ok(lab.aigon(*LOOP, "--agent", "other", "--max-iterations", "1"), 3)
    rewrite(lab, lambda event: event.pop("choices", None))
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert workers(lab) == ["other 1", "other 2"]


def test_an_agent_of_the_run_that_is_gone_is_named_with_the_way_to_continue(lab: Lab) -> None:
    go(lab)
    ok(lab.aigon(*LOOP, "--agent", "other", "--max-iterations", "1"), 3)
    document = json.loads(lab.read(".aigon/config.json"))
    document["agents"].pop("other")
    lab.write(".aigon/config.json", json.dumps(document))
    ran = ok(lab.aigon(*RESUME), 2)
    assert "There is no agent called 'other'" in ran.err and "--agent NAME" in ran.err
    ok(lab.aigon(*RESUME, "--agent", "mine", "--max-iterations", "1"), 3)


def test_what_is_dangerous_to_inherit_is_said_and_can_be_turned_off(lab: Lab) -> None:
    go(lab)
    lab.write(".aigon/validation.sh", "test ! -e red\n")
    lab.env.pop("AIGON_SANDBOX")
    ok(lab.aigon(*LOOP, "--skip-validation", "--sandbox", "none", "--max-iterations", "1"), 3)
    ran = ok(lab.aigon(*RESUME), 3)
    assert "--no-skip-validation runs them" in ran.out and "--sandbox auto turns it on" in ran.out
    assert lab.state()["iterations"][-1]["checks"] == []
    ran = ok(lab.aigon(*RESUME, "--no-skip-validation", "--sandbox", "none"), 3)
    assert "--skip-validation" not in ran.out and "No sandbox, because" not in ran.out
    assert "script" in [check["name"] for check in lab.state()["iterations"][-1]["checks"]]


def test_model_ladder_and_judge_are_those_of_the_run(lab: Lab) -> None:
    answer = decisions(decision(2, "unmet"))
    (lab.home / "judge").write_text(f"#!/bin/sh\ncat > /dev/null; echo '{answer}'\n")
    (lab.home / "judge").chmod(0o755)
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it reads well <!-- judge -->")
    claude(lab, "echo $RANDOM > turn.txt; echo $OK")
    lab.config(judge={"backend": "none"}, guards={"stall": 0, "repeatedError": 0})
    lab.config(ladder=[{"turns": 2, "model": "small"}, {"model": "large"}])
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    lab.config(ladder=[{"model": "dear"}], judge={"backend": "command", "command": [str(lab.home / "judge")]})
    ok(lab.aigon(*RESUME, "--max-iterations", "2"), 3)
    models = [line.partition("--model ")[2].split()[0] for line in starts(lab)]
    assert models == ["small", "small", "large"]
    ok(lab.aigon(*RESUME, "--model", "chosen", "--max-iterations", "1"), 3)
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    models = [line.partition("--model ")[2].split()[0] for line in starts(lab)]
    assert models[3:] == ["chosen", "chosen"]
    assert choices(lab)[-1]["model"] == "chosen" and choices(lab)[-1]["judge"] == "command"


@pytest.mark.slow
def test_an_arena_is_resumed_under_the_limits_that_all_share(lab: Lab) -> None:
    go(lab)
    lab.commit("the feature")
    both = ("--agent", "mine", "--agent", "other")
    ok(lab.aigon(*LOOP, *both, "--max-iterations", "1", "--max-cost", "5", "--max-time", "10m", timeout=100), 3)
    ran = ok(lab.aigon(*RESUME, env={"AIGON_MAX_COST": "9", "AIGON_MAX_ITERATIONS": "3"}, timeout=100), 3)
    assert "$5.00 and 10m 00s for all together" in ran.out
    for journal_ in lab.home.glob("state/repos/*/features/42-*/journal.jsonl"):
        started = [line for line in journal_.read_text().splitlines() if '"event":"run_started"' in line]
        first, second = (json.loads(line.partition(" ")[2])["choices"] for line in started)
        assert first == second
        assert (second["max_iterations"], second["max_cost"], second["max_time"]) == (1, 5.0, 600.0)
