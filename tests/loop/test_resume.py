"""Take a run up again: after an interruption, a kill, a person's edits and decisions."""

import json
import resource
import signal
import subprocess
import time
import zlib
from pathlib import Path

import pytest

from aigon.loop.iteration_log import read_iteration_numbers
from tests.lab import BRANCH, DONE_WHEN, LOG, SPEC, STATE, Lab, Ran, finish, interrupt, until
from tests.loop.processes import LOOP, RESUME, answer_in_terminal, begun, go, journal, left_behind, ok, parked, turns

IN_PLACE = True
HALF = """
    echo turn >> "$HOME/turns"
    echo "$AIGON_ITERATION" >> "$HOME/numbers"
    ls > "$HOME/found"
    echo half > half.txt
    touch "$HOME/begun"
    until [ -e "$HOME/go" ]; do sleep 0.02; done
    echo done > done.txt
"""
"""Begins its work, waits to be told `go`, then finishes it."""


def kill(process: "subprocess.Popen[str]") -> None:
    """kill -9 of aigon alone: what it started goes on."""
    process.send_signal(signal.SIGKILL)
    process.communicate()


def stopped_in_its_turn(lab: Lab, *, how: str = "SIGTERM") -> None:
    """A run that was ended in the middle of the agent's first turn."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(HALF)
    process = lab.start(*LOOP)
    begun(lab, process)
    interrupt(process, signal.Signals[how])
    process.communicate()


def hint(ran: Ran) -> str:
    """The command that an error message offers first."""
    (line,) = (line for line in ran.err.splitlines() if line.strip().startswith("do:"))
    return line.split("do:")[1].strip().split("   ")[0]


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_a_half_finished_turn_is_parked_rolled_back_and_repeated_under_its_number(lab: Lab, how: str) -> None:
    stopped_in_its_turn(lab, how=how)
    if how == "SIGKILL":
        until(lambda: not left_behind(lab))  # the guardian sees to it
    (lab.home / "begun").unlink()
    process = lab.start(*RESUME, "--max-iterations", "1")
    begun(lab, process)
    assert "half.txt" not in (lab.home / "found").read_text().split()
    assert len(left_behind(lab)) >= 2, "aigon and the agent of the second try"
    go(lab)
    ok(finish(process))
    assert lab.git("show", f"{parked(lab)[-1]}:half.txt") == "half"
    assert (lab.home / "numbers").read_text().split() == ["1", "1"]
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1]
    assert left_behind(lab) == []
    lab.sound()


def test_an_agent_that_outlived_a_killed_aigon_is_ended_before_its_turn_is_repeated(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        echo turn >> "$HOME/turns"
        setsid bash -c 'trap "" INT TERM HUP; while :; do echo "$PPID" > meddled.txt; sleep 0.02; done' &
        touch "$HOME/begun"
        [ -e "$HOME/go" ] || sleep 60
        rm -f meddled.txt
        touch done.txt
    """)
    process = lab.start(*LOOP)
    begun(lab, process)
    kill(process)
    go(lab)
    ok(lab.aigon(*RESUME))
    assert left_behind(lab) == []
    assert turns(lab) == 2
    time.sleep(0.1)
    lab.sound()


def test_with_keep_the_repeated_turn_finds_the_files_and_nothing_is_lost(lab: Lab) -> None:
    stopped_in_its_turn(lab)
    go(lab)
    ok(lab.aigon(*RESUME, "--half-turn", "keep"))
    assert "half.txt" in (lab.home / "found").read_text().split()
    assert (lab.home / "numbers").read_text().split() == ["1", "1"]
    assert lab.git("show", "HEAD:half.txt") == "half"
    assert len(parked(lab)) == 2
    lab.sound()


def test_kept_files_that_prove_everything_are_committed_without_another_turn(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt "$HOME/begun"; sleep 60')
    process = lab.start(*LOOP)
    begun(lab, process)
    interrupt(process, signal.SIGTERM)
    process.communicate()
    ok(lab.aigon(*RESUME, "--half-turn", "keep"))
    assert turns(lab) == 1
    assert lab.boxes() == "x"
    assert lab.git("ls-tree", "--name-only", "HEAD", "done.txt") == "done.txt"
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1]
    lab.sound()


