"""`feature-done` after several agents worked on one feature: one is merged, nobody's work is lost."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lab import DONE_WHEN, Lab, reuse, until
from tests.loop.test_done import DONE
from tests.loop.test_done_broken_off import KILL

WORKS = f"it works <!-- verify: {DONE_WHEN} -->"
WHOLE = "nothing spoils it <!-- verify: test ! -e spoils.txt -->"
ONE, TWO = "feature-42-one-dark-mode", "feature-42-two-dark-mode"


def worktree(lab: Lab, branch: str) -> Path:
    """Where a branch is checked out."""
    blocks = lab.git("worktree", "list", "--porcelain").split("\n\n")
    return next(Path(b.split("\n")[0].removeprefix("worktree ")) for b in blocks if b.endswith(f"/{branch}"))


def ran(lab: Lab, agent: str, code: int = 0) -> None:
    """Let one of them work."""
    done = lab.aigon("feature-implement", "42", "--loop", "--agent", agent, "--worktree", "--max-iterations", "1")
    assert done.code == code, done.out + done.err


def make_arena(lab: Lab) -> None:
    """Two agents with a worktree each; `one` is proven, `two` is not, but has files of its own."""
    lab.config(proof="in-place")
    lab.spec(WORKS, WHOLE)
    lab.agent("touch done.txt; mkdir -p src; echo one > src/one.txt", name="one")
    lab.agent("mkdir -p src more/deep; echo two > src/two.txt; echo x > more/deep/a.txt; touch spoils.txt", name="two")
    lab.commit("spec")
    setup = lab.aigon("feature-setup", "42", "one", "two")
    assert setup.code == 0, setup.out + setup.err
    ran(lab, "one")
    ran(lab, "two", code=3)


def make_both(lab: Lab) -> None:
    """The same, `two` is proven by now."""
    make_arena(lab)
    lab.agent("rm -f spoils.txt; touch done.txt", name="two")
    lab.commit("another agent")
    done = lab.aigon("feature-implement", "42", "--agent", "two", "--worktree", "--resume")
    assert done.code == 0, done.out + done.err


@pytest.fixture
def arena() -> Lab:
    """Two agents with a worktree each, of which one is proven."""
    return reuse(make_arena)


@pytest.fixture
def both() -> Lab:
    """Two agents with a worktree each, both proven."""
    return reuse(make_both)


@contextmanager
def held_elsewhere(lock: Path) -> Iterator[None]:
    """A process of its own has this lock, as a loop has that starts none of the commands here."""
    script = (
        "import sys; from pathlib import Path; from aigon.files.locks import hold_lock\n"
        "with hold_lock(Path(sys.argv[1]), 'nobody else has it'): print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdin
        holder.stdout.readline()
        yield
        holder.stdin.close()


def merged(lab: Lab, *arguments: str, cwd: Path | None = None) -> dict[str, Any]:
    """What `feature-done` says of a merge."""
    done = lab.aigon("feature-done", *arguments, "--json", cwd=cwd)
    assert done.code == 0, done.err
    document: dict[str, Any] = done.json
    return document


def test_the_only_one_that_is_proven_is_merged_and_the_other_is_kept(arena: Lab) -> None:
    two, places = arena.git("rev-parse", TWO), (worktree(arena, ONE), worktree(arena, TWO))
    said = merged(arena, "42")
    assert (said["agent"], said["into"], said["path"]) == ("one", "main", DONE)
    assert arena.path("src/one.txt").exists() and not arena.path("src/two.txt").exists()
    assert arena.path("docs/specs/features/logs/feature-42-one-dark-mode-log.md").exists()
    (other,) = said["others"]
    assert (other["ref"], other["removed"]) == ("refs/aigon/arena/42/two", True), other
    assert arena.git("rev-parse", other["ref"]) == two
    assert said["worktree"]["removed"] and not any(place.exists() for place in places)
    assert arena.git("branch", "--format=%(refname:short)").split() == [ONE, "main"]
    arena.git("branch", "-d", ONE)
    again = arena.aigon("feature-done", "42")
    assert again.code == 2 and "done already" in again.err
    arena.sound()


def test_killed_after_the_merge_the_others_are_still_retired(arena: Lab) -> None:
    hook = arena.write(".git/hooks/post-merge", f"#!/bin/sh\n{KILL}\n", executable=True)
    before, two = arena.git("rev-parse", "main"), arena.git("rev-parse", TWO)
    assert arena.aigon("feature-done", "42").code == -signal.SIGKILL
    until(lambda: arena.git("rev-parse", "main") != before)
    hook.unlink()
    said = merged(arena, "42")
    assert "merged before" in said["proof"] and said["worktree"]["removed"] and said["others"][0]["removed"]
    assert arena.git("rev-parse", "refs/aigon/arena/42/two") == two
    arena.sound()


@pytest.mark.slow
def test_killed_in_a_worktree_it_goes_on_from_there(arena: Lab) -> None:
    arena.write("theirs.txt", "")
    arena.commit("meanwhile")
    hook = arena.write(".git/hooks/pre-rebase", f"#!/bin/sh\n{KILL}\nexit 1\n", executable=True)
    assert arena.aigon("feature-done", "42", "--rebase").code == -signal.SIGKILL
    hook.unlink()
    refused = arena.aigon("feature-done", "42", "two")
    assert refused.code == 3 and worktree(arena, ONE).exists(), refused.err
    assert merged(arena, "42", "--rebase")["worktree"]["removed"]
    arena.sound()


@pytest.mark.slow
def test_what_people_read_names_the_ref_of_the_one_that_was_not_merged(arena: Lab) -> None:
    text = arena.aigon("feature-done", "42").out
    assert "two: kept as refs/aigon/arena/42/two; worktree and branch removed" in text
    assert f"git branch -d {ONE}" in text and "The merged worktree is removed" in text


def test_what_was_removed_before_the_merge_is_not_said_to_be_removed_by_it(arena: Lab) -> None:
    two = worktree(arena, TWO)
    arena.git("worktree", "remove", "--force", str(worktree(arena, ONE)))
    arena.git("worktree", "remove", "--force", str(two))
    arena.git("branch", "-D", TWO)
    merged = arena.aigon("feature-done", "42")
    assert merged.code == 0, merged.err
    assert "removed" not in merged.out and f"git branch -d {ONE}" in merged.out


def test_of_several_that_are_proven_a_person_takes_one(both: Lab) -> None:
    before = both.fingerprint()
    asked = both.aigon("feature-done", "42")
    assert asked.code == 4, asked.err
    assert "aigon feature-done 42 one" in asked.err and "aigon feature-done 42 two" in asked.err
    assert both.fingerprint() == before
    assert merged(both, "42", "two")["agent"] == "two"


def test_in_a_worktree_it_is_that_ones_unless_another_is_named(both: Lab) -> None:
    place = worktree(both, ONE)
    said = merged(both, "42", cwd=place)
    assert said["agent"] == "one"
    assert not said["worktree"]["removed"] and place.exists()
    assert "you" in said["worktree"]["why"]


def test_one_that_is_not_proven_is_not_merged_by_its_name_either(arena: Lab) -> None:
    before = arena.fingerprint()
    refused = arena.aigon("feature-done", "42", "two")
    assert refused.code == 3 and "--agent two" in refused.err, refused.err
    unknown = arena.aigon("feature-done", "42", "three")
    assert unknown.code == 2 and "one (one), two (two)" in unknown.err
    assert arena.fingerprint() == before


def test_worktrees_stay_where_that_is_asked_for(arena: Lab) -> None:
    said = merged(arena, "42", "--keep-worktrees")
    assert worktree(arena, ONE).exists() and worktree(arena, TWO).exists()
    assert arena.git("rev-parse", said["others"][0]["ref"]) == arena.git("rev-parse", TWO)


def test_a_worktree_with_work_in_it_stays_and_so_does_its_branch(arena: Lab) -> None:
    place = worktree(arena, TWO)
    (place / "mine.txt").write_text("not committed\n")
    (other,) = merged(arena, "42")["others"]
    assert not other["removed"] and "mine.txt" in other["why"]
    assert (place / "mine.txt").exists() and arena.git("rev-parse", TWO) == arena.git("rev-parse", other["ref"])


def test_one_whose_loop_still_runs_is_left_alone(arena: Lab) -> None:
    place = worktree(arena, TWO)
    [folder] = (arena.home / "state").glob("repos/*/locks")
    with held_elsewhere(folder / "feature-42-two.lock"):
        (other,) = merged(arena, "42")["others"]
    assert "still runs" in other["why"] and place.exists() and not other["ref"]


def test_a_worktree_that_somebody_deleted_hinders_nobody(arena: Lab) -> None:
    two = arena.git("rev-parse", TWO)
    shutil.rmtree(worktree(arena, TWO))
    shutil.rmtree(worktree(arena, ONE))
    said = merged(arena, "42")
    assert arena.git("rev-parse", "refs/aigon/arena/42/two") == two and said["others"][0]["removed"]
    arena.sound()


@pytest.mark.slow
def test_a_candidate_is_rebased_in_its_own_worktree(arena: Lab) -> None:
    arena.write("theirs.txt", "")
    theirs = arena.commit("meanwhile")
    said = merged(arena, "42", "--rebase", "--keep-worktrees")
    assert theirs in arena.git("rev-list", "main").split() and said["proof"].startswith("proven again")
    assert arena.git("rev-parse", "main") == arena.git("rev-parse", ONE) == said["commit"]
    assert arena.git("-C", str(worktree(arena, ONE)), "status", "--porcelain") == ""
    arena.sound()


@pytest.mark.slow
def test_a_target_that_has_moved_on_is_proven_with_the_candidates_work(arena: Lab) -> None:
    arena.write("spoils.txt", "")
    arena.commit("meanwhile")
    before = arena.fingerprint()
    refused = arena.aigon("feature-done", "42")
    assert refused.code == 3 and "criterion 2" in refused.err, refused.err
    assert f"cd {worktree(arena, ONE)} && git merge main" in refused.err
    assert arena.fingerprint() == before
    arena.git("rm", "-q", "spoils.txt")
    arena.commit("away again")
    assert merged(arena, "42")["agent"] == "one"


@pytest.mark.slow
def test_in_a_clean_room_too(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.agent("touch done.txt", name="one")
    lab.commit("spec")
    ran(lab, "one")
    lab.write("theirs.txt", "")
    lab.commit("meanwhile")
    done = lab.aigon("feature-done", "42", "--squash")
    assert done.code == 0 and "Clean-room proof" in done.err, done.err
    assert lab.git("log", "-1", "--format=%(trailers:key=Aigon-Agent,valueonly)").strip() == "one"
    lab.sound()


# --adopt


def test_files_of_another_are_taken_in_once_all_is_proven_with_them(arena: Lab) -> None:
    two = arena.git("rev-parse", TWO)
    said = merged(arena, "42", "--adopt", "two:src/two.txt", "--adopt", "two:more")
    assert said["adopted"] == ["two:src/two.txt", "two:more"] and said["proof"].startswith("proven again")
    for name in ("src/one.txt", "src/two.txt", "more/deep/a.txt"):
        assert arena.path(name).exists()
    assert not arena.path("spoils.txt").exists()
    trailer = arena.git("log", "--format=%(trailers:key=Aigon-Adopted-From,valueonly)", "main").split()
    assert trailer == ["two", two]
    arena.git("branch", "-d", ONE)
    arena.sound()


def test_what_breaks_it_is_dropped_and_nothing_is_merged(arena: Lab) -> None:
    tips = [arena.git("rev-parse", name) for name in ("main", ONE, TWO)]
    refused = arena.aigon("feature-done", "42", "--adopt", "two:spoils.txt")
    assert refused.code == 3 and "criterion 2" in refused.err and "dropped" in refused.err, refused.err
    assert [arena.git("rev-parse", name) for name in ("main", ONE, TWO)] == tips
    assert arena.git("-C", str(worktree(arena, ONE)), "status", "--porcelain", "-b") == f"## {ONE}"
    (parked,) = arena.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked/").split()
    assert "spoils.txt" in arena.git("ls-tree", "--name-only", parked).split()
    assert merged(arena, "42")["agent"] == "one"


@pytest.mark.slow
def test_what_is_not_there_or_is_aigons_own_is_not_adopted(arena: Lab) -> None:
    before = arena.fingerprint()
    log = "docs/specs/features/logs/feature-42-two-dark-mode-log.md"
    for what in ("two:nothing.txt", "two:", "two:../x", "three:src/two.txt", "two:.aigon/config.json", f"two:{log}"):
        refused = arena.aigon("feature-done", "42", "--adopt", what)
        assert refused.code == 2, (what, refused.err)
    assert arena.aigon("feature-done", "42", "--adopt", "two:docs").code == 2
    assert "--adopt AGENT:PATH" in arena.aigon("feature-done", "42", "--adopt", "two.txt").err
    assert arena.fingerprint() == before


def test_a_secret_is_not_adopted(arena: Lab) -> None:
    place = worktree(arena, TWO)
    (place / "settings.py").write_text('KEY = "AKIA' + "Q7RZ4M2N8W5T3K9L" + '"\n')
    arena.git("-C", str(place), "add", "-A")
    arena.git("-C", str(place), "commit", "-q", "-m", "oops")
    before = arena.fingerprint()
    refused = arena.aigon("feature-done", "42", "--adopt", "two:settings.py")
    assert refused.code == 2 and "settings.py" in refused.err, refused.err
    assert arena.fingerprint() == before


def test_one_that_has_not_run_is_told_how_it_begins(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.agent("touch done.txt", name="one")
    lab.commit("spec")
    lab.aigon("feature-setup", "42", "one")
    refused = lab.aigon("feature-done", "42", "one")
    assert refused.code == 3 and "aigon feature-implement 42 --loop --agent one" in refused.err, refused.err


def test_once_one_is_merged_nobody_is_advised_to_let_another_go_on(arena: Lab) -> None:
    assert arena.aigon("feature-done", "42", "one").code == 0
    assert "to go on" not in arena.aigon("feature-status", "42").out
