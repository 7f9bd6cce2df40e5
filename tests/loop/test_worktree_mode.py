"""One agent in a worktree of its own: the checkout at hand stays a person's."""

from pathlib import Path

import pytest

from aigon.git.locks import MARK
from tests.lab import DONE_WHEN, SPEC, Lab, finish
from tests.loop.rivals import worktree

IN_PLACE = True
STATE = ".aigon/loop-state-42-mine.json"
LOG = "docs/specs/features/logs/feature-42-mine-dark-mode-log.md"
BRANCH = "feature-42-mine-dark-mode"
BACKLOG = "docs/specs/features/02-backlog/feature-42-dark-mode.md"


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A feature and an agent that needs two turns."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('[ "$AIGON_ITERATION" = 1 ] && touch half.txt || touch done.txt')
    lab.commit("ready")
    return lab


def test_the_work_happens_in_the_worktree_and_the_checkout_stays_as_it_is(ready: Lab) -> None:
    before = ready.git("ls-files", "--stage", ":!docs")
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 0, ran.out + ran.err
    assert ready.git("branch", "--show-current") == "main"
    assert ready.git("ls-files", "--stage", ":!docs") == before
    assert not ready.path("done.txt").exists()
    there = worktree(ready, "mine")
    assert (there / "done.txt").exists()
    assert "- [x]" in (there / SPEC).read_text()
    assert "## Iteration 2" in (there / LOG).read_text()
    state = ready.state(STATE)
    assert (state["mode"], state["branch"], state["status"]) == ("worktree", BRANCH, "met")
    ready.sound()


def test_it_goes_on_where_it_stopped_without_a_word_about_the_agent(ready: Lab) -> None:
    ran = ready.aigon("feature-implement", "42", "--worktree")
    assert ran.code == 3, ran.out + ran.err
    ran = ready.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.out + ran.err
    subjects = ready.git("log", "--format=%s", BRANCH).splitlines()
    assert [line for line in subjects if "iteration" in line][-1].count("iteration 1") == 1
    assert len([line for line in subjects if "iteration" in line]) == 2


def test_a_resume_with_another_agent_names_the_run_that_there_is(ready: Lab) -> None:
    ready.agent("touch done.txt", name="yours")
    ready.commit("another agent")
    assert ready.aigon("feature-implement", "42", "--worktree", "--agent", "mine").code == 3
    ran = ready.aigon("feature-implement", "42", "--resume", "--agent", "yours")
    assert ran.code == 2, ran.out + ran.err
    assert "do:    aigon feature-implement 42 --resume --agent mine\n" in ran.err


@pytest.mark.parametrize("agents", [["--worktree"], ["--agent", "mine", "--agent", "mine:b"]], ids=["one", "several"])
def test_a_spec_without_criteria_is_refused_before_anything_is_set_up(lab: Lab, agents: list[str]) -> None:
    lab.spec(name=BACKLOG)
    lab.agent("true")
    lab.commit("ready")
    before = lab.git("for-each-ref")
    ran = lab.aigon("feature-implement", "42", "--loop", *agents)
    assert ran.code == 2 and "Acceptance Criteria" in ran.err, ran.out + ran.err
    assert lab.git("for-each-ref") == before
    assert lab.git("worktree", "list").count("\n") == 0


def test_a_missing_agent_is_refused_before_its_worktree_is_made(ready: Lab) -> None:
    before = ready.git("for-each-ref")
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree", "--agent", "codex")
    assert ran.code == 6 and "there is no `codex` on PATH" in ran.err, ran.out + ran.err
    assert ready.git("for-each-ref") == before
    assert ready.git("worktree", "list").count("\n") == 0


def test_an_error_in_the_spec_of_a_worktree_names_the_file_there(lab: Lab) -> None:
    lab.spec(name=BACKLOG)
    lab.agent("true")
    lab.commit("ready")
    assert lab.aigon("feature-setup", "42", "mine").code == 0
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 2, ran.out + ran.err
    assert f"  where: {worktree(lab, 'mine')}/{SPEC}:" in ran.err


@pytest.mark.slow
def test_from_inside_the_worktree_the_same_run_is_meant(ready: Lab) -> None:
    assert ready.aigon("feature-implement", "42", "--worktree").code == 3
    ran = ready.aigon("feature-implement", "42", "--resume", cwd=worktree(ready, "mine"))
    assert ran.code == 0, ran.out + ran.err
    assert ready.state(STATE)["status"] == "met"
    assert not (worktree(ready, "mine") / ".aigon" / "runs").exists()


@pytest.mark.slow
def test_what_setup_made_is_used_by_implement(ready: Lab) -> None:
    made = ready.aigon("feature-setup", "42", "mine", "--json")
    assert made.code == 0, made.err
    (one,) = made.json["candidates"]
    assert (one["label"], one["branch"], Path(one["path"])) == ("mine", BRANCH, worktree(ready, "mine").resolve())
    ran = ready.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert ready.state(STATE)["mode"] == "worktree"


