"""`aigon board` on real repositories: where it is asked from, loops that run and loops that are gone."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from tests.lab import SPEC, STATE, Lab, finish, until
from tests.loop.processes import begun, go
from tests.views.terminal import COLOUR, play

IN_PLACE = True
FEATURES = "docs/specs/features"
WAITS = "touch $HOME/begun; until test -e $HOME/go; do sleep 0.02; done; touch done.txt"
WORKS = "it works <!-- verify: test -f done.txt -->"


def features(lab: Lab, cwd: Path | None = None) -> dict[str, Any]:
    """What the board says of each feature, by ID, or slug where there is none."""
    ran = lab.aigon("board", "--json", cwd=cwd)
    assert (ran.code, ran.json["schema_version"]) == (0, 1), ran.err
    cards = [card for stage in ran.json["stages"] for card in stage["features"]]
    found = {card["id"] or card["slug"]: card for card in cards}
    assert len(found) == len(cards), "a feature is on the board twice"
    return found


def test_it_says_what_to_do_where_there_is_nothing(lab: Lab, tmp_path: Path) -> None:
    ran = lab.aigon("board")
    assert (ran.code, ran.out) == (0, "There are no features yet. Write one: aigon feature-create NAME\n")
    stages = lab.aigon("board", "--json").json["stages"]
    assert [stage["stage"] for stage in stages] == [
        "inbox", "backlog", "in-progress", "in-evaluation", "done", "paused", "cancelled",
    ]  # fmt: skip
    outside = lab.aigon("board", cwd=tmp_path)
    assert outside.code == 7 and "This is not a git repository" in outside.err
    assert lab.aigon("board", "--json", cwd=tmp_path).json["error"]["exit_code"] == 7


def test_before_a_run_ticks_are_claims_and_after_one_the_last_look_counts(lab: Lab) -> None:
    lab.spec("one <!-- human -->", WORKS, "three <!-- verify: false -->")
    lab.write(SPEC, lab.read(SPEC).replace("- [ ] three", "- [x] three"))
    lab.write(f"{FEATURES}/01-inbox/feature-plain.md", "# Plain\n")
    lab.commit("specs")
    before = features(lab)
    assert before["42"]["criteria"] == {"total": 3, "proven": None, "ticked": 1}
    assert (before["42"]["title"], before["42"]["stage"], before["42"]["last"]) == ("Dark mode", "in-progress", None)
    assert before["plain"]["criteria"]["total"] == 0 and "no criteria" in lab.aigon("board").out
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42").code == 3
    after = features(lab)["42"]
    assert (after["criteria"]["proven"], after["criteria"]["total"]) == (1, 3)
    assert (after["running"], after["last"]["status"], after["last"]["iteration"]) == (False, "stopped", 1)
    assert "1/3 passed" in lab.aigon("board").out


def test_a_loop_that_runs_is_shown_from_everywhere_and_one_that_was_killed_is_not(lab: Lab, tmp_path: Path) -> None:
    lab.spec(WORKS)
    lab.agent(WAITS)
    lab.commit("spec")
    worktree = tmp_path / "linked"
    lab.git("worktree", "add", "-q", str(worktree), "-b", "elsewhere")
    process = lab.start("feature-implement", "42", "--loop")
    try:
        begun(lab, process)
        below = lab.path("docs/specs")
        for place in (lab.root, below, worktree, worktree / "docs"):
            card = features(lab, place)["42"]
            (loop,) = card["loops"]
            assert (card["running"], loop["agent"], loop["iteration"], card["last"]) == (True, "mine", 1, None)
            assert card["criteria"] == {"total": 1, "proven": 0, "ticked": 0}
            assert loop["since"] == lab.state()["started_at"]
        assert "running: mine, iteration 1 of 5, since " in " ".join(lab.aigon("board").out.replace("│", " ").split())
        os.kill(process.pid, signal.SIGKILL)  # nobody has waited for it yet: its number is still taken
        until(lambda: not features(lab)["42"]["running"])
        assert lab.state()["status"] == "running"
        assert features(lab)["42"]["last"]["status"] == "broken_off"
        assert "--resume" in lab.aigon("board").out
    finally:
        go(lab)
        process.kill()
        finish(process)


def test_a_loop_in_a_linked_worktree_is_shown_in_the_main_checkout(lab: Lab, tmp_path: Path) -> None:
    lab.spec(WORKS, name=f"{FEATURES}/02-backlog/feature-42-dark-mode.md")
    lab.agent(WAITS)
    lab.commit("spec")
    worktree = tmp_path / "linked"
    lab.git("worktree", "add", "-q", str(worktree), "-b", "elsewhere")
    process = subprocess.Popen(
        lab.command("feature-implement", "42", "--loop"),
        cwd=worktree,
        env=lab.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        begun(lab, process)
        card = features(lab)["42"]
        assert (card["running"], card["stage"], card["loops"][0]["branch"]) == (
            True, "in-progress", "feature-42-dark-mode",
        )  # fmt: skip
    finally:
        go(lab)
        finish(process)
    card = features(lab)["42"]
    assert (card["running"], card["stage"], card["last"]["status"]) == (False, "in-progress", "met")


def test_another_process_that_has_the_number_of_a_dead_loop_is_not_taken_for_it(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.commit("spec")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    dead = {**lab.state(), "status": "running", "pid": os.getpid(), "host": socket.gethostname()}
    for changed, status in (
        ({}, "broken_off"),
        ({"pid": 2**22 + 1}, "broken_off"),
        ({"pid": 0}, "broken_off"),
        ({"pid": "1"}, "broken_off"),
        ({"host": "another-machine"}, "elsewhere"),
    ):
        lab.write(STATE, json.dumps({**dead, **changed}))
        card = features(lab)["42"]
        assert (card["running"], card["last"]["status"]) == (False, status)
    for locks in (lab.home / "state").glob("repos/*/locks/feature-42.lock"):
        locks.unlink()
    lab.write(STATE, json.dumps({**dead, "started_at": "2020-01-01T00:00:00+00:00"}))
    assert features(lab)["42"]["running"] is False  # it is younger than the run that it would be


def test_one_state_file_or_spec_that_cannot_be_read_takes_nothing_from_the_others(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.spec(WORKS, name=f"{FEATURES}/03-in-progress/feature-43-other.md")
    lab.write(f"{FEATURES}/02-backlog/feature-44-broken.md", "---\nallow: [x\n---\n# Broken\n")
    lab.write(f"{FEATURES}/07-someday/feature-45-later.md", "# Later\n")
    for text, said in (
        ("{", "cannot be read"), ("[]", "cannot be read"), ("\xff", "cannot be read"),
        ('{"schema_version": 1, "feature_id": "42"}', "cannot be read"),
        ('{"schema_version": 9, "feature_id": "42"}', "newer aigon"),
    ):  # fmt: skip
        lab.write(STATE, text.encode("latin-1"))
        cards = features(lab)
        assert said in cards["42"]["problem"] and cards["43"]["problem"] is None
        assert "frontmatter" in cards["44"]["problem"] and cards["45"]["stage"] == "07-someday"
    assert lab.aigon("board").code == 0


def test_of_what_is_done_the_newest_are_shown_and_with_all_every_one(lab: Lab) -> None:
    for number in range(10, 30):
        lab.write(f"{FEATURES}/05-done/feature-{number}-thing.md", f"# Feature: Thing {number}\n")
    text = lab.aigon("board").out
    assert "Done (20)" in text and "Thing 29" in text and "Thing 10" not in text and "14 more: --all" in text
    assert "Thing 10" in lab.aigon("board", "--all").out and len(features(lab)) == 20


def test_a_spec_that_is_kept_elsewhere_has_a_card_once_it_ran(lab: Lab) -> None:
    lab.spec(WORKS, name="notes/night-mode.md")
    lab.commit("spec")
    assert features(lab) == {}
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "notes/night-mode.md", "--loop").code == 0
    card = features(lab)["night-mode"]
    assert (card["stage"], card["spec"], card["last"]["status"]) == ("elsewhere", "notes/night-mode.md", "met")


def test_a_terminal_gets_colours_and_lines_that_fit_and_a_pipe_neither(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.write(f"{FEATURES}/02-backlog/feature-07-wide.md", "# Feature: 日本語 🎉\n\n## Acceptance Criteria\n- [ ] x\n")
    lab.commit("specs")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    code = (
        f"import os, sys; os.chdir({str(lab.root)!r}); sys.argv = ['aigon', 'board']; import aigon.cli as c; c.main()"
    )
    for columns in (60, 80, 140):
        on_a_terminal = play(["-c", code], {"HOME": str(lab.home)}, columns=columns, lines=40)
        assert on_a_terminal.exit_code == 0 and COLOUR.search(on_a_terminal.text)
        assert "1/1 passed" in "\n".join(on_a_terminal.screen.shown())
    assert not COLOUR.search(play(["-c", code], {"HOME": str(lab.home), "NO_COLOR": "1"}, lines=40).text)
    assert "\x1b" not in lab.aigon("board").out


def test_it_writes_nothing(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.commit("spec")
    before = lab.fingerprint()
    assert lab.aigon("board").code == 0
    assert lab.fingerprint() == before and not lab.path(".aigon/runs").exists()
    assert not (lab.home / "state").exists() and not lab.path(".git/aigon").exists()


def told(lab: Lab, label: str, met: int, **more: Any) -> None:
    """The state file that an agent of an arena left."""
    verdicts = [{"number": n, "verdict": "met" if n <= met else "unmet"} for n in range(1, 5)]
    document = {
        "schema_version": 1, "feature_id": "42", "label": label, "run_id": f"r-{label}", "agent": label * 2,
        "mode": "arena", "branch": f"feature-42-{label}-dark-mode", "spec": SPEC, "pid": 0, "status": "stopped",
        "host": socket.gethostname(), "stop_reason": "Stopped by the guard stall: x", "iteration": 3,
        "max_iterations": 5, "started_at": "2026-11-20T10:15:00+00:00", "updated_at": "2026-11-20T10:20:00+00:00",
        "criteria_met": met, "criteria_total": 4, "criteria": verdicts, "checks": [], **more,
    }  # fmt: skip
    lab.write(f".aigon/loop-state-42-{label}.json", json.dumps(document))


def test_a_feature_with_several_agents_stands_there_once_with_each_of_them(lab: Lab, tmp_path: Path) -> None:
    lab.spec(WORKS)
    lab.spec(WORKS, name=f"{FEATURES}/03-in-progress/feature-43-other.md")
    lab.commit("spec")
    told(lab, "cc", 2, updated_at="2026-11-20T10:30:00+00:00", status="running")
    told(lab, "cx", 4, status="met", stop_reason=None)
    lab.write(".aigon/loop-state-42-gg.json", "{")
    card = features(lab)["42"]
    assert (card["criteria"]["proven"], card["criteria"]["total"], card["running"]) == (4, 4, False)
    found = {lane["label"]: (lane["proven"], lane["ended"]["status"]) for lane in card["candidates"]}
    assert found == {"cc": (2, "broken_off"), "cx": (4, "met")}
    assert card["problem"] == "loop-state-42-gg.json cannot be read; aigon doctor --repair fixes it"
    assert features(lab)["43"]["candidates"] == []
    said = " ".join(lab.aigon("board").out.replace("│", " ").split())
    assert "cc 2/4, cx 4/4 passed" in said and "aigon feature-implement 42 --resume --agent cc" in said
    worktree = tmp_path / "linked"
    lab.git("worktree", "add", "-q", str(worktree), "-b", "feature-42-cc-dark-mode")
    assert len(features(lab, worktree)["42"]["candidates"]) == 2


def test_a_loop_in_a_worktree_of_its_own_is_shown_as_that_agents(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.agent(WAITS)
    lab.commit("spec")
    process = lab.start("feature-implement", "42", "--loop", "--worktree")
    try:
        begun(lab, process)
        card = features(lab)["42"]
        (lane,) = card["candidates"]
        assert (card["running"], lane["label"], lane["working"]["iteration"], lane["ended"]) == (True, "mine", 1, None)
        said = " ".join(lab.aigon("board").out.replace("│", " ").split())
        assert "mine 0/1 passed mine running: iteration 1 of 5, since" in said
        (row,) = lab.aigon("feature-status", "42", "--json").json["features"]
        assert [(each["status"], each["running"]) for each in row["candidates"]] == [("running", True)]
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not features(lab)["42"]["running"])
        assert "[mine: broken off, 0/1 criteria, iteration 1]" in lab.aigon("feature-status").out
    finally:
        go(lab)
        process.kill()
        finish(process)


def test_a_done_feature_shows_the_run_that_proved_it(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.config(proof="in-place")
    lab.agent("touch done.txt", name="one")
    lab.agent("true", name="two")
    lab.commit("spec")
    lab.aigon("feature-setup", "42", "one", "two")
    for agent, code in (("one", 0), ("two", 3)):
        assert lab.aigon("feature-implement", "42", "--agent", agent).code == code
    assert lab.aigon("feature-done", "42", "one").code == 0
    card = features(lab)["42"]
    assert (card["stage"], card["criteria"]["proven"], card["last"]["status"]) == ("done", 1, "met")


def test_a_feature_is_shown_by_the_branch_it_is_worked_on_whichever_is_checked_out(lab: Lab) -> None:
    backlog = f"{FEATURES}/02-backlog/feature-42-dark-mode.md"
    lab.spec(name=backlog)
    lab.commit("an idea")
    lab.agent("touch done.txt")
    lab.commit("configuration")
    assert lab.aigon("feature-setup", "42").code == 0
    lab.spec(WORKS, "it reads well <!-- human -->")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    lab.git("switch", "-q", "main")
    lab.write(f"{FEATURES}/01-inbox/feature-later.md", "# Later\n")
    lab.commit("another idea")
    lab.git("pack-refs", "--all")
    for place in ("main", "feature-42-dark-mode"):
        lab.git("switch", "-q", place)
        cards = features(lab)
        assert (cards["42"]["stage"], cards["42"]["criteria"]) == (
            "in-progress",
            {"total": 2, "proven": 1, "ticked": 1},
        )
        assert cards["later"]["stage"] == "inbox", place
        rows = lab.aigon("feature-status", "--json").json["features"]
        assert sorted((row["id"], row["stage"]) for row in rows if row["id"]) == [("42", "in-progress")]
        assert {row["slug"] for row in rows} == {"dark-mode", "later"}
    lab.git("switch", "-q", "main")
    assert "in-progress" in lab.aigon("feature-status", "42").out
    assert len(lab.aigon("spec-show", "42", "--json").json["criteria"]) == 2
    elsewhere = lab.aigon("feature-validate", "42")
    assert elsewhere.code == 2 and "do:    git switch feature-42-dark-mode" in elsewhere.err, elsewhere.err
    assert lab.aigon("approve", "42", "2", "--yes").code == 0
    assert lab.aigon("feature-implement", "42", "--resume").code == 0
    assert lab.aigon("feature-done", "42").code == 0
    for place in ("main", "feature-42-dark-mode"):
        lab.git("switch", "-q", place)
        assert features(lab)["42"]["stage"] == "done", "a branch that is merged says nothing any more"
    assert lab.aigon("feature-validate", "42").code == 0
