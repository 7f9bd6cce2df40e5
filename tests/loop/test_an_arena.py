"""An arena with real loops: who is right, who is not, and nobody in another's way."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.lab import SPEC, Lab, alive, finish, until
from tests.loop.rivals import CHEAT, QUICK, STEADY, agents, project, worktree

ALL = ("--agent", "quick", "--agent", "steady", "--agent", "cheat")


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A project, its feature and three agents."""
    project(lab)
    seen = 'mkdir -p "$HOME/seen"; cat > "$HOME/seen/{name}-$AIGON_ITERATION.md"; env > "$HOME/seen/{name}.env"\n'
    scripts = {"quick": QUICK, "steady": STEADY, "cheat": CHEAT}
    agents(lab, **{name: "    " + seen.format(name=name) + script for name, script in scripts.items()})
    return lab


def state(lab: Lab, label: str) -> dict[str, Any]:
    """What the state file of a candidate says."""
    return lab.state(f".aigon/loop-state-42-{label}.json")


def test_three_agents_side_by_side_come_to_what_each_of_them_is_worth(ready: Lab) -> None:
    ran = ready.aigon("feature-implement", "42", "--loop", *ALL, timeout=120)
    assert ran.code == 0, ran.out + ran.err
    quick, steady, cheat = (state(ready, label) for label in ("quick", "steady", "cheat"))
    assert (quick["status"], quick["iteration"], quick["mode"]) == ("met", 1, "arena")
    assert (steady["status"], steady["iteration"]) == ("met", 3)
    assert (cheat["status"], cheat["criteria_met"]) == ("stopped", 1)
    assert quick["base_commit"] == steady["base_commit"] == cheat["base_commit"] == ready.git("rev-parse", "main")
    for label in ("quick", "steady", "cheat"):
        there = worktree(ready, label)
        log = there / f"docs/specs/features/logs/feature-42-{label}-dark-mode-log.md"
        assert "## Iteration 1" in log.read_text()
        assert len(list(log.parent.iterdir())) == 1
    assert "- [x]" not in ready.read(SPEC)
    assert ready.git("branch", "--show-current") == "main"
    ready.sound()
    _nobody_knows_of_another(ready)
    _the_honest_one_is_proposed_and_merged(ready)


def _the_honest_one_is_proposed_and_merged(lab: Lab) -> None:
    found = lab.aigon("feature-eval", "42", "--json", timeout=120)
    assert (found.code, found.json["proposal"]["winner"]) == (0, "quick"), found.out + found.err
    assert "cheat" in lab.read("docs/specs/features/evaluations/feature-42-eval.md")
    page = lab.aigon("report", "42", "--format", "md").out
    assert "Take this branch, the comparison says: `feature-42-quick-dark-mode`" in page
    asked = lab.aigon("feature-done", "42")
    assert asked.code == 4
    assert "quick was proposed" in asked.err
    done = lab.aigon("feature-done", "42", "quick", timeout=120)
    assert done.code == 0, done.out + done.err
    assert "def double" in lab.read("calc.py")
    assert lab.path("test_calc.py").exists()
    assert "- [x]" in lab.read("docs/specs/features/05-done/feature-42-dark-mode.md")
    kept = lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/arena/42").splitlines()
    assert kept == ["refs/aigon/arena/42/cheat", "refs/aigon/arena/42/steady"]
    assert len(lab.git("worktree", "list").splitlines()) == 1
    lab.sound()


def _nobody_knows_of_another(lab: Lab) -> None:
    """No prompt, no environment, no log and no page of one names another, its branch or its worktree."""
    names = ("quick", "steady", "cheat")
    runs = {name: lab.path(".aigon/runs") / str(state(lab, name)["run_id"]) for name in names}
    for name in names:
        texts = [*(lab.home / "seen").glob(f"{name}*"), *runs[name].rglob("*.md")]
        texts.append(worktree(lab, name) / f"docs/specs/features/logs/feature-42-{name}-dark-mode-log.md")
        assert len(texts) > 3
        for text in texts:
            said = text.read_text().replace(str(lab.home), "")
            for rival in names:
                if rival != name:
                    assert not re.search(rf"\b{rival}\b|{runs[rival].name}", said), (text, rival)


def test_the_base_is_looked_at_once_for_all(ready: Lab) -> None:
    ready.write("count.sh", "echo x >> ../counted; python3 -m pytest -q\n")
    ready.config(checks={"tests": {"command": f"bash -c 'echo x >> {ready.home}/counted; python3 -m pytest -q'"}})
    ready.commit("count")
    ran = ready.aigon("feature-implement", "42", *ALL[:4], "--max-iterations", "1", timeout=120)
    assert ran.code in (0, 3), ran.out + ran.err
    events = [ready.path(".aigon/runs") / str(state(ready, label)["run_id"]) / "000" for label in ("quick", "steady")]
    looks = [json.dumps(state(ready, label)["iterations"][0]["checks"]) for label in ("quick", "steady")]
    assert any('"cached": true' in look for look in looks), (looks, events)