def test_numbers_go_on_the_limit_starts_anew_and_the_spend_is_kept(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent('echo "$AIGON_ITERATION" >> n.txt; echo \'{"cost_usd": 0.25}\'')
    ok(lab.aigon(*LOOP, "--max-iterations", "2"), 3)
    first = lab.state()
    assert (first["iteration"], first["spend"]["usd"], first["stop_reason"][:7]) == (2, 0.5, "Stopped")
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    second = lab.state()
    assert (second["iteration"], second["max_iterations"], second["spend"]["usd"]) == (3, 1, 0.75)
    assert [i["number"] for i in second["iterations"]] == [0, 1, 2, 3]
    assert (second["run_id"], second["base_commit"]) == (first["run_id"], first["base_commit"])
    assert lab.read("n.txt").split() == ["1", "2", "3"]
    assert lab.read("docs/specs/features/logs/feature-42-dark-mode-log.md").count("\n## Iteration ") == 3


def test_a_persons_commits_in_between_are_kept_and_become_the_new_start(lab: Lab) -> None:
    lab.spec("theirs and ours <!-- verify: test -f theirs.txt && test -f done.txt -->")
    lab.agent("test -f theirs.txt && touch done.txt; true")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    lab.write("theirs.txt", "a person's\n")
    theirs = lab.commit("by hand")
    ran = ok(lab.aigon(*RESUME))
    assert "commits since the last iteration commit are kept" in ran.out
    assert lab.git("rev-parse", "HEAD^") == theirs
    lab.sound()


def test_commits_over_half_finished_work_are_kept_too(lab: Lab) -> None:
    stopped_in_its_turn(lab)
    theirs = lab.commit("the half-finished work, by hand")
    go(lab)
    ok(lab.aigon(*RESUME))
    assert lab.git("rev-parse", "HEAD^") == theirs
    assert (lab.home / "numbers").read_text().split() == ["1", "1"]
    lab.sound()


def test_a_rewritten_branch_is_refused_with_a_command_that_helps(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    lab.git("commit", "-q", "--amend", "-m", "rewritten")
    before = lab.fingerprint()
    ran = ok(lab.aigon(*RESUME), 7)
    assert f"The branch {BRANCH} was rewritten" in ran.err
    assert lab.fingerprint() == before
    lab.git(*hint(ran).split()[1:])
    ok(lab.aigon(*RESUME))
    assert lab.state()["iteration"] == 2
    lab.sound()


def test_a_deleted_branch_is_refused_with_a_command_that_helps(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.commit("the spec")
    lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    lab.git("switch", "-q", "main")
    lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.commit("configuration")
    lab.git("branch", "-q", "-D", BRANCH)
    before = lab.fingerprint()
    ran = ok(lab.aigon(*RESUME), 7)
    assert f"The branch {BRANCH} was deleted" in ran.err
    assert lab.fingerprint() == before
    lab.git(*hint(ran).split()[1:])
    ok(lab.aigon(*RESUME))
    assert lab.git("branch", "--show-current") == BRANCH
    lab.sound()


def test_a_resume_from_another_branch_finds_the_feature_where_it_is(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", name=SPEC.replace("03-in-progress", "02-backlog"))
    lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.commit("a spec in the backlog")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    lab.git("switch", "-q", "main")
    ok(lab.aigon(*RESUME))
    assert lab.git("branch", "--show-current") == BRANCH
    assert lab.boxes() == "x"
    lab.sound()


@pytest.mark.parametrize(("committed", "during_a_turn"), [(True, False), (False, True)])
def test_a_spec_that_a_person_edited_is_shown_and_waits_for_a_word(
    lab: Lab, committed: bool, during_a_turn: bool
) -> None:
    if during_a_turn:
        stopped_in_its_turn(lab)
    else:
        lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
        lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
        ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    go(lab)
    lab.write(SPEC, lab.read(SPEC).replace("it is done", "it is well done"))
    if committed:
        lab.git("commit", "-q", "-m", "the spec, edited", SPEC)
    before = (lab.fingerprint(), journal(lab).read_bytes())
    ran = ok(lab.aigon(*RESUME), 4)
    assert "-- [ ] it is done" in ran.err
    assert "+- [ ] it is well done" in ran.err
    assert "--accept-spec" in ran.err
    assert (lab.fingerprint(), journal(lab).read_bytes()) == before
    ok(lab.aigon(*RESUME, "--accept-spec", "--yes"))
    assert "- [x] it is well done" in lab.git("show", f"HEAD:{SPEC}")
    ok(lab.aigon(*RESUME))  # it was accepted once and for all
    lab.sound()


def test_a_spec_that_the_agent_of_a_killed_run_edited_is_put_back(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        echo turn >> "$HOME/turns"
        if [ ! -e "$HOME/begun" ]; then
            sed -i 's/it is done/made up/' "$AIGON_SPEC"
            touch "$HOME/begun"; sleep 60
        fi
        touch done.txt
    """)
    process = lab.start(*LOOP)
    begun(lab, process)
    kill(process)
    ok(lab.aigon(*RESUME))
    assert lab.git("show", f"{parked(lab)[-1]}:{SPEC}").count("made up") == 1
    assert "made up" not in lab.git("show", f"HEAD:{SPEC}")
    lab.sound()


def test_a_new_run_archives_the_journal_and_continues_numbers_and_memory(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent("true")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    first, record = lab.state()["run_id"], journal(lab).read_bytes()
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "1", "--json"), 3)
    second = lab.state()
    assert second["run_id"] != first
    assert [i["number"] for i in second["iterations"]] == [0, 2]
    assert journal(lab).with_name(f"journal-{first}.jsonl").read_bytes() == record
    started, prompt = ran.events[0], lab.read(f".aigon/runs/{second['run_id']}/002/prompt.md")
    assert (started["event"], started["earlier_iterations"]) == ("run_started", 1)
    assert prompt.startswith("# Iteration 2 of at most 2\n") and "### Iteration 1: no better than before" in prompt

    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    prompt = lab.read(f".aigon/runs/{second['run_id']}/003/prompt.md")
    assert prompt.index("### Iteration 2: ") < prompt.index("Iteration 1: no better than before")
    headings = [line.split(" (")[0] for line in lab.read(LOG).splitlines() if line.startswith("## ")]
    assert headings == ["## Iteration 1", "## Iteration 2", "## Iteration 3"]
    subjects = lab.git("log", "--format=%s", "-3").splitlines()
    assert len(set(subjects)) == 3


def test_the_last_iteration_can_be_parked_and_repeated(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        echo turn >> "$HOME/turns"
        if [ -e "$HOME/again" ]; then ls > "$HOME/found"; touch done.txt; exit; fi
        echo wrong > "wrong-$AIGON_ITERATION.txt"
    """)
    first = ok(lab.aigon(*RESUME, "--resume-from", "last-iteration"), 2)
    assert "nothing to resume" in first.err
    ok(lab.aigon(*LOOP, "--max-iterations", "2"), 3)
    lab.write("mine.txt", "a person's\n")
    refused = ok(lab.aigon(*RESUME, "--resume-from", "last-iteration"), 7)
    assert "mine.txt" in refused.err
    lab.path("mine.txt").unlink()
    lab.write(f"{lab.home}/again", "")
    ok(lab.aigon(*RESUME, "--resume-from", "last-iteration"))
    found = (lab.home / "found").read_text().split()
    assert "wrong-1.txt" in found and "wrong-2.txt" not in found
    assert lab.git("show", f"{parked(lab)[-1]}:wrong-2.txt") == "wrong"
    assert [name.split(" (")[0] for name in lab.read(LOG).splitlines() if name.startswith("## ")] == [
        "## Iteration 1", "## Iteration 3",
    ]  # fmt: skip
    assert (lab.boxes(), turns(lab)) == ("x", 3)
    lab.commit("a person's")
    late = ok(lab.aigon(*RESUME, "--resume-from", "last-iteration"), 2)
    assert "A person has committed since" in late.err
    lab.sound()


def test_a_new_run_over_half_finished_work_is_refused(lab: Lab) -> None:
    stopped_in_its_turn(lab)
    before = lab.fingerprint()
    ran = ok(lab.aigon(*LOOP), 7)
    assert "stopped in the middle of iteration 1" in ran.err
    assert "--resume" in ran.err
    assert lab.fingerprint() == before


def test_without_a_state_there_is_nothing_to_resume(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent("true")
    before = lab.fingerprint()
    ran = ok(lab.aigon(*RESUME), 2)
    assert "nothing to resume" in ran.err
    assert lab.fingerprint() == before


@pytest.mark.slow
def test_records_are_found_from_another_home_by_the_command_that_is_printed(lab: Lab, tmp_path: Path) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    lab.commit("the feature")
    ok(lab.aigon("feature-setup", "42"))
    ok(lab.aigon(*LOOP))
    run, id_ = lab.state()["run_id"], lab.read(".git/aigon/id")
    away = {"AIGON_STATE_HOME": str(tmp_path / "away"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    lab.git("config", "--unset", "user.name")
    lab.git("config", "--unset", "user.email")
    ok(lab.aigon("feature-create", "another", env=away), 7)
    lab.git("config", "user.name", "Ada")
    lab.git("config", "user.email", "ada@example.invalid")
    refused = [ok(lab.aigon(*RESUME, env=away), 2), ok(lab.aigon("report", "42", env=away), 2)]
    refused.append(ok(lab.aigon("feature-done", "42", env=away), 2))
    assert all(f"AIGON_STATE_HOME={lab.home / 'state'} aigon " in each.err for each in refused)
    for each in (refused[0], refused[2]):
        assert f"no journal at {tmp_path / 'away'}" in each.err
        assert f"loop-state-42.json has run {run} of mine, met" in each.err
    assert lab.read(".git/aigon/id") == id_
    for each in refused:
        pasted = subprocess.run(["bash", "-c", hint(each)], cwd=lab.root, env={**lab.env, **away}, capture_output=True)
        assert pasted.returncode == 0, pasted
    assert lab.git("log", "--format=%s", "-1", "main").startswith("Merge")


def test_a_proven_run_is_resumed_without_a_turn_and_without_a_commit(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt')
    ok(lab.aigon(*LOOP))
    head = lab.git("rev-parse", "HEAD")
    ok(lab.aigon(*RESUME))
    assert lab.git("rev-parse", "HEAD") == head
    assert turns(lab) == 1
    state = lab.state()
    assert (state["status"], state["proven_commit"]) == ("met", head)
    assert [i["number"] for i in state["iterations"]] == [0, 1]
    lab.sound()


def test_a_damaged_journal_is_refused_and_a_new_run_starts_over_it(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent("true")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    data = bytearray(journal(lab).read_bytes())
    data[len(data) // 2] ^= 1
    journal(lab).write_bytes(data)
    ran = ok(lab.aigon(*RESUME), 7)
    assert "The journal of this run is damaged" in ran.err
    assert journal(lab).read_bytes() == data
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    kept = [file.read_bytes() for file in journal(lab).parent.glob("journal-*.jsonl")]
    assert kept == [data]


def test_over_a_damaged_journal_no_new_run_takes_an_agents_edits_for_a_persons(lab: Lab) -> None:
    lab.write(".aigon/validation.sh", "#!/bin/sh\ntest -f done.txt\n", executable=True)
    lab.spec("it is done <!-- verify: .aigon/validation.sh -->")
    lab.agent("printf '#!/bin/sh\\nexit 0\\n' > .aigon/validation.sh")
    assert lab.aigon(*LOOP, env={"AIGON_FAILPOINT": "turn_ended.before:kill"}).code == -9
    data = bytearray(journal(lab).read_bytes())
    data[20] ^= 1
    journal(lab).write_bytes(data)
    refused = ok(lab.aigon(*LOOP), 7)
    assert "validation.sh" in refused.err and "doctor --repair" in refused.err
    ok(lab.aigon("doctor", "--repair", "42"))
    ok(lab.aigon(*LOOP), 7)
    lab.git("stash", "--include-untracked")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)


def waiting_for_a_person(lab: Lab) -> None:
    """A run whose only open criterion is a person's."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it looks good <!-- human -->")
    lab.agent('echo turn >> "$HOME/turns"; cat > "$HOME/prompt"; echo "$AIGON_ITERATION" > done.txt')
    ran = ok(lab.aigon(*LOOP), 4)
    assert "aigon approve 42 2" in ran.out
    assert (lab.state()["status"], lab.boxes(), turns(lab)) == ("needs_human", "x ", 1)


def test_an_approval_is_enough_to_be_proven_without_a_turn(lab: Lab) -> None:
    waiting_for_a_person(lab)
    ok(lab.aigon("approve", "42", "2", "--yes"))
    ok(lab.aigon(*RESUME))
    assert (lab.boxes(), turns(lab)) == ("xx", 1)
    state = lab.state()
    assert [(i["number"], i["agent"]) for i in state["iterations"]] == [(0, None), (1, "mine")]
    assert (state["criteria"][1]["method"], state["proven_commit"]) == ("approval", lab.git("rev-parse", "HEAD"))
    ok(lab.aigon(*RESUME))
    assert lab.state()["proven_commit"] == state["proven_commit"]
    lab.sound()
    assert lab.subjects()[-1] == "docs(feature-42): tick the criteria proven after iteration 1"
    assert len(set(lab.subjects())) == len(lab.subjects())


@pytest.mark.slow
def test_in_a_terminal_a_decision_shows_the_evidence_and_asks(lab: Lab) -> None:
    waiting_for_a_person(lab)
    for verb in (("approve", "42", "2"), ("reject", "42", "2", "--why", "no")):
        for answer in (b"n\n", b"\n", b"\x03", b"\x04"):  # no, nothing, Ctrl+C, the end of the input
            code, screen = answer_in_terminal(lab, answer, *verb)
            assert code == (130 if answer in (b"\x03", b"\x04") else 4), screen
            assert f"{verb[0].capitalize()} 2? [y/N]" in screen
    assert "Criterion 2: it looks good" in screen
    assert "a person decides" in screen
    assert "done.txt" in screen and "1 file changed, 1 insertion(+)" in screen
    assert "git diff" in screen and "aigon report 42" in screen
    ok(lab.aigon(*RESUME), 4)
    assert lab.boxes() == "x ", "nothing was decided"
    code, screen = answer_in_terminal(lab, b"y\n", "approve", "42", "2")
    assert (code, "Approved 2: it looks good" in screen) == (0, True)
    ok(lab.aigon(*RESUME))
    assert lab.boxes() == "xx"


def test_a_decision_on_what_does_not_exist_is_refused_before_a_terminal_is_asked_for(lab: Lab) -> None:
    waiting_for_a_person(lab)
    for verb in (("approve", "42", "9"), ("reject", "42", "9", "--why", "no")):
        ran = ok(lab.aigon(*verb), 2)
        assert "There is no criterion 9" in ran.err
        assert "They go from 1 to 2: aigon spec-show 42" in ran.err
    unnamed = ok(lab.aigon("approve", "42"), 2).err
    assert "Waiting for a person: 2. aigon spec-show 42 lists the criteria" in unnamed
    assert "decided by what runs (verify)" in ok(lab.aigon("approve", "42", "1"), 2).err
    assert "--yes" in ok(lab.aigon("approve", "42", "2"), 4).err


def test_an_approval_lapses_when_the_code_changes_afterwards(lab: Lab) -> None:
    waiting_for_a_person(lab)
    ok(lab.aigon("approve", "42", "2", "--yes"))
    approved = lab.git("rev-parse", "--short=8", "HEAD").strip()
    lab.write("more.txt", "not seen by the one who approved\n")
    lab.commit("more")
    ran = ok(lab.aigon(*RESUME), 4)
    assert f"approved at {approved}, and the code changed since" in ran.out
    assert (lab.boxes(), turns(lab)) == ("x ", 1)
    ok(lab.aigon("approve", "42", "2", "--yes"))
    ok(lab.aigon(*RESUME))
    assert (lab.boxes(), turns(lab)) == ("xx", 1)
    lab.sound()


def test_a_rejection_is_told_to_the_agent(lab: Lab) -> None:
    waiting_for_a_person(lab)
    ok(lab.aigon("reject", "42", "2", "--why", "the blue is too dark", "--yes"))
    ok(lab.aigon(*RESUME), 4)
    assert turns(lab) == 2
    assert "the blue is too dark" in (lab.home / "prompt").read_text()
    assert lab.boxes() == "x ", "nobody has seen what the agent made of it"


@pytest.mark.parametrize("where", ["in a loop", pytest.param("below a loop", marks=pytest.mark.slow)])
def test_an_agent_cannot_approve_its_own_work(lab: Lab, where: str) -> None:
    command = " ".join(lab.command("approve", "42", "1", "--yes"))
    lab.spec("it looks good <!-- human -->")
    lab.agent(f'{"unset AIGON_RUN;" * (where == "below a loop")} {command} 2> "$HOME/refused"; echo $? > "$HOME/code"')
    ok(lab.aigon(*LOOP), 4)
    assert (lab.home / "code").read_text() == "4\n"
    assert "is for a person" in (lab.home / "refused").read_text()
    assert lab.boxes() == " "


TOP = {
    "schema_version", "feature_id", "run_id", "agent", "mode", "branch", "base_commit", "status", "stop_reason",
    "iteration", "max_iterations", "started_at", "updated_at", "criteria_met", "criteria_total", "spend", "iterations",
}  # fmt: skip
EACH = {
    "number", "started_at", "ended_at", "agent", "model", "checkpoint", "checks", "criteria", "cost", "feedback",
}  # fmt: skip


def test_the_state_file_holds_what_the_contract_says(lab: Lab) -> None:
    lab.write(".aigon/validation.sh", "test -f first.txt\n")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "checked <!-- check: script -->")
    lab.agent('[ "$AIGON_ITERATION" = 1 ] || touch done.txt; touch first.txt; echo \'{"cost_usd": 0.5}\'')
    base = lab.git("rev-parse", "HEAD")
    ok(lab.aigon(*LOOP, "--max-iterations", "4"))
    state = lab.state()
    assert set(state) >= TOP
    assert (state["schema_version"], state["feature_id"], state["agent"], state["mode"]) == (1, "42", "mine", "solo")
    assert (state["branch"], state["status"], state["iteration"], state["max_iterations"]) == (BRANCH, "met", 2, 4)
    assert lab.git("rev-parse", f"{state['base_commit']}^") == base
    assert (state["criteria_met"], state["criteria_total"], state["spend"]["usd"]) == (2, 2, 1.0)
    assert state["started_at"] <= state["updated_at"]
    for number, each in enumerate(state["iterations"]):
        assert set(each) >= EACH
        assert each["number"] == number
    first, second = state["iterations"][1:]
    assert first["started_at"] <= first["ended_at"] <= second["started_at"]
    assert [first["checkpoint"], second["checkpoint"]] == lab.git("rev-parse", "HEAD^", "HEAD").splitlines()
    assert [(c["number"], c["verdict"]) for c in first["criteria"]] == [(1, "unmet"), (2, "met")]
    assert [(c["role"], c["status"]) for c in first["checks"] if c["role"] == "script"] == [("script", "pass")]
    assert first["cost"] == {"usd": 0.5, "status": "reported"}
    assert "it is done" in first["feedback"]
    assert lab.git("check-ignore", STATE) == STATE
    assert list(lab.path(".aigon").glob(".*.tmp")) == []


# kill -9


def test_a_kill_during_a_check_costs_no_turn(lab: Lab) -> None:
    waits = 'touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.02; done'
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} || exit 1; {waits} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt')
    lab.config(proof={"home": "real"})
    process = lab.start(*LOOP)
    begun(lab, process)
    kill(process)
    go(lab)
    ok(lab.aigon(*RESUME))
    assert (lab.boxes(), turns(lab)) == ("x", 1)
    assert left_behind(lab) == []
    lab.sound()


def rewound(lab: Lab, to: str) -> None:
    """The journal as it was after its last event of the kind `to`."""
    lines = journal(lab).read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if f'"event":"{to}"'.encode() in line)
    journal(lab).write_bytes(b"".join(lines[: last + 1]))


@pytest.mark.slow
@pytest.mark.parametrize("lock", [False, True])
def test_a_kill_after_the_branch_moved_is_found_by_the_ref_and_costs_no_turn(lab: Lab, lock: bool) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt; cp .git/index "$HOME/index"')
    ok(lab.aigon(*LOOP))
    head = lab.git("rev-parse", "HEAD")
    rewound(lab, "checkpoint_intended")
    new = lab.path(".git/index").read_bytes()
    lab.path(".git/index").write_bytes((lab.home / "index").read_bytes())
    assert lab.git("status", "--porcelain") != "", "the index is the old one"
    if lock:
        lab.write(".git/index.lock", new)
    ok(lab.aigon(*RESUME))
    assert lab.git("rev-parse", "HEAD") == head
    assert turns(lab) == 1
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1]
    lab.sound()


@pytest.mark.slow
@pytest.mark.parametrize("lock", [False, True])
def test_a_kill_before_the_branch_moved_publishes_the_same_tree(lab: Lab, lock: bool) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt; cp .git/index "$HOME/index"')
    ok(lab.aigon(*LOOP))
    before, commit = lab.git("show", "HEAD:done.txt", f"HEAD:{SPEC}"), lab.git("rev-parse", "HEAD")
    rewound(lab, "checkpoint_intended")
    lab.git("update-ref", f"refs/heads/{BRANCH}", "HEAD^")
    new = lab.path(".git/index").read_bytes()
    lab.path(".git/index").write_bytes((lab.home / "index").read_bytes())
    if lock:
        lab.write(".git/index.lock", new)
        lab.write(f".git/refs/heads/{BRANCH}.lock", f"{commit}\n")
    ok(lab.aigon(*RESUME))
    assert lab.git("show", "HEAD:done.txt", f"HEAD:{SPEC}") == before
    assert lab.read("docs/specs/features/logs/feature-42-dark-mode-log.md").count("\n## Iteration ") == 1
    assert turns(lab) == 1
    lab.sound()


def test_a_lock_that_is_not_aigons_own_is_waited_for_and_never_removed(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('touch done.txt "$HOME/begun"; until [ -e .git/index.lock ]; do sleep 0.02; done')
    process = lab.start(*LOOP)
    lock = lab.path(".git/index.lock")
    until((lab.home / "begun").exists)
    with lock.open("x") as held:
        held.write("somebody")
        held.flush()
        time.sleep(0.5)
        assert lock.read_text() == "somebody"
    lock.unlink()
    ok(finish(process))
    lab.write(".git/index.lock", "somebody")
    lab.aigon(*RESUME)
    assert lab.read(".git/index.lock") == "somebody"


@pytest.mark.parametrize(
    "event",
    [
        pytest.param("check_started", marks=pytest.mark.slow),
        pytest.param("iteration_started", marks=pytest.mark.slow),
        "turn_ended",
        "checkpoint_intended",
    ],
)
def test_a_kill_at_an_event_repeats_at_most_one_turn(lab: Lab, event: str) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "both <!-- verify: sleep 0.05; test -f second.txt -->")
    lab.agent('echo turn >> "$HOME/turns"; sleep 0.05; [ -e done.txt ] && echo 2 > second.txt; echo 1 > done.txt')
    process = lab.start(*LOOP)
    wanted, files = f'"event":"{event}"', "state/repos/*/features/42/journal.jsonl"
    until(lambda: process.poll() is not None or any(wanted in file.read_text() for file in lab.home.glob(files)))
    kill(process)
    ok(lab.aigon(*RESUME))
    assert (lab.boxes(), lab.read("done.txt"), lab.read("second.txt")) == ("xx", "1\n", "2\n")
    assert turns(lab) <= 3
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1, 2]
    assert left_behind(lab) == []
    lab.sound()


def test_a_torn_last_line_never_counted(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt')
    ok(lab.aigon(*LOOP))
    rewound(lab, "turn_ended")
    lab.git("update-ref", f"refs/heads/{BRANCH}", "HEAD^")
    with journal(lab).open("ab") as file:
        file.write(b'%08x {"event":"iter' % zlib.crc32(b"x"))
    ok(lab.aigon(*RESUME))
    assert turns(lab) == 1
    lab.sound()


# a record that cannot be written


def turns_begun(lab: Lab) -> int:
    """How many turns agents began; none before the first."""
    return turns(lab) if (lab.home / "turns").exists() else 0


def test_a_journal_that_cannot_be_written_ends_the_run_and_nothing_is_lost(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; echo "$AIGON_ITERATION" > work.txt; [ ! -e "$HOME/go" ] || touch done.txt')
    lab.config(guards={"repeatedError": 0, "stall": 0})
    process = lab.start(*LOOP, "--max-iterations", "20")
    until(lambda: turns_begun(lab) > 2)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (journal(lab).stat().st_size, resource.RLIM_INFINITY))
    ran = ok(finish(process), 7)
    assert "cannot be written" in ran.err + ran.out
    assert "Traceback" not in ran.err
    before = turns(lab)
    assert left_behind(lab) == []
    assert json.loads(lab.read(STATE))["feature_id"] == "42", "the last state stays readable"
    go(lab)
    ok(lab.aigon(*RESUME))
    assert turns(lab) - before <= 2
    numbers = [i["number"] for i in lab.state()["iterations"]]
    assert numbers == list(range(len(numbers)))
    lab.sound()


# what stands in the way


def test_what_no_commit_holds_is_moved_away_before_a_half_turn_is_rolled_back(lab: Lab) -> None:
    lab.write("mod", "tracked\n")
    lab.write("out", "tracked\n")
    lab.write(".gitignore", "out/\n")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        [ ! -e "$HOME/go" ] || { touch done.txt; exit; }
        rm mod out; git init -q mod; echo work > mod/w.txt; mkdir out; echo precious > out/notes.txt
        touch "$HOME/begun"; sleep 60
    """)
    lab.commit("ready")
    process = lab.start(*LOOP)
    begun(lab, process)
    interrupt(process, signal.SIGTERM)
    process.communicate()
    go(lab)
    ran = ok(lab.aigon(*RESUME))
    assert (lab.read("mod"), lab.read("out")) == ("tracked\n", "tracked\n")
    kept = {path.name.partition("-")[2]: path for path in lab.path(".git/aigon/displaced").iterdir()}
    assert (kept["mod"] / "w.txt").read_text() == "work\n"
    assert (kept["out"] / "notes.txt").read_text() == "precious\n"
    assert all(f".git/aigon/displaced/{place.name}" in ran.out for place in kept.values()), ran.out + ran.err
    lab.sound()


def test_if_the_branch_could_not_be_moved_aigons_writing_is_not_the_agents(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "more <!-- verify: test -f more.txt -->")
    lab.agent(f"""
        cat > "$HOME/prompt"
        [ -e done.txt ] && exec touch more.txt
        touch done.txt "$HOME/begun"
        until [ -e .git/refs/heads/{BRANCH}.lock ]; do sleep 0.02; done
    """)
    process = lab.start(*LOOP)
    until((lab.home / "begun").exists)
    with lab.path(f".git/refs/heads/{BRANCH}.lock").open("x"):
        ran = ok(finish(process), 7)
    assert f"could not move the branch {BRANCH}" in ran.err and f"{BRANCH}.lock" in ran.err
    lab.path(f".git/refs/heads/{BRANCH}.lock").unlink()
    ran = ok(lab.aigon(*RESUME))
    assert "your edits" not in ran.out + (lab.home / "prompt").read_text()
    assert parked(lab) == []
    assert lab.boxes() == "xx"
    lab.sound()


COMMITS = """
    echo turn >> "$HOME/turns"
    echo done > done.txt
    printf 'token = "ghp_%s"\\n' 16C7e42F292c6912E7710c838347Ae178B4a > settings.py
    git add -A && git commit -qm "the agent's own"
    touch "$HOME/begun"
    [ -e "$HOME/wait" ] && until [ -e "$HOME/go" ]; do sleep 0.02; done
    sed -i d settings.py
"""
"""Commits a secret by itself, waits to be told `go` where it should, and takes the secret out again, uncommitted."""


@pytest.mark.parametrize("when", ["in the turn", pytest.param("after the turn", marks=pytest.mark.slow)])
def test_what_an_agent_committed_before_a_kill_is_still_looked_at_as_an_agents(lab: Lab, when: str) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(COMMITS)
    if when == "in the turn":
        (lab.home / "wait").touch()
        process = lab.start(*LOOP)
        begun(lab, process)
        kill(process)
        until(lambda: not left_behind(lab))
        go(lab)
    else:
        assert lab.aigon(*LOOP, env={"AIGON_FAILPOINT": "turn_ended:kill"}).code == -9
    ok(lab.aigon(*RESUME))
    assert "ghp_16C7e42F292c" not in lab.git("log", "-p", "main..HEAD")
    assert "done.txt" in lab.read(LOG), "the log names what the agent changed, its commits included"
    assert turns(lab) == (2 if when == "in the turn" else 1)
    lab.sound()


WEAKENS = """
    printf '#!/bin/sh\\nexit 0\\n' > .aigon/validation.sh
    [ -e "$HOME/once" ] || git commit -qam "the agent's own"
    touch "$HOME/once"
"""


@pytest.mark.parametrize(
    "then",
    [
        pytest.param("at once", marks=pytest.mark.slow),
        pytest.param("over a second kill", marks=pytest.mark.slow),
        "with a changed spec",
    ],
)
def test_what_decides_is_no_persons_where_an_agent_committed_it_before_a_kill(lab: Lab, then: str) -> None:
    lab.write(".aigon/validation.sh", "#!/bin/sh\ntest -f done.txt\n", executable=True)
    lab.spec("it is done <!-- verify: .aigon/validation.sh -->")
    lab.config(proof="in-place")
    lab.agent(WEAKENS)
    lab.commit("spec")
    assert lab.aigon(*LOOP, env={"AIGON_FAILPOINT": "turn_ended.before:kill"}).code == -9
    if then != "at once":
        assert lab.aigon(*RESUME, env={"AIGON_FAILPOINT": "run_started:kill"}).code == -9
        ok(lab.aigon(*LOOP), 7)  # a new run would take the commits for a person's
    more: tuple[str, ...] = ()
    if then == "with a changed spec":
        lab.spec("it is done, really <!-- verify: .aigon/validation.sh -->")
        more = ("--accept-spec", "--yes")
        assert lab.aigon(*RESUME, *more, env={"AIGON_FAILPOINT": "run_started:kill"}).code == -9
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert "done.txt" in lab.read(".aigon/validation.sh")
    assert "done.txt" in lab.git("show", "HEAD:.aigon/validation.sh")


@pytest.mark.slow
def test_a_persons_spec_edit_leaves_an_agents_interrupted_commits_unclaimed(lab: Lab) -> None:
    waits = 'touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.02; done'
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} || exit 1; {waits} -->")
    lab.agent('touch done.txt; git add done.txt; git commit -qm "done" -m "Aigon-Feature: 42"')
    lab.config(proof={"home": "real"})
    process = lab.start(*LOOP)
    begun(lab, process)
    interrupt(process, signal.SIGTERM)
    process.communicate()
    go(lab)
    lab.write(SPEC, lab.read(SPEC).replace("it is done", "it is well done"))
    ran = ok(lab.aigon(*RESUME, "--accept-spec", "--yes", "--max-iterations", "1"), 4)
    assert "A commit of the agent has one of aigon's trailers" in ran.out


@pytest.mark.parametrize("checkpoint", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_aigon_wrote_for_an_unintended_commit_is_no_edit_of_the_agents(lab: Lab, checkpoint: int) -> None:
    lab.spec("it is begun <!-- verify: test -f begun.txt -->", f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; if [ -e begun.txt ]; then touch done.txt; else touch begun.txt; fi')
    killed = lab.aigon(*LOOP, env={"AIGON_FAILPOINT": f"checkpoint_intended.before@{checkpoint}:kill"})
    assert killed.code == -9
    assert "[x]" in lab.read(SPEC) and lab.read(LOG)
    ran = ok(lab.aigon(*RESUME))
    assert "put back" not in ran.out
    assert (parked(lab), turns(lab)) == ([], 2)
    assert "put back" not in lab.read(LOG)
    lab.sound()


PLANTS = """
    mkdir -p .git/hooks; printf '#!/bin/sh\\n' > .git/hooks/post-checkout; git config core.fsmonitor evil
    git config --unset user.name
    touch "$HOME/begun"
    until [ -e "$HOME/go" ]; do sleep 0.02; done
    echo done > done.txt
"""
"""Plants what the person's next git would run, waits to be told `go`, and does its work."""


def test_what_an_agent_planted_in_git_does_not_outlast_a_kill(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.env["AIGON_SANDBOX"] = "none"  # in one the agent has no way to plant anything there
    (lab.home / ".gitconfig").write_text("[user]\n\tname = Ada at home\n")  # not every account has a name of its own
    lab.agent(PLANTS)
    process = lab.start(*LOOP)
    begun(lab, process)
    kill(process)
    until(lambda: not left_behind(lab))
    lab.agent("echo done > done.txt")
    ran = ok(lab.aigon(*RESUME))
    assert "post-checkout was added; it was taken away" in ran.out and "core.fsmonitor" in ran.out
    config = lab.read(".git/config")
    assert "fsmonitor" not in config and "name = Ada" in config
    assert not lab.path(".git/hooks/post-checkout").exists()


def test_commits_of_an_interrupted_turn_are_an_iteration_of_their_own(
    lab: Lab,
) -> None:
    lab.spec("it is begun <!-- verify: test -f begun.txt -->", f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("""
        echo turn >> "$HOME/turns"
        [ -e begun.txt ] || { touch begun.txt; exit; }
        touch done.txt; git add -A; git commit -qm "the agent's own"
        touch "$HOME/begun"; sleep 60
    """)
    process = lab.start(*LOOP)
    begun(lab, process)
    kill(process)
    until(lambda: not left_behind(lab))
    ok(lab.aigon(*RESUME))
    assert (turns(lab), lab.boxes()) == (2, "xx")
    assert [i["number"] for i in lab.state()["iterations"]] == [0, 1, 2]
    numbers = lab.git("log", "--reverse", "--format=%(trailers:key=Aigon-Iteration,valueonly,separator=)", "main..HEAD")
    assert numbers.split() == ["1", "2"]
    lab.sound()


def fill_log(lab: Lab) -> list[int]:
    """Commit an iteration log that is full, as earlier runs leave it; return the numbers of its iterations."""
    numbers, line = [*range(1, 701)], "- a line\n"
    entries = "".join(f"## Iteration {number} (2026-01-01 10:00:00)\n\n{line * 12}---\n" for number in numbers)
    lab.write(LOG, f"# Iteration log: feature 42, Dark mode\n\nWritten by aigon.\n\n{entries}")
    return numbers


def read_whole_log(lab: Lab) -> tuple[list[int], list[str]]:
    """Return the numbers of all iterations in the committed log and its parts, and the paths of the parts."""
    parts = lab.git("ls-tree", "-r", "--name-only", "HEAD", f"{LOG.removesuffix('.md')}/").splitlines()
    texts = [lab.git("show", f"HEAD:{path}") for path in (*parts, LOG)]
    return [number for text in texts for number in read_iteration_numbers(text)], parts


@pytest.mark.parametrize("kill", ["checkpoint_intended.before", "checkpoint_intended", "iteration_finished.before@2"])
def test_a_full_log_goes_on_in_a_new_part_whatever_ends_the_run_meanwhile(lab: Lab, kill: str) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt')
    known = fill_log(lab)
    lab.commit("a feature with a long past")
    killed = lab.aigon(*LOOP, env={"AIGON_FAILPOINT": f"{kill}:kill"})
    assert killed.code == -9, killed.out + killed.err
    ran = ok(lab.aigon(*RESUME))
    assert "put back" not in ran.out + ran.err, "aigon wrote the part, and no agent"
    assert turns(lab) == 1
    found, parts = read_whole_log(lab)
    assert found == [*known, 701]
    assert parts == [f"{LOG.removesuffix('.md')}/0001-0700.md"]
    assert len(lab.read(LOG)) < 5_000
    lab.sound(agrees=True)


def test_an_agents_edits_to_an_older_part_of_the_log_are_put_back(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    folder = LOG.removesuffix(".md")
    lab.agent(
        f"""
        [ -e {folder}/0001-0700.md ] && echo '- [x] all' >> {folder}/0001-0700.md
        mkdir -p {folder} && echo forged > {folder}/0701-0702.md
        """
    )
    known = fill_log(lab)
    lab.commit("a feature with a long past")
    ran = ok(lab.aigon(*LOOP, "--max-iterations", "2"), 3)
    assert "were put back: they belong to other features" in ran.out
    assert read_whole_log(lab) == ([*known, 701, 702], [f"{folder}/0001-0700.md"])
    lab.sound()
