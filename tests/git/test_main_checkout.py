"""The main checkout, found from anywhere in a repository without asking git; compared with what git says."""

import subprocess
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.git.repository import find_repository
from tests.lab import Lab


def test_from_a_subfolder_and_from_a_linked_worktree_it_is_the_main_checkout(lab: Lab, tmp_path: Path) -> None:
    linked, other = tmp_path / "linked", tmp_path / "other"
    lab.git("worktree", "add", "-q", str(linked), "-b", "one")
    lab.git("worktree", "add", "-q", str(other), "-b", "two")
    (linked / "deep" / "er").mkdir(parents=True)
    for place in (lab.root, lab.root / ".git", linked, linked / "deep" / "er"):
        found = find_repository(place)
        assert (found.root, found.common_dir) == (lab.root, lab.root / ".git")
        assert sorted(found.worktrees) == [linked, other]
    lab.git("worktree", "remove", str(other))
    assert find_repository(linked).worktrees == (linked,)


def test_a_worktree_that_was_deleted_by_hand_is_none(lab: Lab, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    lab.git("worktree", "add", "-q", str(linked), "-b", "one")
    subprocess.run(["rm", "-rf", str(linked)], check=True)
    assert find_repository(lab.root).worktrees == ()


def test_of_a_bare_repository_it_is_the_worktree_that_was_asked_from(lab: Lab, tmp_path: Path) -> None:
    for bare in (tmp_path / "store.git", tmp_path / "hidden" / ".git"):
        lab.git("clone", "-q", "--bare", str(lab.root), str(bare))
        one, two = bare.parent / f"one-{bare.name}", bare.parent / f"two-{bare.name}"
        for linked in (one, two):
            lab.git("-C", str(bare), "worktree", "add", "-q", str(linked), "-b", linked.name)
        found = find_repository(one)
        assert (found.root, found.common_dir, found.worktrees) == (one, bare, (two,))


def test_a_git_directory_that_lies_elsewhere_and_a_submodule_are_followed(lab: Lab, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    lab.git("clone", "-q", f"--separate-git-dir={tmp_path / 'store'}", str(lab.root), str(apart))
    assert (find_repository(apart).root, find_repository(apart).common_dir) == (apart, tmp_path / "store")
    lab.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(apart), "sub")
    assert find_repository(lab.path("sub")).root == lab.path("sub")


@pytest.mark.parametrize("content", [None, "", "gitdir:", "gitdir: /no/such/place", "\x00\xff"])
def test_outside_of_a_repository_it_is_refused(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / ".git").write_text(content)
    with pytest.raises(AigonError, match="This is not a git repository") as refused:
        find_repository(tmp_path)
    assert refused.value.code == 7
