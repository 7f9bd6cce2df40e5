"""An arena with real loops: who is right, who is not, and nobody in another's way."""

import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.lab import DONE_WHEN, SPEC, Lab, alive, finish, until
from tests.loop.rivals import CHEAT, QUICK, STEADY, agents, project, worktree

IN_PLACE = True
ONE_TURN = 'echo "by $AIGON_SLOT" > done.txt'
TWO_TURNS = f'if [ "$AIGON_ITERATION" = 1 ]; then touch half.txt; else {ONE_TURN}; fi'
ALL = ("--agent", "quick", "--agent", "steady", "--agent", "cheat")
pytestmark = pytest.mark.long


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A project, its feature and three agents."""
    project(lab)
    seen = 'mkdir -p "$HOME/seen"; cat > "$HOME/seen/{name}-$AIGON_ITERATION.md"; env > "$HOME/seen/{name}.env"\n'
    scripts = {"quick": QUICK, "steady": STEADY, "cheat": CHEAT}
    agents(lab, **{name: "    " + seen.format(name=name) + script for name, script in scripts.items()})
    return lab


@pytest.fixture
def plain(lab: Lab) -> Lab:
    """A feature that a file proves, without any check, and two agents: what is tried here is not what they build."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    agents(lab, quick=ONE_TURN, steady=TWO_TURNS)
    return lab


def told(lab: Lab, label: str) -> dict[str, Any]:
    """The same while it may not be there yet."""
    return state(lab, label) if lab.path(f".aigon/loop-state-42-{label}.json").exists() else {}


def waiting(lab: Lab) -> None:
    """Two agents that say when they are at work, and go on when they are let."""
    for name, script in (("quick", ONE_TURN), ("steady", TWO_TURNS)):
        wait = f'touch "$HOME/{name}-works"; until [ -f "$HOME/go" ]; do sleep 0.05; done\n'
        lab.agent(wait + script, name=name)
    lab.commit("agents that wait")


def state(lab: Lab, label: str) -> dict[str, Any]:
    """What the state file of a candidate says."""
    return lab.state(f".aigon/loop-state-42-{label}.json")


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_honest_one_is_proposed_on_the_page_and_by_the_comparison_and_merged(ready: Lab) -> None:
    assert ready.aigon("feature-implement", "42", "--loop", *ALL, timeout=120).code == 0
    _the_honest_one_is_proposed_and_merged(ready)


def _the_honest_one_is_proposed_and_merged(lab: Lab) -> None:
    found = lab.aigon("feature-eval", "42", "--json", timeout=120)
    assert (found.code, found.json["proposal"]["winner"]) == (0, "quick"), found.out + found.err
    assert "cheat" in lab.read("docs/specs/features/evaluations/feature-42-eval.md")
    page = lab.aigon("report", "42", "--format", "md").out
    assert "Take this branch, the comparison says: `feature-42-quick-dark-mode`" in page
    asked = lab.aigon("feature-done", "42")
    assert asked.code == 4
    assert "   (quick was proposed by docs/specs/features/evaluations/feature-42-eval.md)\n" in asked.err
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


@pytest.mark.slow
def test_the_base_is_looked_at_once_for_all(plain: Lab) -> None:
    plain.config(checks={"script": {"command": ["bash", "-c", f"echo x >> {plain.home}/counted; test -f done.txt"]}})
    plain.commit("a check that counts")
    ran = plain.aigon("feature-implement", "42", *ALL[:4], "--max-iterations", "1", timeout=120)
    assert ran.code in (0, 3), ran.out + ran.err
    looks = [state(plain, label)["iterations"][0]["checks"][0] for label in ("quick", "steady")]
    assert sorted(look["cached"] for look in looks) == [False, True]
    assert {look["status"] for look in looks} == {"fail"}


