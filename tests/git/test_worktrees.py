"""Linked worktrees: git's list of them, made, mended after a move, removed where they hold nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.git import worktrees
from aigon.git.person import Checkout
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("lab_environment")


@pytest.fixture
def main(lab: Lab) -> Iterator[Checkout]:
    """The main checkout, in the environment of the laboratory."""
    with Checkout.open(lab.root) as checkout:
        yield checkout


@pytest.fixture
def place(lab: Lab) -> Path:
    """Where the worktree of these tests is."""
    return lab.root.parent / "repo-worktrees" / "side"


def refusal(call: object, *arguments: object) -> AigonError:
    """What a call is refused with."""
    with pytest.raises(AigonError) as caught:
        call(*arguments)  # type: ignore[operator]
    assert caught.value.code == Exit.ENVIRONMENT
    return caught.value


def test_the_list_has_the_main_checkout_and_every_worktree_as_it_is(main: Checkout, lab: Lab, tmp_path: Path) -> None:
    odd = tmp_path / "with\nline and blank"
    lab.git("worktree", "add", "-q", "-b", "one", str(odd))
    lab.git("worktree", "add", "-q", "--detach", str(tmp_path / "two"))
    lab.git("worktree", "lock", "--reason", "on a stick", str(tmp_path / "two"))
    lab.git("worktree", "add", "-q", "-b", "three", str(tmp_path / "three"))
    (tmp_path / "three").rename(tmp_path / "elsewhere")
    assert worktrees.list_worktrees(main) == (
        worktrees.WorktreeRecord(lab.root, "main", "", False),
        worktrees.WorktreeRecord(tmp_path / "three", "three", "", True),
        worktrees.WorktreeRecord(tmp_path / "two", None, "on a stick", False),
        worktrees.WorktreeRecord(odd, "one", "", False),
    )


def test_a_worktree_without_its_git_file_is_not_missing(main: Checkout, place: Path) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    (place / ".git").unlink()
    found = worktrees.find_worktree_of(main, "side")
    assert found and not found.missing
    assert worktrees.find_owner(place) is None
    worktrees.repair_worktrees(main)
    assert worktrees.find_owner(place) == main.common_dir


def test_a_new_branch_begins_at_the_base_and_no_hook_runs(main: Checkout, lab: Lab, place: Path) -> None:
    base = lab.git("rev-parse", "HEAD")
    lab.commit("later")
    lab.write(".git/hooks/post-checkout", f"#!/bin/sh\ntouch {lab.home}/ran\n", executable=True)
    worktrees.add_worktree(main, place, "side", base)
    with Checkout.open(place) as made:
        assert (made.root, made.branch, made.head) == (place, "side", base)
    assert not (lab.home / "ran").exists()


def test_a_branch_that_exists_is_checked_out_as_it_is(main: Checkout, lab: Lab, place: Path) -> None:
    lab.git("branch", "side")
    tip = lab.git("rev-parse", "side")
    base = lab.commit("later")
    worktrees.add_worktree(main, place, "side", base)
    with Checkout.open(place) as made:
        assert made.head == tip


def test_a_record_whose_folder_is_gone_gives_way_and_no_other_record_does(
    main: Checkout, place: Path, tmp_path: Path
) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    worktrees.add_worktree(main, tmp_path / "other", "other", "HEAD")
    place.rename(tmp_path / "gone")
    (tmp_path / "other").rename(tmp_path / "gone too")
    worktrees.add_worktree(main, place.with_name("second"), "side", "HEAD")
    assert {(each.path, each.branch) for each in worktrees.list_worktrees(main)[1:]} == {
        (tmp_path / "other", "other"),
        (place.with_name("second"), "side"),
    }


def test_a_locked_record_whose_folder_is_gone_is_left_to_a_person(main: Checkout, place: Path, lab: Lab) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    lab.git("worktree", "lock", "--reason", "on a stick", str(place))
    place.rename(place.with_name("gone"))
    refused = refusal(worktrees.add_worktree, main, place, "side", "HEAD")
    assert "on a stick" in refused.what and "git worktree unlock" in refused.hint


def test_a_branch_that_is_checked_out_elsewhere_is_refused_with_the_place(main: Checkout, place: Path) -> None:
    assert refusal(worktrees.add_worktree, main, place, "main", "HEAD").where == str(main.root)
    worktrees.add_worktree(main, place, "side", "HEAD")
    refused = refusal(worktrees.add_worktree, main, place.with_name("second"), "side", "HEAD")
    assert refused.where == str(place)
    assert not place.with_name("second").exists()


def test_a_folder_that_holds_something_is_not_taken(main: Checkout, place: Path) -> None:
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("mine")
    assert refusal(worktrees.add_worktree, main, place, "side", "HEAD").where == str(place)
    assert main.commit_of("refs/heads/side") is None
    assert [file.name for file in place.iterdir()] == ["mine.txt"]


def test_a_sparse_worktree_has_its_folders_and_the_files_at_the_root(main: Checkout, lab: Lab, place: Path) -> None:
    for name in ("a/x", "a/deep/y", "b/z", ".aigon/config.json"):
        lab.write(name, f"{name}\n")
    lab.commit("files")
    worktrees.add_worktree(main, place, "side", "HEAD", ("a", ".aigon", "not there"))
    there = {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file() and file.name != ".git"}
    assert there == {"README.md", "a/x", "a/deep/y", ".aigon/config.json"}
    with Checkout.open(place) as made:
        assert made.list_changed() == []
    assert lab.path("b/z").exists()
    assert lab.git("status", "--porcelain") == ""


def test_what_a_killed_git_had_only_begun_is_checked_out(main: Checkout, lab: Lab, place: Path) -> None:
    lab.git("worktree", "add", "-q", "--no-checkout", "--lock", "--reason", "initializing", "-b", "side", str(place))
    (place / "README.md").write_text("half")
    worktrees.fill_worktree(main, place)
    found = worktrees.find_worktree_of(main, "side")
    assert found and not found.locked
    with Checkout.open(place) as made:
        assert made.list_changed() == []


@pytest.mark.parametrize("whose", ["the repository", "the worktree", "both"])
def test_after_a_move_both_find_each_other_again(lab: Lab, main: Checkout, place: Path, whose: str) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    (place / "new.txt").write_text("work")
    root, now = lab.root, place
    if whose != "the repository":
        now = place.rename(place.with_name("moved"))
    if whose != "the worktree":
        root = lab.root.rename(lab.root.with_name("renamed"))
    with Checkout.open(root) as again:
        worktrees.repair_worktrees(again, [now])
        assert worktrees.find_owner(now) == again.common_dir
        assert [each.path for each in worktrees.list_worktrees(again)] == [root, now]
    with Checkout.open(now) as there:
        assert there.list_changed() == ["new.txt"]


def test_a_copy_of_a_repository_does_not_take_the_originals_worktrees(lab: Lab, main: Checkout, place: Path) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    copy = lab.root.with_name("copy")
    shutil.copytree(lab.root, copy)
    with Checkout.open(copy) as other:
        assert refusal(worktrees.repair_worktrees, other).where == str(main.common_dir)
    assert worktrees.find_owner(place) == main.common_dir


def test_a_clean_worktree_is_removed_and_its_branch_stays(main: Checkout, lab: Lab, place: Path) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    worktrees.remove_worktree(main, place)
    assert not place.exists()
    assert lab.git("rev-parse", "side") == main.head
    assert len(worktrees.list_worktrees(main)) == 1


def test_a_worktree_that_holds_work_is_not_removed(main: Checkout, place: Path) -> None:
    worktrees.add_worktree(main, place, "side", "HEAD")
    (place / "new.txt").write_text("work")
    assert "new.txt" not in refusal(worktrees.remove_worktree, main, place).what
    assert (place / "new.txt").read_text() == "work"


def test_submodules_that_were_never_checked_out_do_not_keep_a_worktree(main: Checkout, lab: Lab, place: Path) -> None:
    lab.git("update-index", "--add", "--cacheinfo", f"160000,{main.head},sub")
    lab.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ../sub\n')
    lab.git("add", ".gitmodules")
    lab.git("commit", "-q", "-m", "submodule")
    worktrees.add_worktree(main, place, "side", "HEAD")
    (place / "new.txt").write_text("work")
    refusal(worktrees.remove_worktree, main, place)
    (place / "new.txt").unlink()
    worktrees.remove_worktree(main, place)
    assert not place.exists()
