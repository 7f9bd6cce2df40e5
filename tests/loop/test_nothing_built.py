"""A run in which every criterion passes although nothing was built is not proven."""

import json

import pytest

from tests.lab import BRANCH, DONE_WHEN, SPEC, Lab
from tests.loop.rivals import worktree

IN_PLACE = True
PASSING = ("the readme is there <!-- verify: test -f README.md -->", "still there <!-- verify: test -f README.md -->")


@pytest.fixture
def passing(lab: Lab) -> Lab:
    """A feature whose criteria hold before anything is built."""
    lab.config(proof="in-place")
    lab.spec(*PASSING)
    lab.agent("echo $AIGON_ITERATION >> turns.txt; echo better >> README.md")
    return lab


def test_criteria_that_pass_before_the_first_turn_prove_nothing_in_any_run(passing: Lab) -> None:
    validated = passing.aigon("feature-validate", "42")
    first = passing.aigon("feature-implement", "42", "--loop")
    again = passing.aigon("feature-implement", "42", "--resume", "--json")
    anew = passing.aigon("feature-implement", "42")
    assert [each.code for each in (first, again, anew)] == [4, 4, 4], first.out + first.err
    assert validated.code == 0  # nothing tells where a feature in progress began that has not run yet
    assert passing.aigon("feature-validate", "42").code == 4
    assert not passing.path("turns.txt").exists()
    assert "nothing was built. No file has changed, and criteria 1 and 2 passed" in first.out
    warning = "Criteria 1 and 2 only run `test -f README.md`, which already passes."
    assert all(warning in " ".join(each.out.split("needs_human")[-1].split()) for each in (first, anew))
    assert warning in again.err  # the summary
    ended = again.events[-1]
    assert (ended["outcome"], ended["exit_code"]) == ("needs_human", 4)
    refused = passing.aigon("feature-done", "42")
    assert refused.code == 3
    assert "aigon feature-implement 42 --resume --accept-passing" in refused.err
    assert passing.state()["status"] == "needs_human"


def test_a_refactoring_gets_its_turn_and_its_record(passing: Lab) -> None:
    ran = passing.aigon("feature-implement", "42", "--loop", "--accept-passing", "--json")
    assert ran.code == 0, ran.err
    assert passing.read("turns.txt") == "1\n"
    prompt = next(passing.root.glob(".aigon/runs/*/001/prompt.md")).read_text()
    assert "Every criterion passes already" in prompt
    started, ended = ran.events[0], ran.events[-1]
    assert started["choices"]["accept_passing"] is True
    assert "--accept-passing accepted" in ended["summary"]
    report = passing.aigon("report", "42", "--format", "md").out
    assert "accept-passing accepted" in report and "Criteria 1 and 2 only run" in report
    assert passing.aigon("feature-done", "42").code == 0


def test_a_turn_that_changes_nothing_builds_nothing(passing: Lab) -> None:
    passing.agent("true")
    ran = passing.aigon("feature-implement", "42", "--loop", "--accept-passing")
    assert ran.code == 4, ran.out + ran.err
    assert "nothing was built" in ran.out
    passing.agent("exit 1")
    failed = passing.aigon("feature-implement", "42", "--resume")  # the acceptance holds for the run
    assert failed.code == 3, failed.out + failed.err
    assert "the agent failed 3 turns in a row" in failed.out


def commit_by_hand(lab: Lab, name: str) -> None:
    """A commit on the feature's branch, before aigon knows the branch."""
    lab.commit("the spec")
    lab.git("switch", "-qc", BRANCH)
    lab.write(name, "")
    lab.commit("by hand")


def test_what_a_person_built_on_the_branch_counts(passing: Lab) -> None:
    passing.config(proof="clean-room")
    passing.spec(*PASSING, f"done <!-- verify: {DONE_WHEN} -->")
    commit_by_hand(passing, "done.txt")
    ran = passing.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert "Criteria 1 and 2 only run `test -f README.md`, which already pass" in " ".join(ran.out.split())
    assert not passing.path("turns.txt").exists()
    passing.sound()


