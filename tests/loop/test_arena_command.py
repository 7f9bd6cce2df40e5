"""`aigon arena` as a command: who takes part, and what is refused before anything is made."""

import json

import pytest

from tests.hooks.test_notify import server, status
from tests.lab import DONE_WHEN, Lab
from tests.loop import rivals


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A project with two agents."""
    lab.config(proof="in-place")
    rivals.project(lab)
    rivals.agents(lab, quick=rivals.QUICK, steady=rivals.STEADY)
    return lab


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "An arena needs two agents or more"),
        (("--agents", "quick"), "An arena needs two agents or more"),
        (("--agents", "quick,quick"), "quick is named twice"),
        (("--agents", "quick,nobody"), "nobody"),
        (("--agents", "quick,steady", "--model", "opus"), "--model"),
        (("--agents", "quick,steady", "--parallel", "0"), "--parallel"),
    ],
)
def test_a_slip_is_refused_before_anything_is_made(ready: Lab, options: tuple[str, ...], said: str) -> None:
    before = ready.fingerprint()
    ran = ready.aigon("arena", "42", *options)
    assert ran.code == 2 and said in ran.err, ran.err
    assert ready.fingerprint() == before


def test_for_programs_a_refusal_is_the_last_event(ready: Lab) -> None:
    ran = ready.aigon("arena", "41", "--agents", "quick,steady", "--json")
    last = ran.events[-1]
    assert (ran.code, last["event"], last["arena"], last["outcome"]) == (2, "run_finished", True, "refused")
    assert "41" in last["error"]["what"] and "41" in ran.err


@pytest.mark.slow
def test_two_agents_do_a_feature_side_by_side_and_go_on_by_themselves(lab: Lab) -> None:
    lab.config(proof="in-place", judge={"backend": "none"})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    rivals.agents(lab, quick="touch done.txt", steady='[ "$AIGON_ITERATION" = 1 ] && touch half.txt || touch done.txt')
    with server(status(204)) as (url, got):
        lab.config(notify=[{"webhook": url}])
        ran = lab.aigon("arena", "42", "--agents", "quick,steady", "--max-iterations", "1", "--parallel", "2")
    assert ran.code == 0, ran.out + ran.err
    (told,) = map(json.loads, got)
    assert (told["status"], told["agent"], told["criteria"]) == ("met", "quick", {"met": 1, "total": 1})
    assert [each["status"] for each in told["candidates"]] == ["met", "stopped"] and "steady stopped" in told["text"]
    lab.config(notify=[])
    quick, steady = (next(row for row in ran.out.splitlines() if row.startswith(name)) for name in ("quick", "steady"))
    assert quick.split()[:5] == ["quick", "proven", "1", "of", "1"]
    assert steady.split()[:5] == ["steady", "stopped", "0", "of", "1"]
    assert "2 agents, all at once: --parallel 2" in ran.out
    assert ran.out.rstrip().endswith("resume steady: aigon feature-implement 42 --resume --agent steady")
    again = lab.aigon("arena", "42", "--resume", "--json")
    assert again.code == 0, again.out + again.err
    ends = {one["label"]: one for one in again.events[-1]["candidates"]}
    assert (ends["quick"]["status"], ends["steady"]["status"], ends["steady"]["iterations"]) == ("met", "met", 2)
    assert lab.state(".aigon/loop-state-42-steady.json")["mode"] == "arena"


@pytest.mark.slow
def test_if_all_are_refused_it_says_what_can_be_done_and_where(ready: Lab) -> None:
    ready.config(worktree={"setup": "touch left-behind.txt"})
    ready.commit("set-up")
    ran = ready.aigon("arena", "42", "--agents", "quick,steady")
    assert ran.code == 7 and "left-behind.txt" in ran.out, ran.out + ran.err
    place = rivals.worktree(ready, "quick")
    assert f'  do: cd {place} && git add -A && git commit -m "work in progress"' in ran.out
    assert "feature-eval" not in ran.out and "can begin" not in ran.out


@pytest.mark.slow
def test_one_whose_turn_broke_off_is_told_to_resume_and_not_to_begin(ready: Lab) -> None:
    ready.agent("touch half.txt; kill -9 $PPID; sleep 5", name="crash")
    ready.commit("crash")
    ready.aigon("arena", "42", "--agents", "quick,crash", "--max-iterations", "1")
    ran = ready.aigon("arena", "42", "--agents", "quick,crash", "--max-iterations", "1")
    assert "--resume --agent crash" in ran.out and "--loop --agent crash" not in ran.out, ran.out + ran.err


@pytest.mark.parametrize("option", ["--no-worktree", "--dry-run"])
def test_where_only_one_can_be_named_nothing_is_advised_that_is_there_already(ready: Lab, option: str) -> None:
    ran = ready.aigon("feature-implement", "42", "--loop", "--agent", "quick", "--agent", "steady", option)
    assert ran.code == 2 and "add --loop" not in ran.err and option in ran.err, ran.err
