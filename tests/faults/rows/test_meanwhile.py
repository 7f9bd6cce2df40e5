"""What people and agents do to the repository while a run is under way, or between a run and its resume."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab import BRANCH, DONE_WHEN, SPEC, Lab, finish, until
from tests.loop.processes import LOOP, RESUME, begun, go, left_behind, parked, turns
from tests.loop.rivals import worktree

WAITS = """
    echo turn >> "$HOME/turns"; touch done.txt "$HOME/begun"
    until [ -e "$HOME/go" ]; do sleep 0.02; done
"""


def whole(folder: Path) -> dict[str, str]:
    """Every file of a folder, git's own included, by the hash of its bytes; but what aigon keeps in git's folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".git/aigon" not in path.as_posix())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A feature that one turn completes, everything committed."""
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt')
    lab.commit("ready")
    return lab


def test_a_commit_just_before_the_branch_moves_is_kept_and_so_is_aigons(ready: Lab) -> None:
    loop = ready.start(*LOOP, env={"AIGON_FAILPOINT": "checkpoint_intended:sleep=4"})
    journals = "state/repos/*/features/42/journal.jsonl"
    until(lambda: any("checkpoint_intended" in file.read_text() for file in ready.home.glob(journals)))
    old = ready.git("rev-parse", BRANCH)
    theirs = ready.git("commit-tree", f"{old}^{{tree}}", "-p", old, "-m", "mine")
    ready.git("update-ref", f"refs/heads/{BRANCH}", theirs, old)
    ran = finish(loop, 60)
    assert ran.code == 7 and "both commits are kept" in ran.err, ran.err
    assert ready.git("rev-parse", BRANCH) == theirs
    assert ready.git("show", f"{parked(ready)[-1]}:done.txt") == ""
    again = ready.aigon(*RESUME)
    assert again.code == 0, again.err
    assert (turns(ready), ready.git("rev-parse", "HEAD^")) == (1, theirs)
    ready.sound()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["subfolder", "symlink", "worktree"])
def test_a_second_loop_on_the_feature_names_the_first_from_wherever_it_is_started(
    ready: Lab, tmp_path: Path, place: str
) -> None:
    ready.agent(WAITS)
    ready.commit("waits")
    first = ready.start(*LOOP)
    begun(ready, first)
    (ready.root / "sub").mkdir()
    (tmp_path / "link").symlink_to(ready.root)
    where = {"subfolder": ready.root / "sub", "symlink": tmp_path / "link", "worktree": ready.root}[place]
    more = ("--worktree",) if place == "worktree" else ()
    ran = ready.aigon(*LOOP, *more, cwd=where)
    assert ran.code == 7 and f"pid {first.pid} on " in ran.err, ran.err
    (ready.root / "sub").rmdir()
    go(ready)
    assert finish(first).code == 0
    ready.sound()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["turn", "check"])
def test_a_deleted_worktree_ends_the_run_and_leaves_the_main_checkout_alone(ready: Lab, when: str) -> None:
    there = worktree(ready, "mine")
    if when == "turn":
        ready.agent(f'echo turn >> "$HOME/turns"; rm -rf "{there}"; touch "{there}-gone"')
    else:
        ready.spec(f'it is done <!-- verify: test -f done.txt || exit 1; rm -rf "{there}" -->')
        ready.agent('echo turn >> "$HOME/turns"; touch done.txt')
    ready.commit("deletes")
    ready.aigon("feature-setup", "42", "--agents", "mine")
    before, head = whole(ready.root / "docs"), ready.git("rev-parse", "HEAD")
    ran = ready.aigon("feature-implement", "42", "--loop", "--worktree")
    assert ran.code in (3, 7) and "Traceback" not in ran.err, (ran.code, ran.out[-500:], ran.err)
    assert (whole(ready.root / "docs"), ready.git("rev-parse", "HEAD")) == (before, head)
    assert not ready.path("done.txt").exists() and "proven" not in ran.out.splitlines()[-1]
    ready.git("fsck", "--full", "--strict")
    assert left_behind(ready) == []


@pytest.mark.slow
def test_a_spec_that_a_person_moved_to_another_stage_is_found_by_its_id(ready: Lab) -> None:
    ready.agent('echo turn >> "$HOME/turns"; [ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    ready.commit("two turns")
    assert ready.aigon("feature-implement", "42").code == 3
    moved = SPEC.replace("03-in-progress", "02-backlog")
    ready.path(moved).parent.mkdir(parents=True, exist_ok=True)
    ready.git("mv", SPEC, moved)
    ready.commit("moved")
    ran = ready.aigon(*RESUME)
    assert ran.code == 0, ran.err
    assert turns(ready) == 2
    ready.git("fsck", "--full", "--strict")


REFUSALS: dict[str, tuple[Callable[[Lab], object], str]] = {
    "dirty": (lambda lab: lab.write("README.md", "changed"), "uncommitted"),
    "detached": (lambda lab: lab.git("switch", "-q", "--detach"), "detached"),
    "elsewhere": (lambda lab: lab.git("worktree", "add", "-q", f"{lab.home}/other", "-b", BRANCH), "elsewhere"),
    "unborn": (lambda lab: lab.git("switch", "-q", "--orphan", "empty"), "commits"),
}


@pytest.mark.parametrize("state", ["dirty", pytest.param("detached", marks=pytest.mark.slow),
                                   pytest.param("elsewhere", marks=pytest.mark.slow),
                                   pytest.param("unborn", marks=pytest.mark.slow)])  # fmt: skip
def test_what_cannot_be_run_in_is_refused_with_every_byte_as_it_was(ready: Lab, state: str) -> None:
    spoil, word = REFUSALS[state]
    spoil(ready)
    ready.git("status")
    before = whole(ready.root)
    ran = ready.aigon(*LOOP)
    assert ran.code == 7 and word in ran.err, ran.err
    assert whole(ready.root) == before


@pytest.mark.slow
def test_a_parent_repository_is_never_worked_in_once_the_inner_one_is_gone(ready: Lab) -> None:
    inner = ready.root / "inner"
    shutil.copytree(ready.root, inner, ignore=shutil.ignore_patterns("inner"))
    ready.write(".gitignore", "inner/\n")
    ready.commit("ignore")
    before, head = whole(ready.root / ".git" / "refs"), ready.git("rev-parse", "HEAD")
    ready.agent('rm -rf "$PWD/.git"; touch done.txt')
    ran = ready.aigon(*LOOP, cwd=inner)
    assert ran.code == 7 and "Traceback" not in ran.err, ran.err
    assert (whole(ready.root / ".git" / "refs"), ready.git("rev-parse", "HEAD")) == (before, head)
