"""The short way: from a title, or a spec of the inbox or the backlog, straight to a run on a branch of its own."""

import json

import pytest

from tests.lab import Lab

IN_PLACE = True
FEATURES = "docs/specs/features"
INBOX = f"{FEATURES}/01-inbox/feature-say-goodbye.md"
STARTED = f"{FEATURES}/03-in-progress/feature-01-say-goodbye.md"
BRANCH = "feature-01-say-goodbye"
DONE = "it is done <!-- verify: test -f done.txt -->"
ONE = ("--loop", "--max-iterations", "1")


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """An agent that does the work, its configuration committed."""
    lab.agent("touch done.txt")
    lab.commit("an agent")
    return lab


@pytest.mark.slow
def test_a_title_becomes_a_spec_then_a_run_and_main_gets_no_commit(ready: Lab) -> None:
    before = ready.git("rev-parse", "main")
    planned = ready.aigon("feature-implement", "Say goodbye", "--loop", "--dry-run")
    assert planned.code == 2 and f"where: {INBOX}" in planned.err and not ready.path(INBOX).exists()
    written = ready.aigon("feature-implement", "Say goodbye", "--loop")
    assert written.code == 2 and "but it has no acceptance criteria yet" in written.err
    assert "then: aigon feature-implement say-goodbye --loop" in written.err
    assert ready.read(INBOX).startswith("# Feature: Say goodbye\n")
    ready.spec(DONE, name=INBOX)
    plan = ready.aigon("feature-implement", "say-goodbye", "--loop", "--dry-run", "--json").json
    assert (plan["feature_id"], plan["assigns_id"], plan["branch"]) == ("01", True, BRANCH)
    assert "ID: 01, assigned when it starts" in ready.aigon("feature-implement", "say-goodbye", "--dry-run").out
    ran = ready.aigon("feature-implement", "say goodbye", "--loop")
    assert ran.code == 0 and f"feature 01 say-goodbye started: mine on {BRANCH}" in ran.out, ran.out + ran.err
    assert ready.git("rev-parse", "main") == before
    assert ready.subjects()[-2:] == [
        "docs(feature-01): start feature 01",
        "feat(feature-01): iteration 1: 1/1 criteria proven, no checks",
    ]
    assert "feature 01," in ready.read(f"{FEATURES}/logs/feature-01-say-goodbye-log.md")
    ready.git("switch", "-q", "main")
    for name in ("1", "say-goodbye", "say goodbye", STARTED):
        assert ready.aigon("feature-status", name, "--json").json["features"][0]["id"] == "01", name
    assert ready.aigon("feature-implement", "say-goodbye", "--resume").code == 0
    ready.git("switch", "-q", "main")
    assert ready.aigon("feature-done", "say-goodbye").code == 0
    ready.sound()


@pytest.mark.parametrize("place", ["01-inbox/feature-tea.md", "02-backlog/feature-tea.md"])
def test_a_spec_by_its_path_gets_an_id_that_no_branch_has(ready: Lab, place: str) -> None:
    ready.spec(DONE, name=f"{FEATURES}/{place}")
    ready.commit("a spec")
    ready.git("branch", "feature-06-elsewhere")
    ready.git("update-ref", "refs/remotes/origin/feature-07-a-colleagues", "HEAD")
    ran = ready.aigon("feature-implement", f"{FEATURES}/{place}", *ONE, "--json")
    assert ran.code == 0 and ran.events[0]["feature_id"] == "08", ran.err
    assert ready.git("branch", "--show-current") == "feature-08-tea"


@pytest.mark.slow
def test_worktrees_and_an_arena_start_from_the_inbox_too(ready: Lab) -> None:
    mine = json.loads(ready.read(".aigon/config.json"))["agents"]["mine"]
    ready.config(agents={"other": mine})
    for name in ("tea", "toast"):
        ready.spec(DONE, name=f"{FEATURES}/01-inbox/feature-{name}.md")
    ready.commit("two specs")
    ready.write("unsaved.txt", "a person's")
    refused = ready.aigon("feature-implement", "tea", *ONE)
    assert refused.code == 7 and "   or   aigon feature-implement tea --loop --worktree\n" in refused.err
    alone = ready.aigon("feature-implement", "tea", *ONE, "--worktree", "--agent", "mine")
    assert alone.code == 0, alone.out + alone.err
    assert "Uncommitted changes stay here, and the worktrees do not have them: unsaved.txt" in alone.err
    assert f"Committing {FEATURES}/03-in-progress/feature-01-tea.md to main" in alone.err
    several = ready.aigon("feature-implement", "toast", *ONE, "--agent", "mine", "--agent", "other")
    assert several.code == 0, several.out + several.err
    branches = ready.git("branch", "--format=%(refname:short)").splitlines()
    assert branches == ["feature-01-mine-tea", "feature-02-mine-toast", "feature-02-other-toast", "main"]
    assert ready.git("status", "--porcelain") == "?? unsaved.txt"


