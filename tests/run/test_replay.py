"""`aigon replay`: a run that is over shown again, its records compared, a recording of it played."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import aigon
from aigon.files.checksums import format_line, read_documents
from aigon.git.person import Checkout
from aigon.run.replay import verify_run
from tests.lab import BRANCH, SPEC, STATE, Lab

IN_PLACE = True
AGENT = """
echo turn $AIGON_ITERATION
case $AIGON_ITERATION in
1) echo 1 > one.txt;;
2) mkdir -p src; echo 2 > src/two.sh; chmod +x src/two.sh;;
3) rm one.txt; echo 3 > done.txt;;
4) echo 1 > one.txt; echo "<promise>COMPLETE</promise>";;
esac
"""
Documents = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A run of four iterations in which a criterion is lost once, and won again."""
    lab = Lab(tmp_path_factory.mktemp("replay")).init()
    lab.spec("one <!-- verify: test -f one.txt -->", "two <!-- verify: test -x src/two.sh -->",
             "done <!-- verify: test -f done.txt -->")  # fmt: skip
    lab.agent(AGENT)
    lab.commit("spec")
    ended = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "6")
    assert ended.code == 0, ended.out + ended.err
    return lab


def find_journal(lab: Lab) -> Path:
    (journal,) = lab.home.glob("state/repos/*/features/42/journal.jsonl")
    return journal