def test_commits_that_no_criterion_is_about_prove_nothing(passing: Lab) -> None:
    passing.config(proof="clean-room")
    commit_by_hand(passing, "typo.txt")
    first = passing.aigon("feature-implement", "42", "--loop")
    passing.write("another.txt", "")
    passing.commit("by hand, between two runs")
    again = passing.aigon("feature-implement", "42", "--resume")
    assert [each.code for each in (first, again)] == [4, 4], first.out + again.out
    reason = "no agent has worked, and criteria 1 and 2 passed before the commits on this branch as well"
    assert all(reason in " ".join(each.out.split()) for each in (first, again)), first.out
    assert passing.aigon("feature-validate", "42").code == 4
    assert passing.aigon("feature-done", "42", "--into", "main").code == 3
    assert not passing.path("turns.txt").exists()
    accepted = passing.aigon("feature-implement", "42", "--resume", "--accept-passing")
    assert accepted.code == 0 and "--accept-passing accepted" in accepted.out, accepted.out
    assert passing.aigon("feature-done", "42", "--into", "main").code == 0


def test_a_turn_that_only_mends_a_check_is_proven_like_any_other(passing: Lab) -> None:
    """Every criterion passed at the base; only the check did not."""
    passing.config(proof="clean-room", checks={"tests": {"command": "test -f mended.txt"}})
    passing.agent("touch mended.txt; echo mended.txt > .gitignore")
    ran = passing.aigon("feature-implement", "42", "--loop", "--max-iterations", "1")
    assert ran.code == 3, ran.out + ran.err
    assert "Clean-room proof: fails on a clean export" in " ".join(ran.out.split())
    passing.agent("rm .gitignore")
    ran = passing.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.out + ran.err


def test_a_command_that_begins_to_pass_without_a_change_of_files_is_proof(lab: Lab) -> None:
    """Something outside of the repository changed, such as a server that answers now."""
    place = lab.home / "deployed"
    lab.config(proof="in-place")
    lab.spec(f"it is deployed <!-- verify: test -f {place} -->")
    lab.agent(f"touch {place}")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0


def test_the_warning_stays_with_later_runs_and_resumes(lab: Lab) -> None:
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", PASSING[0])
    lab.agent("echo more >> notes.txt; test $AIGON_ITERATION != 2 || touch done.txt")
    warning = "Criterion 2 only runs `test -f README.md`, which already passes."
    for how, code in (("--loop", 3), ("--resume", 0), ("--loop", 0)):
        ran = lab.aigon("feature-implement", "42", how, "--max-iterations", "1")
        assert ran.code == code, ran.out + ran.err
        assert ran.out.count(warning) == 2, ran.out  # when it begins, and in the summary
        assert "Criterion 1 only" not in ran.out
    page = lab.aigon("report", "42", "--format", "html")
    assert page.code == 0
    assert warning.split("`")[2] in lab.path(".aigon/reports/feature-42.html").read_text()


def test_a_spec_changed_on_the_branch_is_judged_by_what_the_base_had(passing: Lab) -> None:
    assert passing.aigon("feature-implement", "42", "--loop").code == 4
    passing.spec(*PASSING, f"done <!-- verify: {DONE_WHEN} -->")
    passing.agent("touch done.txt")
    ran = passing.aigon("feature-implement", "42", "--resume", "--accept-spec", "--yes")
    assert ran.code == 0, ran.out + ran.err
    assert "Criteria 1 and 2 only run" in ran.out


def test_the_spec_to_change_is_the_one_in_the_worktree(passing: Lab) -> None:
    passing.agent("touch done.txt")
    passing.commit("ready")
    ran = passing.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code == 4, ran.out + ran.err
    spec = worktree(passing, "mine") / SPEC
    said = (
        f"add a criterion that fails now to {spec}, then aigon feature-implement 42 --resume --agent mine --accept-spec"
    )
    assert said in ran.out and said in passing.aigon("feature-done", "42").err
    spec.write_text(f"{spec.read_text()}- [ ] done <!-- verify: {DONE_WHEN} -->\n")
    assert passing.aigon("feature-implement", "42", "--resume", "--agent", "mine", "--accept-spec", "--yes").code == 0


@pytest.mark.slow
def test_every_candidate_of_an_arena_is_asked_the_same(passing: Lab) -> None:
    for name in ("one", "two"):
        passing.agent(f"echo {name} > {name}.txt", name=name)
    passing.commit("ready")
    line = ("arena", "42", "--agents", "one,two", "--json")
    assert passing.aigon(*line).code == 4
    accepted = passing.aigon(*line, "--accept-passing")
    assert accepted.code == 0, accepted.err
    files = [json.loads(path.read_text())["status"] for path in passing.root.glob(".aigon/loop-state-42-*.json")]
    assert files == ["met", "met"]
    assert passing.path(SPEC).exists()
