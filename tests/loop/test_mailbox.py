"""What an agent asks for in its turn: claims, criteria left to a person, proposals, and the file they come in."""

import json
import os
import signal
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.loop.mailbox import MAX_BYTES, MAX_LINES, NAME, post_request, read_mailbox
from aigon.model.criteria import Criterion, Verdict
from aigon.model.requests import MAX_PROPOSALS, AgentRequest, Requests, judge_claims, resolve_task
from tests.lab import LOG, Lab, finish, until

FIRST = "the file is there <!-- verify: test -f done.txt -->"
SECOND = "the other is there <!-- verify: test -f other.txt -->"


def criteria(*texts: str) -> tuple[Criterion, ...]:
    return tuple(Criterion(number, number, text, False, "human", None, 0) for number, text in enumerate(texts, 1))


@pytest.mark.parametrize(
    ("task", "number"),
    [("2", 2), ("42.2", 2), ("7.2", 0), ("3", 0), ("T002", 2), ("t002", 2), ("42.T002", 2), ("", 0), ("T9", 0)],
)
def test_a_task_is_named_by_number_feature_and_number_or_id(task: str, number: int) -> None:
    assert resolve_task(criteria("T001: one", "T002: two"), "42", task) == number


def test_the_last_word_on_a_criterion_counts_and_proposals_are_bounded() -> None:
    asked = Requests().apply([AgentRequest("done", 1), AgentRequest("skip", 1, "no"), AgentRequest("done", 2)])
    assert (asked.claims, dict(asked.skips)) == ((2,), {1: "no"})
    many = [AgentRequest("enqueue", text=f"idea {number}") for number in range(30)]
    after = asked.apply([AgentRequest("reset", 2), *many])
    assert (after.claims, len(after.proposals)) == ((), MAX_PROPOSALS)
    assert after.apply(many) == after


def test_a_verdict_keeps_or_breaks_each_claim() -> None:
    kept, broken = judge_claims([1, 2], [Verdict(1, "met", "verify"), Verdict(2, "unmet", "verify", "", "exit 1")])
    assert (kept.kept, broken.kept, broken.why) == (True, False, "exit 1")