@pytest.fixture
def standing(ran: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """The same, put back after the test."""
    monkeypatch.setenv("HOME", str(ran.home))
    monkeypatch.setenv("AIGON_STATE_HOME", str(ran.home / "state"))
    kept = {path: path.read_bytes() for path in (find_journal(ran), ran.path(STATE))}
    tip = ran.git("rev-parse", "HEAD")
    yield ran
    ran.git("reset", "-q", "--hard", tip)
    for path, data in kept.items():
        path.write_bytes(data)


def edit(lab: Lab, change: Callable[[Documents], object]) -> None:
    """Change the journal as somebody would who knows how its sums are made."""
    journal = find_journal(lab)
    documents: Documents = read_documents(journal)
    change(documents)
    journal.write_bytes(b"".join(format_line(json.dumps(document)) for document in documents))


def verify(lab: Lab) -> list[str]:
    with Checkout.open(lab.root) as checkout:
        return list(verify_run(checkout, find_journal(lab)))


def looks(documents: Documents, number: int) -> Documents:
    return [each for each in documents if each["event"] == "iteration_finished" and each["number"] == number]


def test_a_replay_has_the_lines_of_the_log_and_changes_nothing(ran: Lab, tmp_path: Path) -> None:
    before = ran.fingerprint(), find_journal(ran).read_bytes(), ran.read(STATE)
    logged = ran.aigon("logs", "42").out
    assert ran.aigon("replay", "42", "--speed", "max").out == logged and "prints turn 3" in logged
    documents = ran.aigon("replay", "42", "--speed", "max", "--json").events
    assert documents == ran.aigon("logs", "42", "--json").events
    cast = tmp_path / "run.cast"
    assert ran.aigon("replay", "42", "--cast", str(cast)).code == 0
    head, *frames = [json.loads(line) for line in cast.read_text().splitlines()]
    assert (head["version"], head["width"]) == (2, 100) and frames[0][0] == 0 and "proven" in frames[-1][2]
    assert [frame[0] for frame in frames] == sorted(frame[0] for frame in frames)
    assert any("3 of 3 criteria passed" in frame[2] for frame in frames)
    assert (ran.fingerprint(), find_journal(ran).read_bytes(), ran.read(STATE)) == before


def test_the_state_after_an_iteration_is_what_it_was_then(ran: Lab) -> None:
    past = ran.aigon("replay", "42", "--to", "3", "--json").json
    assert past["state"]["criteria_met"] == 2 and past["state"]["iteration"] == 3
    assert [each["number"] for each in past["state"]["iterations"]] == [0, 1, 2, 3]
    assert past["commit"] == ran.git("rev-parse", "HEAD~1") and "done.txt" in past["tree"]
    assert past["prompt"].startswith("# Iteration 3 of at most 6")
    text = ran.aigon("replay", "42", "--to", "3").out
    assert "criterion 1 failed" in text and "  | # Iteration 3" in text
    assert ran.aigon("replay", "42", "--to", "0", "--json").json["prompt"] == ""
    beyond = ran.aigon("replay", "42", "--to", "5")
    assert beyond.code == 2 and "no iteration 5" in beyond.err and "0 to 4" in beyond.err
    unknown = ran.aigon("replay", "42", "--run", "20200101-000000-abcdef")
    assert unknown.code == 2 and "Its last runs are 2" in unknown.err
    assert ran.aigon("replay", "42", "--verify", "--again").code == ran.aigon("replay", "42", "--speed", "0").code == 2


def drop_state(lab: Lab) -> None:
    lab.path(STATE).unlink()


def change_state(lab: Lab, **values: object) -> None:
    lab.path(STATE).write_text(json.dumps({**lab.state(), **values}))


def change_verdict(documents: Documents, number: int) -> None:
    looks(documents, number)[0]["verdicts"][1]["status"] = "unmet"


def break_line(lab: Lab) -> None:
    journal = find_journal(lab)
    journal.write_bytes(journal.read_bytes().replace(b"dark-mode", b"dark-mood", 1))


def amend(lab: Lab, message: str, old: str = "", new: str = "") -> None:
    """Replace the last iteration commit by another one, in the journal too."""
    before = lab.git("rev-parse", "HEAD")
    if old:
        lab.path(SPEC).write_text(lab.read(SPEC).replace(old, new))
    lab.git("commit", "-q", "-a", "--amend", "-m", message or lab.git("log", "-1", "--format=%B"))
    text = json.dumps(read_documents(find_journal(lab))).replace(before, lab.git("rev-parse", "HEAD"))
    edit(lab, lambda documents: documents.__setitem__(slice(None), json.loads(text)))
    change_state(lab, checkpoint=lab.git("rev-parse", "HEAD"))


PLANTED: dict[str, tuple[Callable[[Lab], object], str]] = {
    "a damaged line": (break_line, "journal: The journal of this run is damaged"),
    "an event in a wrong place": (
        lambda lab: edit(lab, lambda d: d.append({**d[0], "resumed": True, "run_id": "other"})),
        "run_started, cannot come there",
    ),
    "another verdict": (
        lambda lab: edit(lab, lambda d: change_verdict(d, 2)),
        "the box of criterion 2 is ticked, and by the journal it failed",
    ),
    "another number of passed criteria": (
        lambda lab: edit(lab, lambda d: change_verdict(d, 2)),
        "Aigon-Criteria is 2/3, and 1/3 by the journal",
    ),
    "a check with another result": (
        lambda lab: edit(lab, lambda d: looks(d, 2)[0]["findings"][0].update(status="fail")),
        "Aigon-Checks is git=pass, and git=fail by the journal",
    ),
    "a commit that nobody announced": (
        lambda lab: edit(lab, lambda d: looks(d, 2)[0].update(checkpoint="0" * 40)),
        "commit 00000000, which was never announced",
    ),
    "a commit that is gone": (
        lambda lab: edit(lab, lambda d: looks(d, 2)[0].update(checkpoint="0" * 40)),
        "commit 00000000 of iteration 2: it is not in the repository",
    ),
    "another exit code": (
        lambda lab: edit(lab, lambda d: d[-1].update(exit_code=3)),
        "ended with exit code 3, and its outcome means 0",
    ),
    "proven with an open criterion": (
        lambda lab: edit(lab, lambda d: change_verdict(d, 4)),
        "ended as proven, and criterion 2 did not pass",
    ),
    "another value in the state file": (
        lambda lab: change_state(lab, criteria_met=2),
        "state file: criteria_met is 2, and 3 by the journal",
    ),
    "no state file": (drop_state, "state file: there is none at"),
    "the state file of another run": (lambda lab: change_state(lab, run_id="other"), 'run_id is "other"'),
    "a branch that was reset": (
        lambda lab: lab.git("reset", "-q", "--hard", "HEAD~2"),
        f"of iteration 3: the branch {BRANCH} does not have it",
    ),
    "a commit that claims to be of the run": (
        lambda lab: lab.git("commit", "-q", "--allow-empty", "-m", f"x\n\nAigon-Run: {lab.state()['run_id']}"),
        "it claims to be of this run, and the journal does not have it",
    ),
    "a box that was cleared": (
        lambda lab: amend(lab, "", "- [x] two", "- [ ] two"),
        "of iteration 4: the box of criterion 2 is open, and by the journal it passed",
    ),
    "a commit without trailers": (lambda lab: amend(lab, "x"), "Aigon-Iteration is None, and 4 by the journal"),
}


def test_records_that_were_left_alone_agree(standing: Lab) -> None:
    assert verify(standing) == []


@pytest.mark.parametrize("what", PLANTED)
def test_each_planted_disagreement_is_named(what: str, standing: Lab) -> None:
    plant, named = PLANTED[what]
    plant(standing)
    found = verify(standing)
    assert any(named in each for each in found), found


def test_the_command_names_differences_and_ends_with_7(standing: Lab) -> None:
    assert standing.aigon("replay", "42", "--verify").out.endswith("agree\n")
    change_state(standing, criteria_met=2)
    differs = standing.aigon("replay", "42", "--verify", "--json")
    assert differs.code == 7 and differs.json["differences"] == ["state file: criteria_met is 2, and 3 by the journal"]
    break_line(standing)
    assert "is damaged" in standing.aigon("replay", "42", "--verify").out
    damaged = standing.aigon("replay", "42")
    assert damaged.code == 7 and "doctor --repair" in damaged.err


def test_a_cut_journal_is_shown_to_its_end_and_a_newer_one_refused(standing: Lab) -> None:
    journal = find_journal(standing)
    journal.write_bytes(journal.read_bytes()[:-30])
    cut = standing.aigon("replay", "42", "--speed", "max")
    assert cut.code == 0 and "iteration 4 of 6 finished" in cut.out and "exit code" not in cut.out
    edit(standing, lambda documents: documents[-1].update(colour="blue"))
    newer = standing.aigon("replay", "42", "--verify")
    assert newer.code == 7 and "another version" in newer.err
    journal.unlink()
    assert standing.aigon("replay", "42").code == 2


@pytest.mark.slow
def test_the_checks_of_each_commit_run_again_and_a_flaky_one_is_named(standing: Lab) -> None:
    again = standing.aigon("replay", "42", "--again")
    assert (again.code, again.out.count("as before")) == (0, 4), again.out + again.err
    edit(
        standing,
        lambda documents: [
            each["finding"].update(status="fail")
            for each in documents
            if each["event"] == "check_finished" and each["number"] == 2 and each["finding"]["check"] == "criterion-2"
        ],
    )
    flaky = standing.aigon("replay", "42", "--again")
    assert flaky.code == 7 and "criterion-2 is flaky: fail, now pass" in flaky.out


def test_a_recording_leads_a_second_run_to_the_same_verdicts(ran: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    made = ran.aigon("replay", "42", "--record", str(folder), "--json").json
    assert (made["attempts"], made["left_out"]) == (4, [])
    assert (folder / "3/delete").read_text() == "one.txt\n" and not (folder / "1/files/docs").exists()
    assert ran.aigon("replay", "42", "--record", str(folder)).code == 2, "nothing is written over"

    second = Lab(tmp_path).init()
    second.write(SPEC, ran.git("show", f"main:{SPEC}") + "\n")
    second.config(agents={"again": {"adapter": "replay", "recording": str(folder)}}, defaultAgent="again")
    second.commit("spec")
    assert second.aigon("feature-implement", "42", "--loop", "--max-iterations", "6").code == 0
    verdicts = [
        [
            (each["number"], [verdict["status"] for verdict in each["verdicts"]])
            for each in json.loads(json.dumps(read_documents(find_journal(lab))))
            if each["event"] == "iteration_finished"
        ]
        for lab in (ran, second)
    ]
    assert verdicts[0] == verdicts[1] and len(verdicts[0]) == 5
    assert (second.root / "src/two.sh").stat().st_mode & 0o111
    shutil.rmtree(folder)


def test_a_waived_criterion_agrees_and_odd_names_are_recorded(lab: Lab, tmp_path: Path) -> None:
    lab.spec(
        "one <!-- verify: test -f one.txt -->", "two <!-- verify: false -->", "done <!-- verify: test -f done.txt -->"
    )
    (lab.root / os.fsdecode(b"odd\xff.txt")).touch()
    lab.agent("[ $AIGON_ITERATION = 1 ] && touch one.txt || { touch done.txt; rm odd*; }")
    lab.commit("spec")
    assert lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 3
    assert lab.aigon("run", "skip", "42.2", "--reason", "not needed", "--yes").code == 0
    assert lab.aigon("feature-implement", "42", "--resume").code == 0
    verified = lab.aigon("replay", "42", "--verify")
    assert verified.code == 0, verified.out
    folder = tmp_path / "recording"
    recorded = lab.aigon("replay", "42", "--record", str(folder))
    assert recorded.code == 0 and (folder / "2/delete").read_bytes() == b"odd\xff.txt\n", recorded.err
    lab.git("checkout", "-q", "main")
    player = Path(aigon.__file__).with_name("agents") / "adapters" / "_player.py"
    env = {**lab.env, "AIGON_ITERATION": "2"}
    subprocess.run([sys.executable, "-I", player, folder], cwd=lab.root, env=env, check=True)
    assert not list(lab.root.glob("odd*")) and lab.path("done.txt").exists()