def test_a_loop_that_is_killed_takes_nobody_along_and_goes_on_afterwards(ready: Lab) -> None:
    ready.agent('test -f "$HOME/go" || sleep 600\n' + STEADY, name="steady")
    ready.commit("a slow agent")
    arena = ready.start("feature-implement", "42", "--loop", *ALL[:4])
    until(lambda: ready.path(".aigon/loop-state-42-quick.json").exists() and state(ready, "quick")["status"] == "met")
    until(lambda: state(ready, "steady")["iteration"] == 1)
    os.kill(state(ready, "steady")["pid"], signal.SIGKILL)
    ended = finish(arena, 60)
    assert ended.code == 0, ended.out + ended.err
    assert "broken off" in ended.out
    until(lambda: not alive(str(ready.home / "steady-agent")))
    (ready.home / "go").touch()
    ran = ready.aigon("feature-implement", "42", "--resume", "--agent", "steady", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert state(ready, "steady")["status"] == "met"
    ready.sound()


def test_a_worktree_that_was_deleted_is_made_again_from_its_branch(ready: Lab) -> None:
    assert ready.aigon("feature-implement", "42", *ALL[:4], timeout=120).code == 0
    tip = ready.git("rev-parse", "feature-42-steady-dark-mode")
    shutil.rmtree(worktree(ready, "steady"))
    ran = ready.aigon("feature-implement", "42", "--resume", "--agent", "steady", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    ready.git("merge-base", "--is-ancestor", tip, "feature-42-steady-dark-mode")
    assert ready.git("branch", "--show-current") == "main"
    ready.sound()


def test_ctrl_c_lets_all_finish_their_iteration_and_resume_goes_on_with_all(ready: Lab) -> None:
    for name, script in (("quick", QUICK), ("steady", STEADY)):
        wait = f'touch "$HOME/{name}-works"; until [ -f "$HOME/go" ]; do sleep 0.05; done\n'
        ready.agent(wait + script, name=name)
    ready.commit("agents that wait")
    arena = ready.start("feature-implement", "42", "--loop", *ALL[:4])
    until(seconds=60, condition=lambda: all((ready.home / f"{name}-works").exists() for name in ("quick", "steady")))
    arena.send_signal(signal.SIGINT)
    (ready.home / "go").touch()
    ended = finish(arena, 60)
    assert ended.code == 0, ended.out + ended.err  # quick was proven by the iteration that it was allowed to finish
    assert (state(ready, "quick")["status"], state(ready, "steady")["status"]) == ("met", "interrupted")
    ran = ready.aigon("feature-implement", "42", "--resume", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert state(ready, "steady")["status"] == "met"


def test_when_the_arena_itself_is_killed_its_loops_end_and_can_go_on(ready: Lab) -> None:
    for name, script in (("quick", QUICK), ("steady", STEADY)):
        wait = f'touch "$HOME/{name}-works"; until [ -f "$HOME/go" ]; do sleep 0.05; done\n'
        ready.agent(wait + script, name=name)
    ready.commit("agents that wait")
    arena = ready.start("feature-implement", "42", "--loop", *ALL[:4])
    until(seconds=60, condition=lambda: all((ready.home / f"{name}-works").exists() for name in ("quick", "steady")))
    arena.kill()
    arena.communicate(timeout=20)
    until(lambda: all(state(ready, name)["status"] == "interrupted" for name in ("quick", "steady")))
    until(lambda: not any(alive(str(ready.home / f"{name}-agent")) for name in ("quick", "steady")))
    (ready.home / "go").touch()
    ran = ready.aigon("feature-implement", "42", "--resume", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert [state(ready, name)["status"] for name in ("quick", "steady")] == ["met", "met"]
    ready.sound()


def test_an_agent_twice_with_different_models_gets_two_worktrees(ready: Lab) -> None:
    ran = ready.aigon("feature-setup", "42", "claude:opus", "claude:sonnet", "cc", "--json")
    assert ran.code == 0, ran.err
    assert [each["label"] for each in ran.json["candidates"]] == ["cc-opus", "cc-sonnet", "cc"]
    assert [each["slot"] for each in ran.json["candidates"]] == [1, 2, 3]
    twice = ready.aigon("feature-setup", "42", "cc", "claude")
    assert twice.code == 2
    assert "named twice" in twice.err


def test_one_that_comes_later_begins_at_the_same_commit(ready: Lab) -> None:
    assert ready.aigon("feature-setup", "42", "quick").code == 0
    base = ready.git("rev-parse", "main")
    ready.write("later.txt", "main goes on")
    ready.commit("later")
    assert ready.aigon("feature-setup", "42", "quick", "steady").code == 0
    assert ready.git("rev-parse", "feature-42-steady-dark-mode") == base


def test_ndjson_names_everybody_and_ends_with_the_end_of_the_arena(ready: Lab) -> None:
    ran = ready.aigon("feature-implement", "42", *ALL[:4], "--max-iterations", "1", "--json", timeout=120)
    events = ran.events
    assert {event["label"] for event in events[:-1] if event.get("label")} >= {"quick", "steady"}
    assert (events[-1]["event"], events[-1]["arena"], events[-1]["exit_code"]) == ("run_finished", True, 0)


def test_the_worktrees_lie_where_git_lists_them(ready: Lab) -> None:
    assert ready.aigon("feature-setup", "42", "quick", "steady").code == 0
    listed = {Path(line.split()[0]).name for line in ready.git("worktree", "list").splitlines()}
    assert {"feature-42-quick-dark-mode", "feature-42-steady-dark-mode"} <= listed
