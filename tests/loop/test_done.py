"""`feature-done` in solo mode: what is merged is proven, by the person's own git, or everything is as it was."""

import pytest

from tests.lab import BRANCH, DONE_WHEN, LOG, SPEC, Lab, reuse

WORKS = f"it works <!-- verify: {DONE_WHEN} -->"
ALONE = "there is one file of notes <!-- verify: test $(ls notes | wc -l) = 1 -->"
STAGES, COMMITS = "git add mine.txt", "git add mine.txt; git commit -qm mine -- mine.txt"
DONE = "docs/specs/features/05-done/feature-42-dark-mode.md"


def make_proven(lab: Lab) -> None:
    """A feature that a run has proven, on its branch; it holds as long as `notes` has one file."""
    lab.config(proof="in-place")
    lab.spec(WORKS, ALONE, extra="It is dark, and it stays dark.\n" * 20)
    lab.write("shared.txt", "first\n")
    lab.commit("spec")
    lab.agent("mkdir -p notes; echo mine > notes/mine.txt; echo feature > shared.txt; touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err


@pytest.fixture
def proven() -> Lab:
    """A feature that a run has proven, on its branch."""
    return reuse(make_proven)


def meanwhile(lab: Lab, name: str, text: str = "meanwhile\n", back: str = BRANCH) -> str:
    """A commit of somebody else's on main."""
    lab.git("switch", "-q", "main")
    lab.write(name, text)
    commit = lab.commit("meanwhile")
    lab.git("switch", "-q", back)
    return commit


def test_a_target_that_has_moved_on_is_merged_once_the_result_is_proven(proven: Lab) -> None:
    theirs, tip = meanwhile(proven, "theirs.txt"), proven.git("rev-parse", BRANCH)
    ran = proven.aigon("feature-done", "42", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["proof"].startswith("proven again") and "criterion 1" in ran.err
    assert proven.git("log", "-1", "--format=%s").split() == ["Merge", BRANCH]
    first, second = proven.git("log", "-1", "--format=%P").split()
    assert first == theirs and proven.git("rev-parse", f"{second}^") == tip == proven.git("rev-parse", BRANCH)
    assert proven.path("theirs.txt").exists() and proven.path(LOG).exists() and not proven.path(SPEC).exists()
    proven.sound()


@pytest.mark.parametrize(("how", "act"), [("merge", STAGES), ("squash", COMMITS), ("rebase", COMMITS)])
def test_what_a_person_commits_or_stages_during_the_proof_is_saved_aside(lab: Lab, how: str, act: str) -> None:
    lab.config(proof="in-place")
    lab.spec(f"it works <!-- verify: {DONE_WHEN} && sh ~/person -->")
    lab.commit("spec")
    lab.agent("touch done.txt")
    person = lab.home / "person"
    person.write_text("true\n")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    theirs = meanwhile(lab, "theirs.txt")
    person.write_text(f"cd {lab.root}; echo mine > mine.txt; {act}\n")
    ran = lab.aigon("feature-done", "42", *([] if how == "merge" else [f"--{how}"]))
    ref = lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked")
    assert ran.code == 7 and ref in ran.err, ran.err
    assert lab.git("show", f"{ref}:mine.txt") == "mine" and lab.git("rev-parse", "main") == theirs
    person.write_text("true\n")
    lab.git("reset", "-q", "--hard")
    assert lab.aigon("feature-done", "42").code == 0
    lab.sound()


def test_what_a_person_commits_while_a_hook_runs_is_saved_aside(proven: Lab) -> None:
    text = "#!/bin/sh\necho mine > mine.txt; git add mine.txt; git commit -qnm mine\n"
    proven.write(".git/hooks/pre-commit", text, executable=True)
    theirs = proven.git("rev-parse", "main")
    ran = proven.aigon("feature-done", "42")
    ref = proven.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked")
    assert ran.code == 7 and ref and ref in ran.err, ran.err
    assert proven.git("show", f"{ref}:mine.txt") == "mine" and proven.git("rev-parse", "main") == theirs


def test_a_new_script_that_a_criterion_calls_is_the_works_own_wherever_it_is_proven(lab: Lab) -> None:
    lab.spec("it greets <!-- verify: sh greet.sh | grep -q hello -->")
    lab.commit("spec")
    lab.agent("echo 'echo hi' > greet.sh")
    assert lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 3
    lab.agent("echo 'echo hello' > greet.sh")
    resumed = lab.aigon("feature-implement", "42", "--resume")
    assert resumed.code == 0, resumed.out + resumed.err
    meanwhile(lab, "theirs.txt")
    ran = lab.aigon("feature-done", "42", "--json")
    assert ran.code == 0 and ran.json["proof"].startswith("proven again"), ran.err


@pytest.mark.slow
def test_what_is_proven_on_neither_side_alone_is_not_merged(proven: Lab) -> None:
    meanwhile(proven, "notes/theirs.txt")
    for start in (BRANCH, "main"):
        proven.git("switch", "-q", start)
        before = proven.fingerprint()
        for how in ("--no-ff", "--squash", "--rebase"):
            ran = proven.aigon("feature-done", "42", how)
            assert ran.code == 3 and "criterion 2" in ran.err, ran.err
            assert "git merge main" in ran.err and "aigon feature-implement 42 --resume" in ran.err
            assert proven.fingerprint() == before
    assert "not proven (--force)" in proven.aigon("feature-done", "42", "--force").out
    assert proven.path("notes/theirs.txt").exists() and proven.path("notes/mine.txt").exists()
    proven.sound()


@pytest.mark.slow
def test_the_advice_of_a_refused_merge_leads_to_a_merge(proven: Lab) -> None:
    meanwhile(proven, "notes/theirs.txt")
    assert proven.aigon("feature-done", "42").code == 3
    proven.git("switch", "-q", BRANCH)
    proven.git("merge", "-q", "--no-edit", "main")
    proven.agent("rm notes/theirs.txt")
    resumed = proven.aigon("feature-implement", "42", "--resume")
    assert resumed.code == 0, resumed.out + resumed.err
    ran = proven.aigon("feature-done", "42", "--json")
    assert ran.json["proof"] == "proven by its last run"
    proven.sound()


@pytest.mark.slow
def test_notes_on_other_features_are_no_reason_to_run_everything_again(proven: Lab) -> None:
    meanwhile(proven, "docs/specs/features/evaluations/feature-42-eval.md", "text\n")
    ran = proven.aigon("feature-done", "42", "--json")
    assert ran.json["proof"] == "proven by its last run" and "criterion" not in ran.err
    assert proven.path("docs/specs/features/evaluations/feature-42-eval.md").exists()


@pytest.mark.parametrize("how", ["--no-ff", "--squash", "--rebase"])
def test_another_feature_begun_meanwhile_is_no_conflict_and_stays(proven: Lab, how: str) -> None:
    other = "docs/specs/features/03-in-progress/feature-43-other.md"
    meanwhile(proven, other, "# Other\n")
    ran = proven.aigon("feature-done", "42", how)
    assert ran.code == 0, ran.err
    assert proven.path(other).exists() and proven.path(DONE).exists() and not proven.path(SPEC).exists()
    proven.sound()


def test_two_ways_to_merge_are_refused(lab: Lab) -> None:
    ran = lab.aigon("feature-done", "42", "--rebase", "--squash")
    assert ran.code == 2, ran.out
    assert ran.err.startswith("aigon: A feature is merged in one way.\n  where: --squash --rebase\n")


@pytest.mark.slow
def test_the_result_is_proven_in_a_clean_room(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.write(".gitignore", "built.txt\n")
    lab.commit("spec")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    meanwhile(lab, "theirs.txt")
    ran = lab.aigon("feature-done", "42")
    assert ran.code == 0 and "Clean-room proof" in ran.err, ran.err
    lab.sound()


@pytest.mark.slow
def test_a_squashed_feature_is_one_commit_that_says_what_is_proven(proven: Lab) -> None:
    theirs = meanwhile(proven, "theirs.txt")
    ran = proven.aigon("feature-done", "42", "--squash", "--json")
    assert ran.code == 0 and ran.json["how"] == "squash", ran.err
    assert proven.git("log", "-1", "--format=%P") == theirs
    message = proven.git("log", "-1", "--format=%B")
    assert message.startswith("feat(feature-42): dark mode\n\nProven by aigon:\n- it works (verify)\n")
    for trailer in ("Aigon-Feature: 42", "Aigon-Agent: mine", "Aigon-Checks: ", "Aigon-Criteria: 2/2"):
        assert f"\n{trailer}" in message
    assert proven.git("log", "-1", "--format=%(trailers:key=Aigon-Feature,valueonly)").strip() == "42"
    assert proven.path(DONE).exists() and proven.path("theirs.txt").exists()
    proven.sound()


@pytest.mark.slow
def test_the_persons_hooks_see_the_squashed_commit_and_may_refuse_it(proven: Lab) -> None:
    hook = proven.write(".git/hooks/commit-msg", "#!/bin/sh\necho no ticket >&2; exit 1\n", executable=True)
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42", "--squash")
    assert ran.code == 7 and "no ticket" in ran.err and proven.fingerprint() == before
    hook.unlink()
    assert proven.aigon("feature-done", "42", "--squash").code == 0


@pytest.mark.slow
def test_a_hook_that_changes_what_is_merged_is_told_of(proven: Lab) -> None:
    meanwhile(proven, "theirs.txt")
    text = "#!/bin/sh\necho more > more.txt; git add more.txt\n"
    proven.write(".git/hooks/pre-commit", text, executable=True)
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42", "--squash")
    ref = proven.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked")
    assert ran.code == 7 and "hook changed" in ran.err and ref and ref in ran.err, ran.err
    assert proven.git("show", f"{ref}:more.txt") == "more"
    proven.git("update-ref", "-d", ref)
    assert proven.fingerprint() == before


def test_a_rebased_feature_lies_upon_the_target_and_its_old_commits_are_parked(proven: Lab) -> None:
    theirs, old = meanwhile(proven, "theirs.txt"), proven.git("rev-parse", BRANCH)
    proven.git("config", "rebase.updateRefs", "true")
    ran = proven.aigon("feature-done", "42", "--rebase", "--json")
    assert ran.code == 0, ran.err
    assert proven.git("rev-parse", "main") == proven.git("rev-parse", BRANCH) == ran.json["commit"]
    assert proven.git("branch", "--show-current") == "main"
    assert proven.git("log", "--merges", "--format=%h") == "" and theirs in proven.git("rev-list", "main")
    assert proven.git("rev-parse", f"refs/aigon/parked/{BRANCH}/{old[:12]}") == old
    proven.git("branch", "-d", BRANCH)
    proven.sound()


def test_without_anything_new_on_the_target_a_rebase_only_moves_it_forward(proven: Lab) -> None:
    old = proven.git("rev-parse", BRANCH)
    assert proven.aigon("feature-done", "42", "--rebase").code == 0
    assert proven.git("rev-parse", "main^") == old
    assert "parked" not in proven.git("for-each-ref")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--no-ff", "--squash", "--rebase"])
def test_a_conflict_leaves_both_sides_as_they_were_and_says_what_to_do(proven: Lab, how: str) -> None:
    meanwhile(proven, "shared.txt", "main\n")
    for start in ("main", BRANCH):
        proven.git("switch", "-q", start)
        before = proven.fingerprint()
        ran = proven.aigon("feature-done", "42", how)
        assert ran.code == 7 and "where: shared.txt" in ran.err, ran.err
        assert f"git switch {BRANCH} && git merge main" in ran.err and "--resume" in ran.err
        assert proven.fingerprint() == before
    proven.sound()


@pytest.mark.slow
def test_checks_that_were_left_out_on_purpose_stay_left_out(lab: Lab) -> None:
    lab.config(proof="in-place")
    lab.write(".aigon/validation.sh", "#!/bin/sh\nexit 1\n", executable=True)
    lab.spec(WORKS)
    lab.commit("spec")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop", "--skip-validation").code == 0
    meanwhile(lab, "theirs.txt")
    assert lab.aigon("feature-done", "42").code == 0


@pytest.mark.slow
def test_a_check_that_people_broke_meanwhile_is_found(lab: Lab) -> None:
    lab.config(proof="in-place")
    lab.write(".aigon/validation.sh", "#!/bin/sh\ntest ! -e done.txt || test ! -e broken.txt\n", executable=True)
    lab.spec(WORKS)
    lab.commit("spec")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    meanwhile(lab, "broken.txt")
    ran = lab.aigon("feature-done", "42")
    assert ran.code == 3 and "Validation script" in ran.err, ran.err


def test_only_a_person_merges(proven: Lab) -> None:
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42", env={"AIGON_RUN": "some-run"})
    assert ran.code == 4 and "for a person" in ran.err
    assert proven.fingerprint() == before


def test_a_feature_that_does_not_exist_is_told_before_a_dirty_tree(proven: Lab) -> None:
    proven.write("shared.txt", "dirty\n")
    before = proven.fingerprint()
    missing, dirty = proven.aigon("feature-done", "99"), proven.aigon("feature-done", "42")
    assert missing.code == 2 and "99" in missing.err and "uncommitted" not in missing.err
    assert dirty.code == 7 and "uncommitted" in dirty.err
    assert proven.fingerprint() == before


def test_an_agent_cannot_be_named_where_there_are_no_worktrees(proven: Lab) -> None:
    before = proven.fingerprint()
    assert proven.aigon("feature-done", "42", "cc").code == 2
    assert proven.aigon("feature-done", "42", "--adopt", "cc:done.txt").code == 2
    assert proven.aigon("feature-done", "42", "--into", BRANCH).code == 2
    assert proven.fingerprint() == before


def test_what_waits_for_a_person_is_named_with_the_command_that_decides_it(lab: Lab) -> None:
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->", "reads well <!-- human -->")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    refused = lab.aigon("feature-done", "42")
    assert refused.code == 3 and "aigon approve 42 2 (or reject), then" in refused.err
    assert lab.aigon("approve", "42", "2", "--yes").code == 0
    decided = lab.aigon("feature-done", "42")
    assert decided.code == 3 and "takes effect in its next run" in decided.err and "approve" not in decided.err


def test_a_missing_check_is_not_a_persons_to_approve(lab: Lab) -> None:
    lab.spec("reads well <!-- human -->", "All tests pass")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    assert "aigon approve 42 1 (or reject), then" in lab.aigon("feature-done", "42").err
    assert lab.aigon("approve", "42", "1", "--yes").code == 0
    assert lab.aigon("feature-implement", "42", "--resume").code == 4
    refused = lab.aigon("feature-done", "42")
    assert "approve" not in refused.err
    assert f"fix {SPEC}, then aigon feature-implement 42 --resume --accept-spec" in refused.err