def test_uncommitted_work_stays_in_the_checkout_and_the_worktree_does_not_have_it(ready: Lab) -> None:
    ready.write("mine.txt", "not committed")
    refused = ready.aigon("feature-implement", "42", "--loop")
    assert refused.code == 7 and "   or   aigon feature-implement 42 --loop --worktree\n" in refused.err
    ran = ready.aigon("feature-setup", "42", "mine")
    assert ran.code == 0 and "the worktrees do not have them: mine.txt" in ran.out
    assert not (worktree(ready, "mine") / "mine.txt").exists()
    assert ready.git("status", "--porcelain") == "?? mine.txt"


def test_a_worktree_can_start_from_the_branch_that_a_feature_was_set_up_on(lab: Lab) -> None:
    lab.spec("it is done <!-- verify: test -f done.txt -->", name=BACKLOG)
    lab.agent("touch done.txt")
    lab.commit("ready")
    assert lab.aigon("feature-setup", "42").code == 0
    ran = lab.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 0, ran.out + ran.err
    assert lab.aigon("feature-done", "42", "--into", "main").code == 0
    lab.git("merge-base", "--is-ancestor", BRANCH, "main")


def test_a_worktree_does_not_start_from_what_an_agent_did_in_the_checkout(ready: Lab) -> None:
    ready.agent("true")
    assert ready.aigon("feature-implement", "42").code == 3
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 7 and "Continue here: aigon feature-implement 42 --loop --no-worktree" in ran.err, ran.err


@pytest.mark.slow
def test_once_it_is_made_the_checkout_may_hold_whatever_it_likes(ready: Lab) -> None:
    assert ready.aigon("feature-implement", "42", "--worktree").code == 3
    ready.write("mine.txt", "not committed")
    ready.git("switch", "-q", "-c", "other")
    ran = ready.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.out + ran.err
    assert ready.read("mine.txt") == "not committed"


@pytest.mark.slow
def test_the_agent_has_ports_and_names_of_its_own_and_its_own_folder(ready: Lab) -> None:
    ready.agent('env > "$HOME/seen"; touch done.txt')
    ready.commit("agent")
    assert ready.aigon("feature-implement", "42", "--loop", "--worktree").code == 0
    seen = dict(line.partition("=")[::2] for line in (ready.home / "seen").read_text().splitlines())
    there = str(worktree(ready, "mine").resolve())
    assert (seen["AIGON_SLOT"], seen["AIGON_PORT_BASE"], seen["PWD"]) == ("1", "20020", there)
    assert seen["COMPOSE_PROJECT_NAME"].startswith("repo-42-mine-")
    assert seen["AIGON_SPEC"].startswith(there)


@pytest.mark.slow
def test_a_deleted_worktree_is_made_again_on_its_branch(ready: Lab) -> None:
    import shutil

    assert ready.aigon("feature-implement", "42", "--worktree").code == 3
    shutil.rmtree(worktree(ready, "mine"))
    ran = ready.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.out + ran.err
    assert ready.git("branch", "--show-current") == "main"
    assert not ready.path("done.txt").exists()


def test_an_unknown_agent_is_exit_2_and_nothing_is_made(ready: Lab) -> None:
    before = ready.fingerprint()
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree", "--agent", "nobody")
    assert ran.code == 2
    assert ready.fingerprint() == before


def test_a_feature_in_progress_without_an_id_gets_no_worktree(lab: Lab) -> None:
    lab.agent("true")
    lab.spec("it is done <!-- verify: test -f done.txt -->", name="docs/specs/features/03-in-progress/feature-tea.md")
    lab.commit("agent")
    ran = lab.aigon("feature-implement", "tea", "--loop", "--worktree")
    assert ran.code == 2
    assert "aigon feature-implement tea --loop --no-worktree" in ran.err


