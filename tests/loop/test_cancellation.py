"""`aigon cancel` and `aigon reopen`: a feature is put away and taken up again, and nothing is lost."""

from tests.lab import DONE_WHEN, SPEC, Lab, finish
from tests.loop.processes import LOOP, RESUME, begun, go, parked
from tests.loop.rivals import worktree

IN_PLACE = True
BACKLOG = "docs/specs/features/02-backlog/feature-42-dark-mode.md"
CANCELLED = "docs/specs/features/07-cancelled/feature-42-dark-mode.md"
DONE = "docs/specs/features/05-done/feature-42-dark-mode.md"


def planned(lab: Lab, script: str = "echo $AIGON_ITERATION >> done.txt") -> None:
    """A feature in the backlog of main."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", name=BACKLOG)
    lab.config(proof="in-place")
    lab.agent(script)
    lab.commit("ready")


def stage(lab: Lab) -> str:
    """The stage in which the board shows the feature."""
    stages = lab.aigon("board", "--all", "--json").json["stages"]
    (found,) = [each["stage"] for each in stages for card in each["features"] if card["id"] == "42"]
    return str(found)


def test_a_cancelled_feature_continues_where_it_was_once_reopened(lab: Lab) -> None:
    planned(lab, "touch half.txt")
    assert lab.aigon("feature-implement", "42", "--worktree").code == 3
    (worktree(lab, "mine") / "unsaved.txt").write_text("not in any commit\n")
    tip = lab.git("rev-parse", "feature-42-mine-dark-mode")
    cancelled = lab.aigon("cancel", "42")
    assert cancelled.code == 0, cancelled.err
    assert f"Committing {CANCELLED} to main" in cancelled.out
    assert "git branch -D feature-42-mine-dark-mode" in cancelled.out
    assert (lab.subjects()[-1], stage(lab)) == ("docs(feature-42): cancel dark-mode", "cancelled")
    assert not worktree(lab, "mine").exists()
    (ref,) = parked(lab)
    assert lab.git("show", f"{ref}:unsaved.txt") == "not in any commit"
    for verb in (LOOP, RESUME, (*LOOP, "--worktree"), ("feature-setup", "42"), ("cancel", "42")):
        refused = lab.aigon(*verb)
        assert (refused.code, "Feature 42 is cancelled already" in refused.err) == (2, True), refused.err
        assert "aigon reopen 42" in refused.err
    reopened = lab.aigon("reopen", "dark-mode", "--json")
    assert reopened.json["branches"] == ["feature-42-mine-dark-mode"]
    assert (lab.subjects()[-1], lab.path(BACKLOG).exists()) == ("docs(feature-42): reopen dark-mode", True)
    lab.agent("touch done.txt")
    ran = lab.aigon(*RESUME)
    assert ran.code == 0, ran.out + ran.err
    lab.git("merge-base", "--is-ancestor", tip, "feature-42-mine-dark-mode")
    lab.git("diff", "--quiet", "HEAD", "--", "docs")


def test_a_feature_that_was_done_begins_anew_once_it_is_reopened(lab: Lab) -> None:
    planned(lab)
    assert lab.aigon(*LOOP).code == 0
    assert lab.aigon("feature-done", "42").code == 0
    tip = lab.git("rev-parse", "feature-42-dark-mode")
    again = lab.aigon(*LOOP)
    assert (again.code, "aigon reopen 42" in again.err) == (2, True), again.out + again.err
    assert "aigon reopen 42" in lab.aigon("cancel", "42").err
    before = lab.aigon("stats", "--json").json
    reopened = lab.aigon("reopen", "42", "--json").json
    assert lab.aigon("stats", "--json").json == before and before["total"]["runs"] == 1
    assert [lab.git("rev-parse", ref) for ref in reopened["parked"]] == [tip]
    assert (reopened["branches"], stage(lab)) == ([], "backlog")
    (aside,) = (lab.home / "state").glob("repos/*/closed/*/42/journal.jsonl")
    assert aside.stat().st_size > 0
    assert lab.aigon(*LOOP).code == 4, "what was built before proves nothing"
    spec = lab.read(SPEC)
    lab.write(SPEC, spec.replace(" -->\n", " -->\n- [ ] more <!-- verify: test -f more.txt -->\n", 1))
    lab.agent("touch more.txt")
    ran = lab.aigon(*RESUME, "--accept-spec", "--yes")
    assert ran.code == 0, ran.out + ran.err
    assert lab.aigon("feature-done", "42").code == 0
    assert (stage(lab), lab.path(DONE).exists(), lab.path("more.txt").exists()) == ("done", True, True)
    lab.sound()


def test_a_feature_is_not_reopened_while_its_branch_is_checked_out(lab: Lab) -> None:
    planned(lab)
    assert lab.aigon(*LOOP).code == 0
    assert lab.aigon("feature-done", "42").code == 0
    lab.git("switch", "-q", "feature-42-dark-mode")
    before = lab.fingerprint()
    refused = lab.aigon("reopen", "42", "--no-commit")
    assert (refused.code, lab.fingerprint()) == (7, before), refused.out
    lab.git("switch", "-q", "main")
    lab.git("worktree", "add", "-q", "../beside", "feature-42-dark-mode")
    elsewhere = lab.aigon("reopen", "42")
    assert (elsewhere.code, "beside" in elsewhere.err) == (7, True), elsewhere.out
    lab.git("worktree", "remove", "../beside")
    assert lab.aigon("reopen", "42").code == 0


def test_nothing_is_put_away_while_somebody_works_on_it(lab: Lab) -> None:
    planned(lab, 'touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.02; done; touch done.txt')
    process = lab.start(*LOOP, "--worktree")
    begun(lab, process)
    before = lab.fingerprint()
    for verb in ("cancel", "reopen"):
        refused = lab.aigon(verb, "42")
        assert refused.code == (7 if verb == "cancel" else 2), refused.out + refused.err
    assert "aigon stop 42" in lab.aigon("cancel", "42").err
    assert lab.fingerprint() == before
    go(lab)
    assert finish(process).code == 0
    inside = lab.aigon("cancel", "42", env={"AIGON_RUN": "20261120-101523-abcdef"})
    assert (inside.code, "inside a run" in inside.err) == (4, True)
    assert lab.aigon("cancel", "43").code == 2


def test_a_feature_without_an_id_is_put_away_and_back_into_the_inbox(lab: Lab) -> None:
    assert lab.aigon("feature-create", "an idea").code == 0
    left = lab.aigon("cancel", "an-idea", "--no-commit")
    assert left.code == 0 and "Not committed:" in left.out
    lab.git("checkout", "-q", "--", ".")
    lab.path("docs/specs/features/07-cancelled/feature-an-idea.md").unlink()
    assert lab.aigon("cancel", "an-idea").code == 0
    assert lab.aigon("reopen", "an-idea").code == 0
    assert lab.path("docs/specs/features/01-inbox/feature-an-idea.md").exists()
    lab.sound()
