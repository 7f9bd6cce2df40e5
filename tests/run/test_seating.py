"""Where a solo run works if Landlock alone keeps its agent in."""

import pytest

from aigon.isolation import sandbox
from tests.lab import BRANCH, DONE_WHEN, SPEC, Lab

MOVED = "Landlock cannot keep agents out of .git in this checkout: the run gets a worktree"
HARM = """
common=$(git rev-parse --git-common-dir)
rm -rf "$MAIN"/.git/objects/* "$common"/../objects/* 2> /dev/null
git update-ref refs/heads/main HEAD~1 2> /dev/null; echo broken > "$MAIN/.git/HEAD" 2> /dev/null
test "$AIGON_ITERATION" = 1 || echo text > done.txt
echo "$AIGON_ITERATION" > turn.txt; git add -A; git commit -qm work
"""


@pytest.fixture
def landlocked(lab: Lab) -> Lab:
    """A feature, an agent that deletes what it can, and Landlock."""
    if why := sandbox.find_sandbox_flaw("landlock"):
        pytest.skip(f"landlock does not work here: {why}")
    lab.config(proof="in-place")
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent(HARM)
    lab.commit("a feature")
    lab.env |= {"AIGON_SANDBOX": "landlock", "MAIN": str(lab.root)}
    return lab


def test_a_solo_run_goes_to_a_worktree_and_is_resumed_and_merged_from_there(landlocked: Lab) -> None:
    lab, main = landlocked, landlocked.git("rev-parse", "main")
    planned = lab.aigon("feature-implement", "42", "--loop", "--dry-run")
    assert planned.code == 0 and MOVED in planned.out
    first = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1")
    assert first.code == 3 and MOVED in first.err, first.out + first.err
    again = lab.aigon("feature-implement", "42", "--resume")
    assert again.code == 0 and MOVED not in again.err, again.out + again.err
    assert lab.git("branch", "--show-current") == "main" and not lab.path("turn.txt").exists()
    assert lab.git("merge-base", "main", main) == main
    lab.git("fsck", "--full", "--strict")
    done = lab.aigon("feature-done", "42")
    assert done.code == 0 and lab.path("done.txt").exists(), done.err
    assert lab.git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize("why", ["asked for", "begun here", "lacks dependencies"])
def test_a_solo_run_stays_where_it_has_to(landlocked: Lab, why: str) -> None:
    lab = landlocked
    lab.agent("echo text > done.txt")
    more = ["--no-worktree"] if why == "asked for" else []
    if why == "begun here":
        lab.git("branch", BRANCH)
    if why == "lacks dependencies":
        lab.write("package.json", '{"name": "x", "version": "1.0.0"}')
        lab.write("package-lock.json", '{"name": "x", "version": "1.0.0", "lockfileVersion": 3, "packages": {}}')
        lab.write(".gitignore", "node_modules\n.aigon/runs\n")
        lab.write("node_modules/dep/index.js", "")
    lab.commit("as it is")
    planned = lab.aigon("feature-implement", "42", "--loop", "--dry-run", *more)
    assert planned.code == 0 and MOVED not in planned.out, planned.out + planned.err
    if why == "asked for":
        ran = lab.aigon("feature-implement", "42", "--loop", *more)
        assert ran.code == 0, ran.out + ran.err
        assert "Landlock cannot keep agents out of .git in the main checkout" in ran.out
        assert lab.git("branch", "--show-current") == BRANCH and lab.git("show", f"HEAD:{SPEC}")
