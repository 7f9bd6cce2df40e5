"""The main job: a feature, an agent, checks, commits."""

from tests.lab import BRANCH, DONE_WHEN, LOG, Lab

OTHER = "docs/specs/features/01-inbox/feature-light-mode.md"


def test_an_agent_that_does_the_work_is_proven_and_committed(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert lab.git("branch", "--show-current") == BRANCH
    assert lab.boxes() == "x"
    assert "## Iteration 1" in lab.read(LOG)
    assert lab.state()["status"] == "met"
    lab.sound(agrees=True)


def test_an_agent_that_only_claims_to_be_done_is_not_believed(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("sed -i 's/- \\[ \\]/- [x]/' \"$AIGON_SPEC\"; echo '<promise>COMPLETE</promise>'")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2", "--json")
    assert ran.code == 3, ran.out + ran.err
    at = {event["event"]: event["at"] for event in ran.events}
    assert at["checkpoint_intended"] <= at["iteration_finished"]
    assert lab.boxes() == " "
    assert lab.git("for-each-ref", "refs/aigon/parked") != ""
    lab.sound(agrees=True)


def test_a_run_that_starts_on_the_branch_of_another_feature_has_a_sound_journal(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt more.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    lab.spec("there is more <!-- verify: test -f more.txt && test -f new.txt -->", name=OTHER)
    lab.agent("touch new.txt")
    ran = lab.aigon("feature-implement", "light-mode", "--loop")
    assert (ran.code, f"it starts from {BRANCH}" in ran.out) == (0, True), ran.out + ran.err
    assert lab.aigon("replay", "43", "--verify").code == 0
    repaired = lab.aigon("doctor", "--repair", "43")
    assert "corrupt" not in repaired.out
    assert lab.aigon("feature-done", "43").code == 0


def test_no_two_commits_of_a_feature_have_the_same_subject(lab: Lab) -> None:
    backlog = "docs/specs/features/02-backlog/feature-42-dark-mode.md"
    done = f"it is done <!-- verify: {DONE_WHEN} -->"
    lab.spec(done, name=backlog)
    lab.agent("true")
    lab.commit("ready")
    assert lab.aigon("feature-setup", "42").code == 0
    for text in ("one", "two"):
        lab.spec(done, extra=f"## Notes\n\n{text}\n")
        assert lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 3
    lab.config(ralph={"maxIterations": 2})
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    own = [subject for subject in lab.subjects() if "docs(feature-42): " in subject]
    assert own == [
        "docs(feature-42): start feature 42",
        "docs(feature-42): update the spec",
        "docs(feature-42): update the spec (2)",
        "docs(feature-42): update aigon's configuration",
    ]
