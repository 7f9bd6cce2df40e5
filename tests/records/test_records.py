"""Records of a run that travel over a git remote to a fresh clone under another HOME."""

import json
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from aigon.files.checksums import dump_with_sum, format_line
from tests.lab import Lab, Ran

NAME = "refs/aigon/records/42--mine"
BACKLOG = "docs/specs/features/02-backlog/feature-42-dark-mode.md"
AGENT = """
    echo "$AIGON_ITERATION" >> {turns}
    echo "$AIGON_ITERATION" >> done.txt
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with a bare remote, and an agent that needs three turns for feature 42."""
    lab = Lab(tmp_path).init()
    lab.agent(AGENT.format(turns=tmp_path / "turns"))
    lab.spec("three turns <!-- verify: test $(wc -l < done.txt) -ge 3 -->", name=BACKLOG)
    lab.commit("feature 42")
    lab.git("clone", "-q", "--bare", str(lab.root), str(tmp_path / "remote.git"))
    lab.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return lab


def elsewhere(lab: Lab, name: str = "away") -> Lab:
    """Somebody else with another HOME and a fresh clone of the remote."""
    other = Lab(lab.root.parent / name)
    shutil.rmtree(other.root)
    lab.git("clone", "-q", str(lab.root.parent / "remote.git"), str(other.root))
    other.git("config", "user.name", "Bea")
    other.git("config", "user.email", "bea@example.invalid")
    return other


def run(lab: Lab, *words: str, code: int = 0, env: Mapping[str, str] | None = None) -> Ran:
    """Run aigon and look at its exit code."""
    ran = lab.aigon(*words, env=env)
    assert ran.code == code, ran.out + ran.err
    return ran


def begin(lab: Lab, *, killed_at: str = "iteration_started@3") -> None:
    """A run in a worktree that is killed, its records pushed."""
    env = {"AIGON_FAILPOINT": f"{killed_at}:kill"}
    run(lab, "feature-implement", "42", "--loop", "--worktree", code=-9, env=env)
    run(lab, "records", "push", "42")


def turns(lab: Lab) -> list[str]:
    return (lab.root.parent / "turns").read_text().split()


@pytest.mark.slow
def test_a_killed_run_goes_on_in_a_fresh_clone_under_another_home(lab: Lab) -> None:
    begin(lab)
    other = elsewhere(lab)
    listed = run(other, "records", "list", "42", "--json").json["records"]
    assert [each["ref"] for each in listed] == [NAME]
    assert "fetched" in run(other, "records", "fetch", "42").out
    assert "was here already" in run(other, "records", "fetch", "42").out
    run(other, "feature-status", "42")
    run(other, "report", "42", "--format", "md")
    assert "iteration 2 of 5" in run(other, "replay", "42", "--agent", "mine", "--speed", "max").out
    run(other, "feature-implement", "42", "--resume", "--agent", "mine")
    assert turns(lab) == ["1", "2", "3"]
    run(other, "feature-eval", "42")
    run(other, "records", "push", "42")
    # Back where it began, with what came of it; the unfinished turn there is saved aside by nobody's loss.
    assert "fetched" in run(lab, "records", "fetch", "42").out
    assert "3/3" not in run(lab, "feature-status", "42").out
    assert run(lab, "feature-done", "42", "--json").json["proof"].startswith("proven again")
    lab.agrees()


@pytest.mark.slow
def test_claims_of_a_record_are_proven_again_before_a_merge(lab: Lab) -> None:
    lab.config(checks={"Own": {"command": f"test ! -e {lab.root.parent}/broken"}})
    lab.commit("a check")
    run(lab, "feature-implement", "42", "--loop", "--worktree")
    run(lab, "records", "push", "42")
    other = elsewhere(lab)
    run(other, "records", "fetch", "42")
    (lab.root.parent / "broken").touch()
    refused = run(other, "feature-done", "42", "--into", "main", code=3)
    assert "came from elsewhere" in refused.err
    (lab.root.parent / "broken").unlink()
    assert run(other, "feature-done", "42", "--json").json["proof"].startswith("proven again")


def alter(lab: Lab, change: str) -> str:
    """Push the record with a change in it, as somebody who can write to the remote; return what is told of it."""
    lab.git("fetch", "-q", "origin", NAME)
    files = {name: lab.git("show", f"FETCH_HEAD:{name}") for name in ("manifest.json", "journal.jsonl", "frozen.json")}
    manifest = json.loads(files["manifest.json"])
    manifest.pop("sum")
    manifest["files"] = {path: each for path, each in manifest["files"].items() if path in files}
    lines = files["journal.jsonl"].splitlines(keepends=True)
    match change:
        case "cut":
            files["journal.jsonl"] = "".join(lines[:-1])
        case "forged":
            text = files["journal.jsonl"].replace('"status":"unmet"', '"status":"met"')
            forged = b"".join(format_line(line.partition(" ")[2]) for line in text.splitlines())
            files["journal.jsonl"] = forged.decode()
            manifest["files"]["journal.jsonl"] = sha256(forged).hexdigest()
        case "name":
            manifest["label"] = "../../x"
        case "branch":
            manifest["commit"] = "1" * 40
        case "missing":
            manifest = {}
    files["manifest.json"] = dump_with_sum(manifest).decode()
    lab.git("switch", "-q", "--orphan", "forgery")
    for name, text in files.items():
        lab.write(name, text if text.endswith("\n") else f"{text}\n")
    lab.git("add", "-f", *files)
    lab.git("commit", "-q", "-m", "forged")
    lab.git("push", "-q", "-f", "origin", f"HEAD:{NAME}")
    other = elsewhere(lab, change)
    before = other.fingerprint()
    refused = run(other, "records", "fetch", "42", code=7)
    assert other.fingerprint() == before
    return refused.err


@pytest.mark.slow
@pytest.mark.parametrize("change", ["forged", "cut", "name", "branch", "missing"])
def test_a_record_that_was_altered_is_refused_by_name(lab: Lab, change: str) -> None:
    begin(lab)
    words = {
        "cut": "journal.jsonl was altered",
        "forged": "by the journal",
        "name": "it is of 42--../../x",
        "branch": "the branch does not have 111111111111",
        "missing": "Object missing required field",
    }
    said = alter(lab, change)
    assert "The record 42--mine is refused" in said
    assert words[change] in said


@pytest.mark.slow
def test_who_is_behind_the_remote_pushes_nothing(lab: Lab) -> None:
    begin(lab)
    other = elsewhere(lab)
    run(other, "records", "fetch", "42")
    run(other, "feature-implement", "42", "--resume", "--agent", "mine")
    run(other, "records", "push", "42")
    run(lab, "feature-implement", "42", "--resume", "--agent", "mine")
    assert "The remote has more of 42--mine" in run(lab, "records", "push", "42", code=7).err
    assert "has continued both here and elsewhere" in run(lab, "records", "fetch", "42", code=7).err


def test_without_a_remote_or_records_it_says_what_to_do(lab: Lab) -> None:
    assert "has no records here" in run(lab, "records", "push", "42", code=2).err
    assert "no records of feature 42" in run(lab, "records", "fetch", "42", code=2).err
    lab.git("remote", "remove", "origin")
    assert "This repository has no remote" in run(lab, "records", "fetch", "42", code=2).err