def test_a_mailbox_is_read_up_to_its_bounds_and_says_what_it_ignores(tmp_path: Path) -> None:
    line = json.dumps({"kind": "done", "task": "1"}).encode() + b"\n"
    (tmp_path / NAME).write_bytes(line * (10 * 1024 * 1024 // len(line)))
    requests, (remark,) = read_mailbox(tmp_path, criteria("a"), "42")
    assert len(requests) == MAX_LINES and "has 10.0 MiB: aigon reads 100 lines and 64.0 KiB at most" in remark


def test_garbage_in_a_mailbox_is_counted_and_named(tmp_path: Path) -> None:
    documents = [{"kind": "done", "task": "9"}, {"kind": "merge"}, {"kind": "enqueue", "text": " "}, [], 1]
    odd = [b"\xff\xfe", b"[" * 5000, *(json.dumps(each).encode() for each in documents)]
    good = json.dumps({"kind": "skip", "task": "1", "text": "\x1b[31mred\n# no", "priority": 7}).encode()
    (tmp_path / NAME).write_bytes(b"\n".join([*odd, good, b'{"kind": "do']))
    requests, remarks = read_mailbox(tmp_path, criteria("a"), "42")
    assert requests == (AgentRequest("skip", 1, "red # no"),)
    cut, unreadable, unknown = remarks
    assert "cut off" in cut and unreadable.startswith("6 lines") and unknown.endswith("does not have: 9")


def test_a_mailbox_that_is_no_file_is_left_alone(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"kind": "done", "task": "1"}\n')
    (tmp_path / NAME).symlink_to(secret)
    assert read_mailbox(tmp_path, criteria("a"), "42")[0] == ()
    with pytest.raises(AigonError):
        post_request(tmp_path / NAME, "done", task="1")
    (tmp_path / NAME).unlink()
    os.mkfifo(tmp_path / NAME)
    assert "no ordinary file" in read_mailbox(tmp_path, criteria("a"), "42")[1][0]
    assert secret.read_text().count("\n") == 1


def test_a_full_mailbox_takes_no_more(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"x" * MAX_BYTES)
    with pytest.raises(AigonError, match="full"):
        post_request(tmp_path / NAME, "done", task="1")


def test_an_agents_claims_skips_and_proposals_end_as_claim_question_and_proposal(lab: Lab) -> None:
    lab.spec(FIRST, SECOND)
    lab.agent("""
        cat > /dev/null
        touch done.txt
        box=${AIGON_PROMPT_FILE%/*}/mailbox.ndjson
        echo '{"kind": "done", "task": "1"}' >> $box  # as `aigon run` writes it, in a fraction of the time
        echo '{"kind": "done", "task": "2"}' >> $box
        echo '{"kind": "skip", "task": "42.2", "text": "needs a licence"}' >> $box
        aigon run enqueue "Buy a licence" --priority high
    """)
    lab.commit("a spec")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "3")
    assert ran.code == 4, ran.out + ran.err
    assert "the agent leaves criterion 2 to a person (2: needs a licence)" in ran.out
    assert "aigon feature-create 'Buy a licence' --priority high" in ran.out
    assert "aigon run skip 42.2 --reason WHY" in ran.out
    log = lab.read(LOG)
    assert "- Promise `criterion 1 is done`: kept" in log and "criterion 2 is done" not in log
    assert lab.boxes() == "x "


@pytest.mark.slow
def test_a_person_waives_what_an_agent_skipped_and_may_take_it_back(lab: Lab) -> None:
    lab.spec(FIRST, SECOND)
    lab.agent("cat > /dev/null; touch done.txt; aigon run skip 2 --reason later")
    lab.commit("a spec")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    assert lab.aigon("run", "done", "42.2", "--yes").code == 2
    assert lab.aigon("run", "skip", "42.2", "--reason", "not this year").code == 4
    assert lab.aigon("run", "skip", "42.1", "42.2", "--reason", "no", "--yes").code == 2
    waived = lab.aigon("run", "skip", "42.2", "--reason", "not this year", "--yes", "--json")
    assert waived.json["waived"] == [2]
    assert lab.aigon("run", "reset", "2", "--yes").code == 0
    assert lab.aigon("feature-implement", "42", "--resume", "--max-iterations", "1").code == 4
    assert lab.aigon("run", "skip", "2", "--reason", "not this year", "--yes").code == 0
    proven = lab.aigon("feature-implement", "42", "--resume")
    assert proven.code == 0, proven.out + proven.err
    assert "criterion 2 was waived by Ada" in proven.out and "not this year" in proven.out
    assert lab.boxes() == "x "
    assert "[ ] 2 waived" in lab.aigon("feature-status", "42").out


@pytest.mark.slow
def test_what_an_agent_asked_for_survives_a_kill_before_its_turn_ended(lab: Lab) -> None:
    lab.spec(FIRST, SECOND)
    lab.agent("""
        cat > /dev/null
        [ -e ~/second ] && { touch done.txt; exit 0; }
        touch ~/second
        aigon run done 1
        aigon run skip 2 --reason "needs a licence"
        aigon run enqueue "Buy a licence"
        touch ~/asked
        sleep 60
    """)
    lab.commit("a spec")
    process = lab.start("feature-implement", "42", "--loop", "--max-iterations", "3")
    until(lambda: (lab.home / "asked").exists(), 60)
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    ran = lab.aigon("feature-implement", "42", "--resume")
    assert ran.code == 4, ran.out + ran.err
    assert "needs a licence" in ran.out and "aigon feature-create 'Buy a licence'" in ran.out
    assert "- Promise `criterion 1 is done`: kept" in lab.read(LOG)


@pytest.mark.slow
def test_the_next_turn_is_told_what_was_left_to_a_person(lab: Lab) -> None:
    lab.spec(FIRST, SECOND)
    lab.agent("""
        cat > ~/prompt-$AIGON_ITERATION
        [ "$AIGON_ITERATION" = 1 ] && aigon run skip 2 --reason "needs a licence" && echo 1 > try.txt
        [ "$AIGON_ITERATION" = 2 ] && touch done.txt
        exit 0
    """)
    lab.commit("a spec")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    prompt = (lab.home / "prompt-2").read_text()
    assert "## Left to a person" in prompt and "- Criterion 2: `needs a licence`" in prompt


@pytest.mark.slow
def test_what_is_open_and_skipped_at_the_limit_is_a_question(lab: Lab) -> None:
    lab.spec(FIRST, SECOND)
    lab.agent("cat > /dev/null; echo x >> try.txt; aigon run skip 2 --reason later")
    lab.commit("a spec")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2")
    assert ran.code == 4 and "criterion 2 to a person (2: later)" in ran.out


def test_in_a_check_of_a_loop_nobody_asks_for_anything(lab: Lab) -> None:
    lab.spec(FIRST)
    asked = lab.aigon("run", "done", "42.1", env={"AIGON_RUN": "1"})
    assert asked.code == 4 and "for agents in their turn" in asked.err


def test_a_person_enqueues_a_feature_with_its_priority(lab: Lab) -> None:
    made = lab.aigon("run", "enqueue", "Dark", "mode", "--priority", "high", "--json")
    assert made.json["slug"] == "dark-mode"
    assert lab.read(made.json["path"]).startswith("---\npriority: high\n---\n# Feature: Dark mode\n")
