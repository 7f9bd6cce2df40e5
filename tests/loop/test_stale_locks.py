"""Locks that an agent's git left behind: moved aside if nobody can hold them, named and left if somebody may."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.git.locks import GitLocks
from tests.lab import BRANCH, DONE_WHEN, LOG, Lab, until
from tests.loop.processes import LOOP, RESUME, begun, left_behind, ok
from tests.loop.rivals import worktree
from tests.loop.test_resume import kill

LEAVES = """
    touch done.txt
    git add done.txt
    GIT_EDITOR='touch "$HOME/edits"; sleep 60; :' git commit -a &
    until [ -e "$HOME/edits" ]; do sleep 0.02; done
    kill -9 $!
    touch "$(git rev-parse --git-path HEAD.lock)" "$(git rev-parse --git-path packed-refs.lock)"
    touch "$(git rev-parse --git-path refs/heads/$(git branch --show-current)).lock"
"""
"""Ends while its own git holds the index, and leaves locks on HEAD and refs as a git that is killed does."""


@pytest.fixture
def lab(lab: Lab) -> Lab:
    """A feature that wants done.txt, and agents that no sandbox gives a repository of their own."""
    lab.env["AIGON_SANDBOX"] = "none"
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    return lab


def displaced(lab: Lab) -> set[str]:
    """What was moved aside, without the time in front."""
    return {path.name.partition("-")[2] for path in lab.path(".git").rglob("aigon/displaced/*")}


def remaining(lab: Lab) -> list[Path]:
    """The locks of git that are in somebody's way."""
    return [path for path in lab.path(".git").rglob("*.lock") if "aigon" not in path.parts]


LOCKS = {"index.lock", "HEAD.lock", "packed-refs.lock"}


def test_locks_of_the_agents_ended_git_are_moved_aside_and_named(lab: Lab) -> None:
    lab.agent(LEAVES)
    ran = ok(lab.aigon(*LOOP))
    assert displaced(lab) == LOCKS | {f"{BRANCH}.lock"}
    assert remaining(lab) == []
    said = [line for line in ran.out.splitlines() if "left its lock" in line]
    assert len(said) == 4 and any(".git/index.lock" in line for line in said)
    assert "left its lock .git/index.lock" in lab.read(LOG).replace("\n", " ")
    lab.sound()


def test_in_a_worktree_its_own_index_is_freed(lab: Lab) -> None:
    lab.agent(LEAVES)
    lab.commit("the feature")
    ok(lab.aigon(*LOOP, "--worktree"))
    assert displaced(lab) >= LOCKS
    assert remaining(lab) == []
    assert lab.git("-C", str(worktree(lab, "mine")), "status", "--porcelain") == ""


def test_after_a_kill_the_resume_frees_what_the_turn_left(lab: Lab) -> None:
    lab.agent(f'[ -e "$HOME/begun" ] && {{ touch done.txt; exit; }}\n{LEAVES}\ntouch "$HOME/begun"; sleep 60')
    process = lab.start(*LOOP)
    begun(lab, process)
    kill(process)
    until(lambda: not left_behind(lab))
    assert lab.path(".git/index.lock").exists()
    ran = ok(lab.aigon(*RESUME))
    assert "left its lock .git/index.lock" in ran.out
    assert displaced(lab) >= LOCKS and remaining(lab) == []
    lab.sound()


def test_a_lock_that_somebody_holds_for_the_time_of_a_commit_is_not_mentioned(lab: Lab, tmp_path: Path) -> None:
    """In an arena other loops move their branches at any moment."""
    git = lab.path(".git")
    locks = GitLocks(lab.root, git, git, tmp_path / "displaced")
    lock = git / "refs" / "heads" / "other.lock"
    code = (
        "import os, sys, time; f = open(sys.argv[1], 'w'); print(flush=True); time.sleep(0.3); os.unlink(sys.argv[1])"
    )
    with subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE) as held:
        assert held.stdout and held.stdout.readline()
        assert locks.move_stale() == ()
    assert not (tmp_path / "displaced").exists()


def test_a_lock_from_before_the_turn_or_of_a_living_git_stays(lab: Lab, tmp_path: Path) -> None:
    git = lab.path(".git")
    locks = GitLocks(lab.root, git, git, tmp_path / "displaced")
    (git / "HEAD.lock").touch()
    locks.remember()
    (git / "index.lock").touch()
    held = subprocess.Popen([sys.executable, "-c", "import sys; f = open(sys.argv[1]); print(flush=True); input()",
                             str(git / "index.lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert held.stdout and held.stdout.readline()
    assert f"pid {held.pid} (" in locks.move_stale()[0] and (git / "index.lock").exists()
    held.communicate(b"\n")
    env = {**lab.env, "GIT_EDITOR": f"touch {tmp_path / 'edits'}; read line; :"}
    living = subprocess.Popen(["git", "config", "--edit"], cwd=lab.root, env=env, stdin=subprocess.PIPE)
    until((tmp_path / "edits").exists)
    assert f"pid {living.pid} (git config --edit) may hold it" in locks.move_stale()[0]
    living.communicate(b"\n")
    assert "moved to" in locks.move_stale()[0] and not (git / "index.lock").exists()
    assert (git / "HEAD.lock").exists() and locks.move_stale() == ()
    os.utime(git / "HEAD.lock", ns=(0, 10))
    assert GitLocks(lab.root, git, git, tmp_path / "displaced").move_stale(since=11) == ()
