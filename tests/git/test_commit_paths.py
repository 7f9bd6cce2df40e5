"""Small commits of aigon's own, and what a kill between their steps leaves."""

from pathlib import Path

import pytest

from aigon.git.commits import commit_as_person, commit_paths
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from tests.lab import Lab


@pytest.fixture
def there(lab: Lab) -> Lab:
    """A repository with a new file that is in no commit."""
    lab.write("new.txt", "new")
    return lab


def _commit(lab: Lab, directory: Path) -> str:
    with Checkout.open(lab.root) as checkout:
        return commit_paths(TrustedGit(checkout, directory), ["new.txt"], "new\n")


def test_an_index_that_a_kill_left_behind_its_commit_follows_the_next_time(there: Lab) -> None:
    old = there.path(".git/index").read_bytes()
    made = _commit(there, there.home / "own")
    there.path(".git/index").write_bytes(old)
    assert there.git("status", "--porcelain") != ""
    assert _commit(there, there.home / "own") == made
    there.sound()


def test_a_git_that_was_killed_leaves_no_lock_in_the_way(there: Lab) -> None:
    (there.home / "own").mkdir()
    (there.home / "own" / "index.paths.lock").write_text("")
    _commit(there, there.home / "own")
    there.sound()


def test_a_move_that_a_killed_git_has_staged_is_committed_whole(lab: Lab) -> None:
    lab.path("README.md").rename(lab.path("moved.md"))
    lab.git("add", "--all")
    with Checkout.open(lab.root) as checkout:
        commit_as_person(checkout, ["README.md", "moved.md"], "move\n", verify=True)
    assert lab.git("show", "--name-status", "--format=", "--no-renames", "HEAD").split() == [
        "D",
        "README.md",
        "A",
        "moved.md",
    ]
    assert lab.git("status", "--porcelain") == ""
