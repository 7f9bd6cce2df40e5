"""Usage limits, overloads and bad keys: waited for, stood in for, or said, and no iteration is used up by them."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab import DONE_WHEN, Lab, finish, until

OPEN = f"it is done <!-- verify: {DONE_WHEN} -->"


@pytest.fixture
def open_feature(lab: Lab) -> Lab:
    """A feature that wants done.txt, proved in place: the clean room is not what this is about."""
    lab.spec(OPEN)
    lab.config(proof="in-place")
    return lab


def claude(lab: Lab, *turns: str) -> None:
    """A stand-in for Claude Code that does a line of shell per start, the last one again and again."""
    said = {
        "LIMIT": _record(
            api_error_status=429, is_error=True, terminal_reason="api_error", result="hit your 5-hour limit"
        ),
        "BUSY": _record(api_error_status=529, is_error=True, terminal_reason="api_error", result="Overloaded"),
        "LOST": _record(
            is_error=True, terminal_reason="api_error", result="API Error: Connection refused (ECONNREFUSED)"
        ),
        "CREDIT": _record(
            api_error_status=400, is_error=True, terminal_reason="api_error", result="Credit balance is too low"
        ),
        "KEY": _record(api_error_status=401, is_error=True, terminal_reason="api_error", result="Invalid API key"),
        "OK": _record(),
        "DENIED": _record(permission_denials=[{"tool_name": "Write", "tool_input": {"file_path": "secret.py"}}]),
    }
    program = lab.home / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    cases = "".join(f"{n}) {turn};;\n" for n, turn in enumerate(turns, 1))
    records = "".join(f"{name}='{line}'\n" for name, line in said.items())
    program.write_text(
        '#!/usr/bin/env bash\nset -u\n[ "${1:-}" = --version ] && exit\n'
        f"{records}"
        'until_() { echo "{\\"type\\":\\"rate_limit_event\\",\\"rate_limit_info\\":{\\"status\\":\\"rejected\\",'
        '\\"resetsAt\\":$(( $(date +%s) + $1 ))}}"; }\n'
        f'cat > /dev/null; echo "$*" >> {lab.home}/argv; n=$(wc -l < {lab.home}/argv)\n'
        f"[ $n -gt {len(turns)} ] && n={len(turns)}\n"
        f"case $n in\n{cases}esac\n"
    )
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}:{lab.env['PATH']}"
    lab.config(defaultAgent="claude")


def _record(**fields: Any) -> str:
    good = {
        "type": "result",
        "is_error": False,
        "terminal_reason": "completed",
        "result": "Done.",
        "total_cost_usd": 0.5,
    }
    return json.dumps(good | fields)


def starts(lab: Lab) -> list[str]:
    """The command line of every start of the stand-in."""
    return (lab.home / "argv").read_text().splitlines()


def test_a_usage_limit_is_waited_for_until_it_resets_and_uses_up_no_iteration(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo half > half.txt; until_ 8; echo $LIMIT; exit 1", "test -f half.txt && touch done.txt; echo $OK")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", "--max-time", "60s", "--json")
    assert ran.code == 0, ran.out + ran.err
    names = [event["event"] for event in ran.events if event["event"] in ("iteration_started", "turn_ended", "waiting")]
    assert names == ["iteration_started", "turn_ended", "waiting", "iteration_started", "turn_ended"]
    wait = next(event for event in ran.events if event["event"] == "waiting")
    assert 0 < wait["seconds"] < 15 and "5-hour limit" in wait["reason"]
    assert [it["number"] for it in lab.state()["iterations"]] == [0, 1]
    assert lab.git("show", "HEAD:half.txt") == "half"
    prompt = next(lab.path(".aigon/runs").glob("*/001/prompt.md")).read_text()
    assert "A turn before yours was cut off" in prompt
    assert sorted(p.name for p in lab.path(".aigon/runs").glob("*/001/agent*.log")) == ["agent-2.log", "agent.log"]


def test_an_overload_and_a_lost_network_are_tried_again_with_growing_patience(open_feature: Lab) -> None:
    lab = open_feature
    lab.config(guards={"firstWait": "1s"})
    claude(lab, "echo $LOST; exit 1", "echo $BUSY; exit 1", "touch done.txt; echo $OK")
    ran = lab.aigon("feature-implement", "42", "--loop", "--json")
    assert ran.code == 0, ran.out + ran.err
    waits = [event["seconds"] for event in ran.events if event["event"] == "waiting"]
    assert len(waits) == 2
    assert waits[0] <= 1 < 1.3 < waits[1] <= 2
    assert lab.state()["iteration"] == 1


def test_too_long_a_wait_ends_the_run_resumable_and_costs_no_iteration(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo half > half.txt; until_ 7200; echo $LIMIT; exit 1", "touch done.txt; echo $OK")
    begun = time.monotonic()
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-wait", "1h")
    assert ran.code == 6, ran.out + ran.err
    assert time.monotonic() - begun < 30
    state = lab.state()
    assert (state["status"], state["iterations"][-1]["turn"]) == ("unavailable", "usage_limit")
    assert lab.git("show", "HEAD:half.txt") == "half"
    again = lab.aigon("feature-implement", "42", "--resume", "--max-iterations", "1")
    assert again.code == 0, again.out + again.err
    prompt = next(lab.path(".aigon/runs").glob("*/002/prompt.md")).read_text()
    assert "A turn before yours was cut off" in prompt and "Try a different approach" not in prompt


def test_before_a_long_wait_what_the_turn_did_is_judged_and_may_be_enough(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "touch done.txt; until_ 7200; echo $LIMIT; exit 1", "exit 9")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert (len(starts(lab)), lab.state()["iterations"][1]["turn"]) == (1, "usage_limit")
    assert "waiting" not in ran.out


@pytest.mark.slow
def test_ctrl_c_ends_the_waiting_and_keeps_what_was_done(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo half > half.txt; until_ 3600; echo $LIMIT; exit 1", "touch done.txt; echo $OK")
    running = lab.start("feature-implement", "42", "--loop")
    until(lambda: lab.path(".aigon/loop-state-42.json").exists() and bool(lab.state()["waiting"]))
    running.send_signal(signal.SIGINT)
    assert finish(running).code == 130
    assert lab.git("show", "HEAD:half.txt") == "half"
    assert lab.aigon("feature-implement", "42", "--resume").code == 0


def test_stopped_while_it_waits_it_loses_nothing_and_exits_as_documented(
    open_feature: Lab,
) -> None:
    lab = open_feature
    claude(
        lab,
        "echo half > half.txt; until_ 3600; echo $LIMIT; exit 1",
        "until_ 3600; echo $LIMIT; exit 1",
        "test -f half.txt && touch done.txt; echo $OK",
    )

    def waits() -> bool:
        return lab.path(".aigon/loop-state-42.json").exists() and bool(lab.state()["waiting"])

    running = lab.start("feature-implement", "42", "--loop")
    until(waits)
    running.terminate()
    assert finish(running).code == 143
    running = lab.start("feature-implement", "42", "--resume")
    until(lambda: len(starts(lab)) == 2 and waits())
    lab.write(".aigon/STOP", "")
    assert finish(running).code == 3
    lab.path(".aigon/STOP").unlink()
    last = lab.aigon("feature-implement", "42", "--resume", "--max-iterations", "1")
    assert last.code == 0, last.out + last.err
    assert lab.git("show", "HEAD:half.txt") == "half"


def test_a_turn_that_was_turned_away_and_changed_nothing_is_no_iteration(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo $KEY; exit 1", "until_ 300; echo $LIMIT; exit 1", "touch done.txt; echo $OK")
    refused = lab.aigon("feature-implement", "42", "--loop")
    assert refused.code == 6, refused.out + refused.err
    before = lab.git("log", "--format=%s")
    assert "iteration" not in before
    running = lab.start("feature-implement", "42", "--resume")
    until(lambda: bool(lab.state()["waiting"]))
    running.send_signal(signal.SIGINT)
    assert finish(running).code == 130
    assert (lab.git("log", "--format=%s"), len(starts(lab))) == (before, 2)
    done = lab.aigon("feature-implement", "42", "--resume")
    assert done.code == 0, done.out + done.err
    assert [each["number"] for each in lab.state()["iterations"]] == [0, 1]


def test_killed_while_it_waits_the_run_goes_on_with_what_the_turn_left(open_feature: Lab) -> None:
    lab = open_feature
    claude(
        lab, "echo half > half.txt; until_ 3600; echo $LIMIT; exit 1", "test -f half.txt && touch done.txt; echo $OK"
    )
    running = lab.start("feature-implement", "42", "--loop")
    until(lambda: lab.path(".aigon/loop-state-42.json").exists() and bool(lab.state()["waiting"]))
    running.kill()
    finish(running)
    ran = lab.aigon("feature-implement", "42", "--resume", "--max-iterations", "1")
    assert ran.code == 0, ran.out + ran.err
    assert lab.git("show", "HEAD:half.txt") == "half"


def test_a_stand_in_takes_over_from_an_agent_without_a_balance(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo half > half.txt; echo $CREDIT; exit 1")
    lab.agent("test -f half.txt && touch done.txt", name="other")
    lab.config(defaultAgent="claude", fallback=["gone", "other"], agents={"gone": {"command": ["./not-there"]}})
    ran = lab.aigon("feature-implement", "42", "--loop", "--json")
    assert ran.code == 0, ran.out + ran.err
    assert [e["agent"] for e in ran.events if e["event"] == "iteration_started"] == ["claude", "other"]
    assert lab.state()["iterations"][-1]["agent"] == "other"
    assert "Aigon-Agent: other" in lab.git("log", "-1", "--format=%B")
    assert any("gone cannot start" in e.get("text", "") for e in ran.events)


def test_one_that_does_not_start_any_more_is_stood_in_for(open_feature: Lab) -> None:
    lab = open_feature
    program = lab.home / "leaving.sh"
    program.write_text('#!/bin/sh\necho 1 > one.txt; rm -- "$0"\n')
    program.chmod(0o755)
    lab.agent("test -f one.txt && touch done.txt", name="other")
    lab.config(defaultAgent="leaving", fallback=["other"], agents={"leaving": {"command": [str(program)]}})
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2", "--json")
    assert ran.code == 0, ran.out + ran.err
    assert [e["agent"] for e in ran.events if e["event"] == "iteration_started"] == ["leaving", "leaving", "other"]


def test_an_overload_that_costs_money_is_not_tried_again_beyond_the_limit(open_feature: Lab) -> None:
    lab = open_feature
    lab.config(guards={"firstWait": "50ms"})
    claude(lab, "echo $BUSY; exit 1")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-cost", "1")
    assert ran.code == 6, ran.out + ran.err
    assert (len(starts(lab)), lab.state()["spend"]["usd"]) == (2, 1.0)


def test_a_bad_key_is_said_at_once_and_never_waited_for(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo $KEY; exit 1")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 6, ran.out + ran.err
    assert "Next: log in to Claude Code (run `claude` once, or export ANTHROPIC_API_KEY), then aigon " in ran.out
    assert "bad credentials (401): Invalid API key" in lab.state()["stop_reason"]
    assert len(starts(lab)) == 1


def test_what_an_agent_was_denied_is_on_the_console_in_the_log_and_in_the_report(open_feature: Lab) -> None:
    lab = open_feature
    claude(lab, "echo $DENIED")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1")
    assert ran.code == 3 and ", denied: Write: secret.py, cost" in ran.out, ran.out + ran.err
    log = lab.read("docs/specs/features/logs/feature-42-dark-mode-log.md")
    assert "- Denied permissions: `Write: secret.py`" in log
    page = lab.home / "report.html"
    assert lab.aigon("report", "42", "--output", str(page)).code == 0
    assert "Denied permissions: Write: secret.py" in page.read_text()


def test_the_ladder_of_claude_is_climbed_by_the_number_of_the_turn_and_shows(open_feature: Lab) -> None:
    lab = open_feature
    lab.config(guards={"stall": 0, "repeatedError": 0})
    claude(lab, *("echo $RANDOM$SECONDS > turn.txt; echo $OK" for _ in range(6)))
    lab.spec("it is done <!-- verify: cat turn.txt; false -->")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "6", "--json")
    assert ran.code == 3, ran.out + ran.err
    flags = [line.partition("--model ")[2].replace("--effort ", "") for line in starts(lab)]
    assert flags[0] == flags[1] == "sonnet" and flags[2] == "sonnet high" and flags[3] == "opus"
    assert flags[-1] == "opus max"
    assert lab.state()["iterations"][3]["rung"] == {"number": 2, "of": 4, "effort": "high"}
    assert "Aigon-Rung: 2/4 sonnet high" in lab.git("log", "-1", "--skip=3", "--format=%B")
    log = lab.read("docs/specs/features/logs/feature-42-dark-mode-log.md")
    assert "- Step: 4/4 opus max" in log


def test_a_failure_that_comes_back_asks_for_another_approach(open_feature: Lab) -> None:
    lab = open_feature
    lab.agent('cp "$AIGON_PROMPT_FILE" ~/prompt-$AIGON_ITERATION.md; echo $AIGON_ITERATION > turn.txt')
    lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "3")
    said = ["Try a different approach" in (lab.home / f"prompt-{n}.md").read_text() for n in (1, 2, 3)]
    assert said == [False, False, True]
    assert "after iteration 1" in (lab.home / "prompt-3.md").read_text()


def test_promises_are_written_down_as_kept_or_broken_and_end_nothing(open_feature: Lab) -> None:
    lab = open_feature
    lab.agent(
        """
        grep -q '<promise>TESTS_PASS</promise>' "$AIGON_PROMPT_FILE" || exit 9
        [ "$AIGON_ITERATION" = 2 ] && touch done.txt
        echo "<promise>ALL_DONE</promise> <promise>all_done</promise> <promise>other</promise>"
        """
    )
    ran = lab.aigon("feature-implement", "42", "--loop", "--promise", "TESTS_PASS", "--promise", "ALL_DONE")
    assert ran.code == 0, ran.out + ran.err
    promises = [iteration["promises"] for iteration in lab.state()["iterations"]]
    assert [[(p["text"], p["kept"]) for p in each] for each in promises] == [
        [],
        [("ALL_DONE", False)],
        [("ALL_DONE", True)],
    ]
    log = lab.read("docs/specs/features/logs/feature-42-dark-mode-log.md")
    assert "- Promise `ALL_DONE`: broken (not passed: criterion 1)" in log
    assert "- Promise `ALL_DONE`: kept" in log


def test_a_turn_starts_only_if_what_is_left_covers_what_such_a_turn_used_to_cost(open_feature: Lab) -> None:
    lab = open_feature
    lab.config(guards={"stall": 0, "repeatedError": 0})
    claude(lab, "echo $RANDOM > turn.txt; echo $OK")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-cost", "1.2")
    assert ran.code == 5, ran.out + ran.err
    assert len(starts(lab)) == 2
    assert "such a turn costs about $0.50" in lab.state()["stop_reason"]
    budgets = [line.partition("--max-budget-usd ")[2] for line in starts(lab)]
    assert budgets == ["1.20", "0.70"]
    again = lab.aigon("feature-implement", "42", "--loop", "--max-cost", "0.6")
    assert again.code == 5
    assert (lab.state()["spend"]["usd"], lab.state()["feature_spend"]["usd"]) == (0.5, 1.5)


def test_unknown_cost_under_a_limit_is_refused_unless_allowed(open_feature: Lab) -> None:
    lab = open_feature
    lab.agent("echo $RANDOM > turn.txt")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-cost", "1")
    assert ran.code == 5, ran.out + ran.err
    assert lab.state()["iteration"] == 1 and "allowUnknownCost" in lab.state()["stop_reason"]
    lab.write(".aigon/agents/silent.yaml", "title: Silent\nprogram: 'true'\nreads: text\n")
    refused = lab.aigon("feature-implement", "42", "--loop", "--max-cost", "1", "--agent", "silent")
    assert (refused.code, "does not report what its turns cost" in refused.err) == (2, True)
    lab.config(guards={"allowUnknownCost": True})
    allowed = lab.aigon("feature-implement", "42", "--loop", "--max-cost", "1", "--max-iterations", "2")
    assert allowed.code == 3, allowed.out + allowed.err


def test_a_program_of_ones_own_can_say_that_it_is_held_up(open_feature: Lab, tmp_path: Path) -> None:
    lab = open_feature
    lab.agent(
        f"""
        [ -e {tmp_path}/again ] && touch done.txt && exit
        touch {tmp_path}/again
        echo '{{"end": "usage_limit", "resets_at": '$(( $(date +%s) + 3 ))'}}'
        """
    )
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1")
    assert ran.code == 0, ran.out + ran.err
    assert "waiting for mine until" in ran.out
    assert " · waited " in ran.out