def test_a_feature_in_progress_without_an_id_goes_on_under_its_name(ready: Lab) -> None:
    ready.agent("true")
    ready.commit("it does nothing")
    ready.spec(DONE, name=f"{FEATURES}/03-in-progress/feature-quoted-fields.md")
    assert ready.aigon("feature-implement", "quoted-fields", *ONE).code == 3
    assert "(feature-quoted-fields): iteration 1: " in ready.subjects()[-1]
    assert ready.path(f"{FEATURES}/logs/feature-quoted-fields-log.md").exists()
    refused = ready.aigon("feature-prioritise", "quoted-fields")
    assert refused.code == 2 and "in the stage in-progress already" in refused.err
    ready.git("switch", "-q", "main")
    again = ready.aigon("feature-prioritise", "quoted-fields")
    assert again.code == 2 and "where: feature-quoted-fields: " in again.err
    ran = ready.aigon("feature-implement", "quoted-fields", "--resume", "--max-iterations", "1")
    assert ran.code == 3 and "feature quoted-fields resumed" in ran.out, ran.out + ran.err


def test_without_loop_it_is_one_turn_and_says_how_to_go_on(ready: Lab) -> None:
    ready.agent("true")
    ready.spec(DONE, name=INBOX)
    ready.commit("a spec")
    ran = ready.aigon("feature-implement", "say-goodbye")
    assert ran.code == 3
    (row,) = ready.aigon("feature-status", "--json").json["features"]
    assert (row["id"], row["stage"]) == ("01", "in-progress"), "main still has it in the inbox, which says nothing"
    assert "this is one turn; to continue until everything is proven: aigon feature-implement 01 --loop\n" in ran.out


def test_a_typo_in_a_title_makes_no_feature(ready: Lab) -> None:
    ready.spec(DONE, name=INBOX)
    ready.commit("a spec")
    before = ready.fingerprint()
    ran = ready.aigon("feature-implement", "say goodby", "--loop")
    assert ran.code == 2 and "Did you mean 'say-goodbye'? If not: aigon feature-create 'say goodby'" in ran.err
    assert ready.fingerprint() == before


# configuration


def test_no_feature_starts_if_only_its_branch_would_have_the_configuration(lab: Lab) -> None:
    lab.git("rm", "-q", ".aigon/config.json")
    lab.spec(DONE, name=f"{FEATURES}/02-backlog/feature-42-dark-mode.md")
    lab.commit("no configuration")
    lab.agent("touch done.txt")
    before = lab.fingerprint()
    for arguments in (
        ("feature-setup", "42"),
        ("feature-setup", "42", "mine"),
        ("feature-implement", "42", "--loop"),
    ):
        ran = lab.aigon(*arguments)
        assert ran.code == 7 and "is not committed on main" in ran.err and "aigon init --commit" in ran.err, ran.err
        assert lab.fingerprint() == before
    lab.git("switch", "-qc", "feature-07-old")  # as an aigon before this one left it
    lab.commit("start feature 07")
    lab.git("switch", "-q", "main")
    elsewhere = lab.aigon("feature-setup", "42")
    assert elsewhere.code == 7 and "is on feature-07-old alone, and not on main" in elsewhere.err
    command = elsewhere.err.partition("do: ")[2].splitlines()[0].strip()
    lab.git(*command.partition(" && ")[0].split()[1:])
    assert lab.aigon(*command.partition(" && ")[2].split()[1:], "--no-commands").code == 0
    assert lab.git("status", "--porcelain") == ""
    assert lab.aigon("feature-setup", "42").code == 0


def test_a_configuration_that_git_ignores_is_nobodys_business(lab: Lab) -> None:
    lab.git("rm", "-q", ".aigon/config.json")
    lab.write(".git/info/exclude", ".aigon/\n")
    lab.commit("no configuration")
    lab.agent("touch done.txt")
    lab.spec(DONE, name=INBOX)
    assert lab.aigon("feature-implement", "say-goodbye", "--loop").code == 0


def test_a_feature_whose_branch_alone_has_the_configuration_goes_on_from_main(lab: Lab) -> None:
    lab.git("rm", "-q", ".aigon/config.json")
    lab.commit("no configuration")
    lab.git("switch", "-qc", BRANCH)
    lab.spec(DONE, name=STARTED)
    lab.agent("touch done.txt")
    lab.commit("start feature 01")
    lab.git("switch", "-q", "main")
    ran = lab.aigon("feature-implement", "1", "--loop", "--agent", "mine")
    assert ran.code == 0, ran.out + ran.err