@pytest.mark.slow
def test_a_person_decides_on_the_work_of_the_agent_in_the_worktree(lab: Lab) -> None:
    lab.spec("it looks right <!-- human -->", f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    lab.commit("ready")
    ran = lab.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 4, ran.out + ran.err
    assert "aigon approve 42 1 --agent mine" in ran.out
    assert lab.aigon("cleanup", "42").code == 0
    refused = lab.aigon("approve", "42", "1", "--yes")
    assert (refused.code, "aigon feature-setup 42 mine makes it again" in refused.err) == (7, True)
    assert lab.aigon("feature-setup", "42", "mine").code == 0
    assert lab.aigon("approve", "42", "1", "--yes").code == 0
    assert lab.aigon("feature-implement", "42", "--resume").code == 0


@pytest.mark.slow
def test_events_say_the_label_and_the_mode(ready: Lab) -> None:
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree", "--json")
    started = next(event for event in ran.events if event["event"] == "run_started")
    assert (started["label"], started["mode"], started["branch"]) == ("mine", "worktree", BRANCH)
    assert (ran.events[-1]["event"], ran.events[-1]["outcome"]) == ("run_finished", "met")


@pytest.mark.slow
def test_linked_dependencies_are_in_the_worktree_and_in_the_clean_room(lab: Lab) -> None:
    lab.write("package.json", '{"name": "sample", "version": "1.0.0", "private": true}\n')
    lab.write("package-lock.json", '{"name": "sample", "lockfileVersion": 3, "packages": {}}\n')
    lab.write(".gitignore", "node_modules/\n")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} && test -f node_modules/left-pad/index.js -->")
    lab.agent("touch done.txt")
    lab.config(worktree={"link": ["node_modules"]})
    lab.commit("a project with dependencies")
    lab.write("node_modules/left-pad/index.js", "module.exports = 1\n")
    ran = lab.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 0, ran.out + ran.err
    assert (worktree(lab, "mine") / "node_modules").is_symlink()
    assert lab.git("ls-tree", "--name-only", BRANCH, "node_modules") == ""


def test_what_the_agent_writes_over_aigons_records_is_put_back(ready: Lab) -> None:
    state = ready.path(STATE)
    ready.agent(f"echo forged > {state}; touch done.txt")
    ready.commit("agent")
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 0, ran.out + ran.err
    assert f"{STATE} was changed; it was put back" in ran.out
    assert ready.state(STATE)["status"] == "met"


@pytest.mark.slow
def test_an_agent_that_is_configured_later_can_join(ready: Lab) -> None:
    assert ready.aigon("feature-setup", "42", "mine").code == 0
    ready.agent("touch done.txt", name="late")
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree", "--agent", "late")
    assert ran.code == 0, ran.out + ran.err
    assert ready.state(".aigon/loop-state-42-late.json")["status"] == "met"


def test_two_that_are_started_at_the_same_moment_both_get_their_worktree(ready: Lab) -> None:
    ready.agent("touch done.txt", name="other")
    ready.commit("another agent")
    both = [ready.start("feature-setup", "42", name) for name in ("mine", "other")]
    ended = [finish(each) for each in both]
    assert [each.code for each in ended] == [0, 0], ended
    assert len({ready.git("rev-parse", f"feature-42-{name}-dark-mode") for name in ("mine", "other")}) == 1


def test_a_set_up_killed_before_its_commit_is_finished_by_the_next(lab: Lab) -> None:
    backlog = SPEC.replace("03-in-progress", "02-backlog")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", name=backlog)
    lab.agent("touch done.txt")
    lab.commit("ready")
    lab.path(SPEC).parent.mkdir(parents=True)
    lab.path(backlog).rename(lab.path(SPEC))
    made = lab.aigon("feature-setup", "42", "mine")
    assert made.code == 0, made.err
    assert lab.git("ls-files", "docs/specs/features") == SPEC
    lab.sound()


def test_a_lock_of_an_aigon_that_was_killed_does_not_stay_in_a_persons_way(ready: Lab) -> None:
    ready.path(".git/index.lock").write_bytes(MARK)
    made = ready.aigon("feature-setup", "42", "mine")
    assert made.code == 0, made.err
    ready.sound()


def test_a_branch_that_was_deleted_is_named_with_the_command_that_brings_it_back(ready: Lab) -> None:
    assert ready.aigon("feature-implement", "42", "--worktree").code == 3
    tip = ready.git("rev-parse", BRANCH)
    ready.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    ran = ready.aigon("feature-implement", "42", "--resume")
    assert ran.code == 7
    assert f"git branch {BRANCH} {tip}" in ran.err
    ready.git("branch", BRANCH, tip)
    assert ready.aigon("feature-implement", "42", "--resume").code == 0


def test_a_feature_that_is_done_is_not_set_up_again(ready: Lab) -> None:
    ready.agent("touch done.txt")
    ready.commit("quick")
    assert ready.aigon("feature-implement", "42", "--loop", "--worktree").code == 0
    assert ready.aigon("feature-done", "42").code == 0
    for arguments in (
        ("feature-setup", "42", "mine"),
        ("feature-setup", "42"),
        ("feature-implement", "42", "--worktree"),
    ):
        before = ready.fingerprint()
        ran = ready.aigon(*arguments)
        assert ran.code == 2, ran.out + ran.err
        assert "is done already" in ran.err
        assert ready.fingerprint() == before


def test_what_the_set_up_leaves_and_git_does_not_ignore_is_said_at_once(ready: Lab) -> None:
    ready.config(worktree={"setup": "echo ready > left.txt"})
    ready.commit("a set-up")
    ran = ready.aigon("feature-setup", "42", "mine")
    assert ran.code == 0, ran.err
    assert "left.txt" in ran.err