@pytest.mark.slow
def test_a_loop_that_is_killed_takes_nobody_along_and_goes_on_afterwards(plain: Lab) -> None:
    plain.agent('test -f "$HOME/go" || sleep 600\n' + TWO_TURNS, name="steady")
    plain.commit("a slow agent")
    arena = plain.start("feature-implement", "42", "--loop", *ALL[:4])
    until(lambda: told(plain, "quick").get("status") == "met" and told(plain, "steady").get("iteration") == 1, 60)
    os.kill(state(plain, "steady")["pid"], signal.SIGKILL)
    ended = finish(arena, 60)
    assert ended.code == 0, ended.out + ended.err
    assert "broken off" in ended.out
    until(lambda: not alive(str(plain.home / "steady-agent")))
    (plain.home / "go").touch()
    ran = plain.aigon("feature-implement", "42", "--resume", "--agent", "steady", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert state(plain, "steady")["status"] == "met"
    plain.sound()


def test_a_deleted_worktree_is_made_again_and_a_conflict_leaves_both_sides(plain: Lab) -> None:
    assert plain.aigon("feature-implement", "42", *ALL[:4], timeout=120).code == 0
    tip = plain.git("rev-parse", "feature-42-steady-dark-mode")
    shutil.rmtree(worktree(plain, "steady"))
    ran = plain.aigon("feature-implement", "42", "--resume", "--agent", "steady", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    plain.git("merge-base", "--is-ancestor", tip, "feature-42-steady-dark-mode")
    assert plain.git("branch", "--show-current") == "main"
    plain.write("done.txt", "a person did it another way\n")
    plain.commit("in the way")
    before = plain.fingerprint()
    ran = plain.aigon("feature-done", "42", "steady", timeout=120)
    assert ran.code == 7, ran.out + ran.err
    assert "done.txt" in ran.err
    assert plain.fingerprint() == before
    plain.sound()


def test_one_of_an_arena_can_be_stopped_and_then_all_of_it(plain: Lab) -> None:
    waiting(plain)
    arena = plain.start("feature-implement", "42", "--loop", *ALL[:4])
    until(lambda: all((plain.home / f"{name}-works").exists() for name in ("quick", "steady")), 60)
    nobody = plain.aigon("stop", "42", "cheat")
    assert (nobody.code, "Running: quick, steady" in nobody.err) == (7, True), nobody.err
    assert "feature 42 (quick) to stop at once" in plain.aigon("stop", "dark-mode", "quick", "--now").out
    until(lambda: state(plain, "quick")["status"] == "interrupted")
    assert (state(plain, "steady")["status"], arena.poll()) == ("running", None)
    assert "feature 42 (steady) to finish" in plain.aigon("stop", "42", cwd=worktree(plain, "steady")).out
    assert arena.stdout is not None
    while "each finishes its iteration" not in arena.stdout.readline():
        assert arena.poll() is None
    (plain.home / "go").touch()
    ended = finish(arena, 60)
    assert ended.code == 130, ended.out + ended.err
    assert (state(plain, "steady")["status"], state(plain, "steady")["iteration"]) == ("interrupted", 1)
    plain.sound()


@pytest.mark.slow
def test_ctrl_c_lets_all_finish_their_iteration_and_resume_goes_on_with_all(plain: Lab) -> None:
    waiting(plain)
    arena = plain.start("feature-implement", "42", "--loop", *ALL[:4])
    until(lambda: all((plain.home / f"{name}-works").exists() for name in ("quick", "steady")), 60)
    arena.send_signal(signal.SIGINT)
    (plain.home / "go").touch()
    ended = finish(arena, 60)
    assert ended.code == 0, ended.out + ended.err  # quick was proven by the iteration that it was allowed to finish
    assert (state(plain, "quick")["status"], state(plain, "steady")["status"]) == ("met", "interrupted")
    ran = plain.aigon("feature-implement", "42", "--resume", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert state(plain, "steady")["status"] == "met"


@pytest.mark.slow
def test_when_the_arena_itself_is_killed_its_loops_end_and_can_go_on(plain: Lab) -> None:
    waiting(plain)
    arena = plain.start("feature-implement", "42", "--loop", *ALL[:4])
    until(lambda: all((plain.home / f"{name}-works").exists() for name in ("quick", "steady")), 60)
    arena.kill()
    arena.communicate(timeout=20)
    until(lambda: all(state(plain, name)["status"] == "interrupted" for name in ("quick", "steady")))
    until(lambda: not any(alive(str(plain.home / f"{name}-agent")) for name in ("quick", "steady")))
    (plain.home / "go").touch()
    ran = plain.aigon("feature-implement", "42", "--resume", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert [state(plain, name)["status"] for name in ("quick", "steady")] == ["met", "met"]
    plain.sound()


def test_an_agent_twice_with_different_models_gets_two_worktrees(plain: Lab) -> None:
    ran = plain.aigon("feature-setup", "42", "claude:opus", "claude:sonnet", "cc", "--json")
    assert ran.code == 0, ran.err
    assert [each["label"] for each in ran.json["candidates"]] == ["cc-opus", "cc-sonnet", "cc"]
    assert [each["slot"] for each in ran.json["candidates"]] == [1, 2, 3]
    twice = plain.aigon("feature-setup", "42", "cc", "claude")
    assert twice.code == 2
    assert "named twice" in twice.err


def test_one_that_comes_later_begins_at_the_same_commit(plain: Lab) -> None:
    assert plain.aigon("feature-setup", "42", "quick").code == 0
    base = plain.git("rev-parse", "main")
    plain.write("later.txt", "main goes on")
    plain.commit("later")
    assert plain.aigon("feature-setup", "42", "quick", "steady").code == 0
    assert plain.git("rev-parse", "feature-42-steady-dark-mode") == base


@pytest.mark.slow
def test_ndjson_names_everybody_and_ends_with_the_end_of_the_arena(plain: Lab) -> None:
    ran = plain.aigon("feature-implement", "42", *ALL[:4], "--max-iterations", "1", "--json", timeout=120)
    events = ran.events
    assert {event["label"] for event in events[:-1] if event.get("label")} >= {"quick", "steady"}
    assert (events[-1]["event"], events[-1]["arena"], events[-1]["exit_code"]) == ("run_finished", True, 0)


def test_the_worktrees_lie_where_git_lists_them(plain: Lab) -> None:
    assert plain.aigon("feature-setup", "42", "quick", "steady").code == 0
    listed = {Path(line.split()[0]).name for line in plain.git("worktree", "list").splitlines()}
    assert {"feature-42-quick-dark-mode", "feature-42-steady-dark-mode"} <= listed
