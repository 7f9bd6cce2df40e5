"""The verbs around the loop: each does its small thing, commits only its own, and answers people and programs."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aigon.files.locks import hold_lock
from tests.lab import BRANCH, DONE_WHEN, SPEC, STATE, Lab, Ran, reuse

IN_PLACE = True
WORKS = f"it works <!-- verify: {DONE_WHEN} -->"
LINTER = "#!/bin/sh\nfor f in $(git diff --cached --name-only); do echo linter: $f; done; exit 1\n"
DONE = "docs/specs/features/05-done/feature-42-dark-mode.md"


def touched(lab: Lab) -> list[str]:
    """The paths of the last commit."""
    return lab.git("show", "--format=", "--name-only", "--no-renames", "HEAD").splitlines()


def document(ran: Ran) -> dict[str, Any]:
    """The one document of a verb that succeeded."""
    assert ran.code == 0, ran.out + ran.err
    found: dict[str, Any] = json.loads(ran.out)
    assert found["schema_version"] == 1
    return found


# init


def test_init_run_again_changes_nothing_and_keeps_what_is_there(lab: Lab) -> None:
    lab.path(".aigon/config.json").unlink()
    lab.write(".gitignore", b"*.log\r\nbuild/")
    first = document(lab.aigon("init", "--no-commands", "--json"))
    assert first["written"] == [".aigon/config.json", ".gitignore"] and first["kept"] == []
    ignores = lab.path(".gitignore").read_bytes()
    assert ignores.startswith(b"*.log\r\nbuild/\r\n# aigon's runtime files\r\n.aigon/loop-state-*\r\n")
    assert ignores.count(b"\n") == ignores.count(b"\r\n") == 10
    lab.config(ralph={"maxIterations": 9})
    config = lab.read(".aigon/config.json")
    again = lab.aigon("init", "--no-commands")
    assert again.code == 0 and "Kept .aigon/config.json as it is" in again.out and "Wrote" not in again.out
    assert (lab.read(".aigon/config.json"), lab.path(".gitignore").read_bytes()) == (config, ignores)
    lab.write(".aigon/STOP", "")
    lab.write(STATE, "{}")
    assert lab.aigon("config", "schema", "--write").code == 0 and lab.path(".aigon/schemas/config.schema.json").exists()
    assert sorted(lab.git("status", "--porcelain", "-uall").split()[1::2]) == [".aigon/config.json", ".gitignore"]


def test_init_with_another_profile_says_what_the_configuration_keeps(lab: Lab) -> None:
    lab.path(".aigon/config.json").unlink()
    lab.aigon("init", "--no-commands")
    again = lab.aigon("init", "--no-commands", "--profile", "library").out
    assert '.aigon/config.json says "profile": "generic": change it there to keep library' in again


def test_schemas_that_an_older_aigon_had_committed_still_work_and_can_go(lab: Lab) -> None:
    lab.write(".aigon/schemas/config.schema.json", "{}\n")
    lab.config(**{"$schema": "./schemas/config.schema.json", "profile": "generic"})
    lab.commit("set up long ago")
    again = lab.aigon("init", "--no-commands")
    assert again.code == 0 and ".aigon/schemas/ is no longer needed: git rm -rq .aigon/schemas " in again.out
    lab.git("rm", "-rq", ".aigon/schemas")
    assert "schemas" not in lab.aigon("init", "--no-commands").out


def test_init_says_what_was_found_what_is_missing_and_what_there_is_not(lab: Lab) -> None:
    lab.config(checks={"lint": {"command": ["no-such-linter"]}, "tests": {"command": "make test"}})
    found = document(lab.aigon("init", "--no-commands", "--json"))
    assert found["profile"] == "generic"
    tests = {"name": "tests", "role": "tests", "command": "make test", "cwd": ".", "source": ".aigon/config.json"}
    assert tests in found["checks"]
    (missing,) = found["missing"]
    assert (missing["tool"], "Install no-such-linter" in missing["hint"]) == ("no-such-linter", True)
    assert {absent["role"] for absent in found["absent"]} == {"types", "build"}


def test_init_commits_its_own_files_and_nothing_that_is_staged(lab: Lab) -> None:
    lab.git("rm", "-q", ".aigon/config.json")
    lab.commit("not set up")
    lab.write("staged.txt", "1")
    lab.git("add", "staged.txt")
    plain = lab.aigon("init", "--no-commands")
    assert plain.code == 0 and "Not committed yet." in plain.out and "aigon init --commit\n" in plain.out
    left = document(lab.aigon("init", "--no-commands", "--no-commit", "--json"))
    assert (left["committed"], left["uncommitted"]) == (None, [".aigon/config.json", ".gitignore"])
    lab.git("rm", "-q", "--cached", "staged.txt")
    lab.git("add", "staged.txt")
    done = lab.aigon("init", "--no-commands", "--commit")
    assert done.code == 0 and "Committing .aigon/config.json, .gitignore to main\n" in done.out, done.err
    assert touched(lab) == [".aigon/config.json", ".gitignore"] and lab.subjects()[-1] == "chore: set up aigon"
    assert lab.git("status", "--porcelain") == "A  staged.txt"
    assert "Committing" not in lab.aigon("init", "--no-commands", "--commit").out


def test_init_configures_a_program_of_ones_own(lab: Lab) -> None:
    lab.path(".aigon/config.json").unlink()
    early = lab.aigon("init", "--no-commands", "--agent", "mine=./agent.sh --fast 'a b'")
    assert early.code == 0 and "The program ./agent.sh of the agent mine was not found" in early.out
    agents = json.loads(lab.read(".aigon/config.json"))["agents"]
    assert agents == {"mine": {"adapter": "command", "command": ["./agent.sh", "--fast", "a b"]}}
    lab.write("agent.sh", "#!/bin/sh\n")
    done = lab.aigon("init", "--no-commands", "--commit")
    assert lab.subjects()[-1] == "chore: update aigon's configuration" and "was not found" not in done.out
    assert "agent.sh" in touched(lab), done.out + done.err  # the work tree would not be clean, and a worktree lack it
    assert lab.aigon("init", "--no-commands", "--agent", "other=./other.sh").code == 0
    document = json.loads(lab.read(".aigon/config.json"))
    assert list(document["agents"]) == ["mine", "other"] and "ralph" in document
    again = lab.aigon("init", "--agent", "other=./third.sh")
    assert again.code == 2 and "An agent called other is configured already" in again.err
    assert json.loads(lab.read(".aigon/config.json")) == document
    assert lab.aigon("init", "--agent", "other").code == 2


def test_before_the_first_commit_every_verb_says_what_is_missing(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.git("-c", "init.defaultBranch=main", "init", "-q")
    lab.git("config", "user.name", "Ada")
    lab.git("config", "user.email", "ada@example.invalid")
    lab.write("app.py", "")
    first = 'git add -A && git commit -m "first commit"'
    begun = lab.aigon("init", "--no-commands")
    assert begun.code == 0 and f"has no commits yet. Make the first one: {first}" in begun.out
    created = lab.aigon("feature-create", "tea")
    assert created.code == 0 and first in created.out and "Not committed: docs/specs/" in created.out
    lab.path("app.py").unlink()
    empty = lab.aigon("init", "--no-commands", "--commit")
    assert empty.code == 0 and "Committing .aigon/config.json, .gitignore to main" in empty.out, empty.err
    assert lab.git("status", "--porcelain") == "?? docs/"


# the way of a feature


def test_a_commit_is_announced_and_refused_where_it_does_not_belong(lab: Lab) -> None:
    inbox = "docs/specs/features/01-inbox/feature-tea.md"
    said = lab.aigon("feature-create", "tea")
    assert said.out.splitlines()[0] == f"Committing {inbox} to main"
    quiet = lab.aigon("feature-prioritise", "tea", "--json")
    assert document(quiet)["id"] == "01" and "Committing docs/specs/" in quiet.err
    assert lab.aigon("feature-setup", "1").code == 0
    before = lab.fingerprint()
    foreign = lab.aigon("feature-create", "toast")
    assert (
        foreign.code == 7
        and "feature-01-tea is checked out, so the commit would become a part of feature 01" in foreign.err
    )
    assert "do:    git switch main   or add --no-commit" in foreign.err
    lab.git("switch", "-q", "--detach")
    detached = lab.aigon("feature-create", "toast")
    assert detached.code == 7 and "HEAD is detached" in detached.err and "--no-commit" in detached.err
    lab.git("switch", "-q", "feature-01-tea")
    assert lab.fingerprint() == before
    left = lab.aigon("feature-create", "toast", "--no-commit")
    assert left.code == 0 and left.out.startswith("Not committed: docs/specs/features/01-inbox/feature-toast.md\n")
    lab.git("switch", "-q", "main")
    moved = lab.aigon("feature-prioritise", "toast", "--no-commit")
    assert moved.code == 0 and lab.subjects()[-1] == "docs(feature-01): prioritise tea"
    started = lab.aigon("feature-setup", "2", "--no-commit")
    assert started.code == 0 and lab.git("branch", "--show-current") == "feature-02-toast"
    assert lab.git("status", "--porcelain", "-uall") == "?? docs/specs/features/03-in-progress/feature-02-toast.md"


def test_a_feature_goes_its_way_past_whatever_else_is_staged_or_changed(lab: Lab) -> None:
    lab.write("staged.txt", "1")
    lab.git("add", "staged.txt")
    lab.write("README.md", "changed\n")
    created = document(lab.aigon("feature-create", "Dark", "mode", "--json"))
    inbox = "docs/specs/features/01-inbox/feature-dark-mode.md"
    assert (created["path"], touched(lab)) == (inbox, [inbox])
    moved = document(lab.aigon("feature-prioritise", "dark-mode", "--json"))
    backlog = "docs/specs/features/02-backlog/feature-01-dark-mode.md"
    assert (moved["id"], moved["path"]) == ("01", backlog)
    assert touched(lab) == [inbox, backlog]
    assert lab.git("status", "--porcelain").splitlines() == [" M README.md", "A  staged.txt"]
    before = lab.fingerprint()
    refused = lab.aigon("feature-setup", "1")
    assert refused.code == 7 and "README.md, staged.txt" in refused.err and "git stash" in refused.err
    assert lab.fingerprint() == before
    lab.commit("mine")
    set_up = document(lab.aigon("feature-setup", "1", "--json"))
    progress = "docs/specs/features/03-in-progress/feature-01-dark-mode.md"
    assert (set_up["path"], set_up["branch"]) == (progress, "feature-01-dark-mode")
    assert (lab.git("branch", "--show-current"), touched(lab)) == ("feature-01-dark-mode", [backlog, progress])
    assert lab.git("show", "main:README.md") == "changed"
    lab.sound()


def test_a_failing_hook_stops_every_verb_that_commits(lab: Lab) -> None:
    lab.agent("true")
    lab.commit("agent")
    hook = lab.write(".git/hooks/pre-commit", "#!/bin/sh\nseq 100; echo no commits today; exit 1\n", executable=True)
    create, prioritise = ["feature-create", "Dark", "mode"], ["feature-prioritise", "dark-mode"]
    for verb in (create, prioritise, ["feature-setup", "1", "mine"], ["feature-setup", "1"]):
        before = lab.fingerprint()
        ran = lab.aigon(*verb)
        assert ran.code == 7 and "no commits today" in ran.err and "\n10\n" not in ran.err, ran.err
        assert lab.fingerprint() == before
        if verb[-1] != "mine":
            assert lab.aigon(*verb, "--no-verify").code == 0
    hook.write_text(f"#!/bin/sh\ngit diff --cached --name-only -- '*.md' >> {lab.home}/seen\n")
    lab.git("switch", "-q", "main")
    assert lab.aigon("feature-create", "Light", "mode").code == 0
    assert (lab.home / "seen").read_text() == "docs/specs/features/01-inbox/feature-light-mode.md\n"
    lab.sound()


def test_a_hook_that_formats_the_spec_is_asked_again_about_what_it_wrote(lab: Lab) -> None:
    formatter = "git diff --cached --name-only | xargs grep -L formatted"
    text = f'#!/bin/sh\nfor f in $({formatter}); do echo formatted >> $f; bad=1; done; test -z "$bad"\n'
    lab.write(".git/hooks/pre-commit", text, executable=True)
    ran = lab.aigon("feature-create", "Dark", "mode")
    assert ran.code == 0, ran.err
    assert lab.git("show", "HEAD:docs/specs/features/01-inbox/feature-dark-mode.md").endswith("formatted")
    assert lab.git("status", "--porcelain") == ""


def test_a_feature_in_progress_is_not_prioritised_again(lab: Lab) -> None:
    lab.spec(WORKS)
    before = lab.fingerprint()
    ran = lab.aigon("feature-prioritise", "42")
    assert ran.code == 2 and "in the stage in-progress already" in ran.err
    assert lab.fingerprint() == before


# feature-done


def make_proven(lab: Lab) -> None:
    """A feature that a run has proven, on its branch."""
    lab.spec(WORKS)
    lab.commit("spec")
    lab.agent("echo feature > shared.txt; touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err


@pytest.fixture
def proven() -> Lab:
    """A feature that a run has proven, on its branch."""
    return reuse(make_proven)


@pytest.mark.parametrize("start", ["main", BRANCH])
def test_a_proven_feature_is_merged_with_the_persons_own_git(proven: Lab, start: str) -> None:
    hook = proven.write(".git/hooks/pre-merge-commit", f"#!/bin/sh\ntouch {proven.home}/hook\n", executable=True)
    proven.git("switch", "-q", start)
    done = document(proven.aigon("feature-done", "042", "--json"))
    assert (done["id"], done["into"], done["path"]) == ("42", "main", DONE)
    assert proven.git("branch", "--show-current") == "main" and proven.path(DONE).exists()
    assert proven.git("log", "-1", "--format=%s %p").split()[:2] == ["Merge", BRANCH]
    assert len(proven.git("log", "-1", "--format=%p").split()) == 2
    assert hook.exists() and (proven.home / "hook").exists()
    assert proven.boxes(DONE) == "x"
    proven.sound()


def test_a_feature_that_is_not_proven_is_not_merged(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.commit("spec")
    document(lab.aigon("feature-setup", "42", "--json"))
    before = lab.fingerprint()
    never = lab.aigon("feature-done", "42")
    assert never.code == 3 and "not proven: it has not run" in never.err, never.err
    lab.agent("true")
    assert lab.aigon("feature-implement", "42").code == 3
    after = lab.fingerprint()
    ran = lab.aigon("feature-done", "42")
    assert ran.code == 3 and "not proven: Stopped by the guard" in ran.err
    assert lab.fingerprint() == after != before


def test_a_state_file_in_the_workspace_proves_nothing_and_may_be_missing(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.commit("spec")
    lab.agent("true")
    assert lab.aigon("feature-implement", "42").code == 3
    tip = lab.git("rev-parse", BRANCH)
    lab.write(STATE, json.dumps({**lab.state(), "status": "met", "proven_commit": tip}))
    forged = lab.aigon("feature-done", "42")
    assert forged.code == 3 and "not proven: Stopped by the guard" in forged.err, forged.out + forged.err
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--resume").code == 0
    lab.path(STATE).unlink()
    assert lab.aigon("feature-done", "42").code == 0


def test_a_branch_that_changed_since_it_was_proven_is_not_merged(proven: Lab) -> None:
    proven.write("later.txt", "")
    proven.commit("one more thing")
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42")
    assert ran.code == 3 and "has changed since it was proven" in ran.err and "--resume" in ran.err
    assert proven.fingerprint() == before
    again = proven.aigon("feature-implement", "42", "--resume")
    assert again.code == 0, again.out + again.err
    assert proven.aigon("feature-done", "42").code == 0


def test_a_merge_is_refused_on_a_dirty_tree(proven: Lab) -> None:
    proven.write("dirty.txt", "")
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42")
    assert ran.code == 7 and "dirty.txt" in ran.err
    assert proven.fingerprint() == before


def test_a_merge_with_conflicts_is_undone_and_they_are_named(proven: Lab) -> None:
    proven.git("switch", "-q", "main")
    proven.write("shared.txt", "main\n")
    proven.commit("meanwhile")
    for start in ("main", BRANCH):
        proven.git("switch", "-q", start)
        before = proven.fingerprint()
        ran = proven.aigon("feature-done", "42")
        assert ran.code == 7 and "where: shared.txt" in ran.err, ran.err
        assert f"Merge main into {BRANCH}" in ran.err
        assert proven.fingerprint() == before
    proven.sound()


def test_a_merge_that_a_hook_forbids_is_undone(proven: Lab) -> None:
    proven.write(".git/hooks/pre-merge-commit", "#!/bin/sh\necho not on a Friday >&2; exit 1\n", executable=True)
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42")
    assert ran.code == 7 and "not on a Friday" in ran.err
    assert proven.fingerprint() == before
    proven.sound()


@pytest.mark.parametrize("how", ["--no-ff", "--squash", "--rebase"])
def test_a_failing_pre_commit_hook_stops_feature_done(proven: Lab, how: str) -> None:
    proven.write(".git/hooks/pre-commit", LINTER, executable=True)
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42", how)
    assert ran.code == 7 and "linter: shared.txt" in ran.err and "--no-verify" in ran.err, ran.err
    assert proven.fingerprint() == before
    assert proven.aigon("feature-done", "42", how, "--no-verify").code == 0
    assert proven.path(DONE).exists()
    proven.sound()


def test_the_merge_commit_runs_every_hook_of_a_commit_and_of_a_merge(proven: Lab) -> None:
    names = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge")
    proven.git("config", "core.hooksPath", "../home/husky")
    for name in names:
        text = f"#!/bin/sh\necho {name} $LC_ALL >> {proven.home}/hooks\n"
        proven.write(f"../home/husky/{name}", text, executable=True)
    ran = proven.aigon("feature-done", "42", env={"LC_ALL": "C.UTF-8"})
    assert ran.code == 0, ran.err
    assert (proven.home / "hooks").read_text().splitlines() == [f"{name} C.UTF-8" for name in names]


@pytest.mark.skipif(shutil.which("pre-commit", path=str(Path(sys.executable).parent)) is None, reason="no pre-commit")
def test_the_pre_commit_program_stops_feature_done(proven: Lab) -> None:
    hooks = [
        {"id": "no-feature", "name": "no feature", "language": "pygrep", "entry": "^feature$", "files": "shared"},
    ]
    # Outside of the repository: inside it would be a check of the loop as well.
    config = proven.write("../home/hooks.yaml", json.dumps({"repos": [{"repo": "local", "hooks": hooks}]}))
    install = ["pre-commit", "install", "--config", str(config)]
    subprocess.run(install, cwd=proven.root, env=proven.env, check=True, capture_output=True)
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42")
    assert ran.code == 7 and "no feature" in ran.err and "shared.txt:1:feature" in ran.err, ran.err
    assert proven.fingerprint() == before
    assert proven.aigon("feature-done", "42", "--no-verify").code == 0


# feature-status


def test_the_status_of_a_feature_before_during_and_after_a_run(lab: Lab) -> None:
    lab.spec(WORKS, "it reads well <!-- human -->")
    lab.commit("spec")
    assert "[not started]" in lab.aigon("feature-status").out
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    text = lab.aigon("feature-status", "42").out
    assert "[needs a human, 1/2 criteria, iteration 1]" in text and f"branch: {BRANCH}" in text
    assert "[x] 1 passed" in text and "[ ] 2 needs review: a person decides" in text
    (row,) = document(lab.aigon("feature-status", "42", "--json"))["features"]
    assert (row["id"], row["stage"], row["running"], row["state"]["status"]) == (
        "42",
        "in-progress",
        False,
        "needs_human",
    )
    standing = {**lab.state(), "status": "running", "host": socket.gethostname()}
    lab.write(STATE, json.dumps({**standing, "pid": os.getpid()}))
    [lock_file] = (lab.home / "state").glob("repos/*/locks/feature-42.lock")
    with hold_lock(lock_file, "nobody else has it"):
        assert "[running, 1/2" in lab.aigon("feature-status").out
    # A process of that number is there, but it is another one: the lock is nobody's.
    assert "broken off; aigon feature-implement 42 --resume" in lab.aigon("feature-status").out
    lab.write(STATE, json.dumps({**standing, "pid": 2**22 + 1}))
    assert "broken off; aigon feature-implement 42 --resume" in lab.aigon("feature-status").out


@pytest.mark.parametrize(
    ("state", "what", "do"),
    [
        ('{"schema_version": 2, "status": "running"}', "from a newer aigon", "Upgrade aigon"),
        ('{"schema_version": 1}', "cannot be read", "doctor --repair"),
        ('{"schema_version"', "cannot be read", "doctor --repair"),
        ("[]", "cannot be read", "doctor --repair"),
    ],
)
def test_a_state_that_cannot_be_understood_is_refused(lab: Lab, state: str, what: str, do: str) -> None:
    lab.spec(WORKS)
    lab.write(STATE, state)
    ran = lab.aigon("feature-status", "42", "--json")
    assert ran.code == 7 and what in ran.json["error"]["what"] and do in ran.json["error"]["hint"]
    assert STATE in ran.json["error"]["where"]


# spec-show


def test_the_criteria_of_a_spec_as_data_by_id_and_by_path_outside_any_repository(lab: Lab, tmp_path: Path) -> None:
    text = f"# Dark mode\n\n## Acceptance Criteria\n\n* [x] {WORKS}\n1. [ ] All tests pass\n+ [ ] it is elegant\n"
    lab.write(SPEC, text + "- [ ] it reads well <!-- human -->\n- [ ] it scores <!-- metric: ./s.sh >= 8 -->\n")
    found = document(lab.aigon("spec-show", "42", "--json"))
    assert found["criteria"] == [
        {"number": 1, "line": 5, "text": "it works", "checked": True, "kind": "verify", "command": DONE_WHEN},
        {"number": 2, "line": 6, "text": "All tests pass", "checked": False, "kind": "check", "command": "tests"},
        {"number": 3, "line": 7, "text": "it is elegant", "checked": False, "kind": "judge", "command": None},
        {"number": 4, "line": 8, "text": "it reads well", "checked": False, "kind": "human", "command": None},
        {"number": 5, "line": 9, "text": "it scores", "checked": False, "kind": "metric", "command": "./s.sh >= 8"},
    ]
    outside = tmp_path / "elsewhere" / "idea.md"
    outside.parent.mkdir()
    outside.write_bytes(lab.path(SPEC).read_bytes())
    again = document(lab.aigon("spec-show", "idea.md", "--json", cwd=outside.parent))
    assert (again["criteria"], again["spec"]) == (found["criteria"], "idea.md")


# programs read along


def test_the_end_of_a_run_is_the_last_line_for_programs_whatever_the_end(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.agent("touch done.txt")
    refused = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "21", "--json")
    (line,) = refused.events
    assert (line["event"], line["outcome"], line["exit_code"], refused.code) == ("run_finished", "refused", 2, 2)
    assert "21" in line["error"]["what"] and "21" in refused.err
    ran = lab.aigon("feature-implement", "42", "--loop", "--json")
    assert {event["schema_version"] for event in ran.events} == {1}
    last = ran.events[-1]
    assert (last["event"], last["outcome"], last["exit_code"], ran.code) == ("run_finished", "met", 0, 0)
    assert "Every criterion is proven" in ran.err
    assert [event["event"] for event in ran.events].count("run_finished") == 1


def test_a_run_that_is_refused_on_the_way_ends_with_one_last_line(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.agent('rm -rf "$AIGON_STATE_HOME"/repos')  # where the run is recorded
    ran = lab.aigon("feature-implement", "42", "--loop", "--json")
    assert ran.code == 7, ran.out + ran.err
    assert [event["event"] for event in ran.events].count("run_finished") == 1
    last = ran.events[-1]
    assert (last["event"], last["outcome"], last["exit_code"]) == ("run_finished", "refused", 7)
    assert "A folder was replaced while the agent worked" in ran.err and "/git" in ran.err


def test_a_feature_that_is_done_is_done(lab: Lab) -> None:
    lab.spec("it is done <!-- verify: test -f done.txt -->")
    lab.agent("touch done.txt")
    lab.commit("spec")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    assert lab.aigon("feature-done", "42").code == 0
    again = lab.aigon("feature-done", "42")
    assert (again.code, "is done already" in again.err) == (2, True), again.err
    assert lab.git("branch", "--show-current") == "main"


def test_init_in_an_unknown_language_says_how_to_name_a_check(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.git("init", "-q")
    lab.write("calc.lua", "return {}\n")
    lines = lab.aigon("init", "--no-commands").out.splitlines()
    named = '  none found; name one in .aigon/config.json: "checks": {"tests": {"command": "make test"}}'
    assert lines[1:3] == ["Checks:", named]
    assert [line for line in lines if "nothing here of" in line] == lines[3:4]
    assert lines[3].startswith("  no tests, build, lint, types: nothing here of Python")
