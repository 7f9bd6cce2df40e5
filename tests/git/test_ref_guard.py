"""Branches and tags that an agent moved come back; a person's work, and what an agent made new, stay."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aigon.git.person import Checkout
from aigon.git.ref_protection import RefProtection
from aigon.git.refs import NOBODY, MovedRef, Rivals, parse_packed_refs
from aigon.git.trusted import TrustedGit
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("lab_environment")


@contextmanager
def guarding(lab: Lab, rivals: Rivals = NOBODY) -> Iterator[Callable[[], dict[str, MovedRef]]]:
    """The run's branch `work` on three commits of main, with a tag and another branch; gives what puts refs back."""
    lab.commit("second")
    lab.commit("third")
    lab.git("tag", "-a", "v1", "-m", "one")
    lab.git("branch", "side")
    lab.git("update-ref", "refs/aigon/parked/old", "HEAD")
    lab.git("switch", "-qc", "work")
    with Checkout.open(lab.root) as checkout:
        git = TrustedGit(checkout, lab.home / "own")

        def park(name: str, value: str) -> str:
            assert git.refs("update-ref", f"refs/aigon/parked/{name}", value, "")[0] == 0
            return f"refs/aigon/parked/{name}"

        def back() -> dict[str, MovedRef]:
            return {moved.ref: moved for moved in guard.put_back(park)}

        guard = RefProtection(git, "work", lab.home / "displaced", rivals)
        time.sleep(0.03)
        guard.remember()
        yield back


def refs(lab: Lab, *without: str) -> str:
    """All refs but parked ones and those named."""
    lines = lab.git("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    return "\n".join(line for line in lines if "/parked/heads" not in line and line.split()[1] not in without)


def amended(lab: Lab) -> None:
    """As in: the base commit amended, base and branch moved onto it."""
    lab.git("commit", "-q", "--allow-empty", "--amend", "-m", "gutted")
    lab.git("update-ref", "refs/heads/main", "HEAD")
    lab.git("update-ref", "refs/tags/v1", "HEAD")


def moved_to_the_runs_commits(lab: Lab) -> None:
    lab.commit("agent's")
    lab.git("branch", "-qf", "main")


def moved_ahead_of_the_run(lab: Lab) -> None:
    tip = lab.commit("agent's")
    lab.commit("more")
    lab.git("branch", "-qf", "main")
    lab.git("reset", "-q", "--hard", tip)


def rewound(lab: Lab) -> None:
    lab.git("branch", "-qf", "main", "HEAD~1")


def deleted(lab: Lab) -> None:
    lab.git("branch", "-qD", "main", "side")
    lab.git("tag", "-d", "v1")
    lab.git("update-ref", "-d", "refs/aigon/parked/old")


def written_over_in_place(lab: Lab) -> None:
    with lab.path(".git/refs/heads/main").open("r+") as file:
        file.write(lab.git("rev-parse", "HEAD~2"))


def a_link_to_another_branch(lab: Lab) -> None:
    lab.git("symbolic-ref", "refs/heads/main", "refs/heads/work")


def rubbish(lab: Lab) -> None:
    lab.write(".git/refs/heads/main", "rubbish\n")


def a_linked_file(lab: Lab) -> None:
    lab.path(".git/refs/heads/main").unlink()
    lab.path(".git/refs/heads/main").symlink_to("work")


def a_folder_in_its_place(lab: Lab) -> None:
    lab.git("branch", "-qD", "main")
    lab.git("branch", "main/evil")


def a_folder_of_rubbish_in_its_place(lab: Lab) -> None:
    lab.git("branch", "-qD", "main")
    lab.write(".git/refs/heads/main/x.lock", "")


def linked_folders(lab: Lab) -> None:
    lab.path(".git/refs/heads").rename(lab.home / "heads")
    lab.path(".git/refs/heads").symlink_to(lab.home / "heads")
    lab.git("update-ref", "refs/heads/side", "HEAD~1")
    (lab.home / "heads/work").rename(lab.home / "heads/gone")
    (lab.home / "heads/gone").rename(lab.home / "heads/work")


def no_packed_refs(lab: Lab) -> None:
    lab.path(".git/packed-refs").unlink()


def rubbish_for_packed_refs(lab: Lab) -> None:
    with lab.path(".git/packed-refs").open("a") as file:
        file.write("rubbish\n")


def packed_refs_in_another_order(lab: Lab) -> None:
    head, *lines = lab.read(".git/packed-refs").splitlines()
    lab.write(".git/packed-refs", "\n".join([head, *reversed([line for line in lines if line[0] != "^"]), ""]))


def replaced(lab: Lab) -> None:
    lab.git("replace", "HEAD~1", "HEAD~2")


MOVED = [
    amended, moved_to_the_runs_commits, moved_ahead_of_the_run, rewound, deleted, written_over_in_place,
    a_link_to_another_branch, rubbish, a_linked_file, a_folder_in_its_place, a_folder_of_rubbish_in_its_place, replaced,
]  # fmt: skip
PACKED = [no_packed_refs, rubbish_for_packed_refs, packed_refs_in_another_order, rewound, deleted]


@pytest.mark.parametrize(
    ("move", "packed"), [*((move, False) for move in MOVED), *((move, True) for move in (deleted, rubbish, amended))]
)
def test_refs_that_an_agent_moved_come_back(lab: Lab, move: Callable[[Lab], None], packed: bool) -> None:
    with guarding(lab) as back:
        before = refs(lab, "refs/heads/work")
        if packed:
            lab.git("pack-refs", "--all")
        hook = lab.write(".git/hooks/reference-transaction", f"#!/bin/sh\ntouch {lab.home}/ran\n", executable=True)
        hook.unlink()
        move(lab)
        lab.write(".git/hooks/reference-transaction", f"#!/bin/sh\ntouch {lab.home}/ran\n", executable=True)
        moved = back()
        assert moved and {each.done for each in moved.values()} <= {"put back", "removed"}
        assert not (lab.home / "ran").exists()
        assert back() == {}
        hidden = {each.saved for each in moved.values()}
        assert refs(lab, "refs/heads/work", *hidden) == before
        for each in moved.values():
            if each.saved:
                assert lab.git("rev-parse", each.saved) == each.after
                assert f"kept as {each.saved}" in each.sentence
    lab.git("fsck", "--strict")


@pytest.mark.parametrize("spoil", PACKED)
def test_packed_refs_come_back_whole(lab: Lab, spoil: Callable[[Lab], None]) -> None:
    lab.git("update-ref", "refs/remotes/origin/main", "HEAD")
    lab.git("pack-refs", "--all")
    with guarding(lab) as back:
        lab.git("pack-refs", "--all")
        assert back() == {}
        before = refs(lab)
        spoil(lab)
        back()
        assert "refs/remotes/origin/main" in before
        aside = [f"refs/aigon/parked/heads-{name}" for name in ("main", "side")]
        aside += ["refs/heads/work"] if spoil is no_packed_refs else []  # its value is nowhere any more
        assert refs(lab, *aside) == "\n".join(line for line in before.splitlines() if line.split()[1] not in aside)
    lab.git("fsck", "--strict")


def test_folders_of_refs_that_lead_elsewhere_are_folders_again(lab: Lab) -> None:
    with guarding(lab) as back:
        before = refs(lab, "refs/heads/work")
        linked_folders(lab)
        assert back()["refs/heads/side"].done == "put back"
        assert not lab.path(".git/refs/heads").is_symlink()
        assert refs(lab, "refs/heads/work", "refs/aigon/parked/heads-side") == before


def test_a_repository_without_its_folder_of_refs_is_one_again(lab: Lab) -> None:
    with guarding(lab) as back:
        before = refs(lab, "refs/heads/work")
        value = lab.git("rev-parse", "work")
        shutil.rmtree(lab.path(".git/refs"))
        lab.write(".git/refs/heads/work", value + "\n")
        assert len(back()) == 4
        assert refs(lab, "refs/heads/work") == before


def test_commits_that_may_be_a_persons_stay_and_are_told(lab: Lab) -> None:
    with guarding(lab) as back:
        tree = lab.git("rev-parse", "HEAD^{tree}")
        theirs = lab.git("commit-tree", tree, "-p", "main", "-m", "a person's")
        lab.git("update-ref", "refs/heads/main", theirs)
        moved = back()["refs/heads/main"]
        assert (moved.done, moved.saved) == ("left", "")
        assert moved.sentence.endswith("was left as it is: the new commits may be a person's")
        assert lab.git("rev-parse", "main") == theirs
        assert back() == {}


def test_a_branch_of_another_worktree_is_its_own_affair_unless_it_is_gone(lab: Lab) -> None:
    lab.git("branch", "other")
    lab.git("worktree", "add", "-q", str(lab.home / "tree"), "other")
    with guarding(lab) as back:
        lab.git("-C", str(lab.home / "tree"), "commit", "-q", "--allow-empty", "--amend", "-m", "theirs")
        assert back()["refs/heads/other"].why == "it is checked out in another worktree"
        lab.git("update-ref", "-d", "refs/heads/other")
        assert back()["refs/heads/other"].done == "put back"


RIVALS = Rivals(frozenset({"feature-42-cx-dark-mode", "feature-7-cc-login"}), "42")


def test_what_rivals_do_to_their_refs_is_neither_put_back_nor_told(lab: Lab) -> None:
    lab.git("branch", "feature-42-cx-dark-mode")
    lab.git("branch", "feature-7-cc-login")
    lab.git("update-ref", "refs/aigon/arena/42/old", "HEAD")
    with guarding(lab, RIVALS) as back:
        theirs = lab.git("commit-tree", lab.git("rev-parse", "HEAD^{tree}"), "-m", "theirs")
        lab.git("update-ref", "refs/heads/feature-42-cx-dark-mode", theirs)  # rewritten: its own loop parks it
        lab.git("branch", "-qD", "feature-7-cc-login")
        lab.git("branch", "feature-42-gg-dark-mode")  # one that has just come
        lab.git("update-ref", "refs/aigon/parked/feature-42/other-run-1", theirs)
        lab.git("update-ref", "refs/aigon/arena/42/old", theirs)
        lab.git("update-ref", "refs/aigon/arena/42/cx", theirs)
        before = refs(lab)
        assert back() == {}
        lab.git("update-ref", "-d", "refs/aigon/parked/feature-42/other-run-1")
        lab.git("update-ref", "refs/heads/feature-42-gg-dark-mode", theirs)
        assert back() == {}
        lab.git("pack-refs", "--all")
        assert back() == {}
        lab.git("update-ref", "refs/heads/feature-42-gg-dark-mode", "HEAD")
        lab.git("update-ref", "refs/aigon/parked/feature-42/other-run-1", theirs)
        assert refs(lab) == before


def test_beside_rivals_an_agents_own_doings_are_still_put_back_and_told(lab: Lab) -> None:
    lab.git("branch", "feature-42-cx-dark-mode")
    lab.git("branch", "feature-42-mine")
    with guarding(lab, RIVALS) as back:
        before = refs(lab, "refs/heads/work", "refs/heads/feature-42-cx-dark-mode")
        lab.commit("agent's")
        for name in ("main", "feature-42-mine", "feature-42-cx-dark-mode"):
            lab.git("branch", "-qf", name)
        lab.git("update-ref", "-d", "refs/aigon/parked/old")
        lab.git("branch", "wip")
        moved = back()
        assert {ref: each.done for ref, each in moved.items()} == {
            "refs/heads/main": "put back",
            "refs/heads/feature-42-mine": "put back",
            "refs/aigon/parked/old": "put back",
            "refs/heads/wip": "left",
        }
        assert "feature-42-cx" not in " ".join(each.sentence for each in moved.values())
        assert refs(lab, "refs/heads/work", "refs/heads/feature-42-cx-dark-mode", "refs/heads/wip") == before


def test_new_branches_and_tags_stay_and_may_change(lab: Lab) -> None:
    with guarding(lab) as back:
        lab.git("branch", "wip")
        lab.git("tag", "v2")
        assert {ref: each.done for ref, each in back().items()} == {"refs/heads/wip": "left", "refs/tags/v2": "left"}
        lab.git("branch", "-qf", "wip", "HEAD~1")
        lab.git("tag", "-d", "v2")
        assert back() == {}


def test_a_new_name_that_git_would_take_for_another_is_taken_away(lab: Lab) -> None:
    lab.git("update-ref", "refs/remotes/origin/main", "HEAD")
    with guarding(lab) as back:
        lab.git("tag", "main", "HEAD~1")
        lab.git("tag", "work", "HEAD~1")
        lab.git("branch", "v1", "HEAD~1")
        lab.git("branch", "origin/main", "HEAD~1")
        assert {each.done for each in back().values()} == {"removed"}
        assert lab.git("rev-parse", "--symbolic-full-name", "main", "work", "origin/main").split() == [
            "refs/heads/main", "refs/heads/work", "refs/remotes/origin/main",
        ]  # fmt: skip


def test_what_a_person_fetches_and_stashes_is_not_looked_at(lab: Lab) -> None:
    with guarding(lab) as back:
        for name in ("refs/remotes/origin/x", "refs/stash", "refs/notes/commits"):
            lab.git("update-ref", name, "HEAD")
        lab.git("commit", "-q", "--allow-empty", "-m", "agent's own")
        lab.git("pack-refs", "--all")
        assert back() == {}


def test_commits_that_are_gone_are_said_to_be_gone(lab: Lab) -> None:
    lost = lab.git("commit-tree", lab.git("rev-parse", "HEAD^{tree}"), "-m", "alone")
    lab.git("branch", "lost", lost)
    with guarding(lab) as back:
        lab.git("update-ref", "-d", "refs/heads/lost")
        lab.path(f".git/objects/{lost[:2]}/{lost[2:]}").unlink()
        moved = back()["refs/heads/lost"]
    assert moved.done == "failed" and "could not be put back" in moved.sentence


def test_while_nothing_changes_no_ref_is_opened_and_no_program_started(lab: Lab) -> None:
    with guarding(lab) as back:
        head = lab.git("rev-parse", "HEAD")
        for number in range(300):
            lab.write(f".git/refs/heads/f{number % 3}/x{number}", head + "\n")
        back()
        time.sleep(0.03)
        back()
        opened: list[str] = []
        recording = True

        def hear(event: str, arguments: tuple[object, ...]) -> None:
            if recording and event in ("open", "subprocess.Popen") and "rev-parse" not in str(arguments):
                opened.append(f"{event} {arguments[0]}")

        sys.addaudithook(hear)
        assert back() == {}
        recording = False
    assert [each for each in opened if ".git" in each] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"", []),
        (
            b"# pack-refs with: peeled fully-peeled sorted \n" + b"a" * 40 + b" refs/tags/x\n^" + b"b" * 40 + b"\n",
            ["x"],
        ),
        (b"a" * 64 + b" refs/heads/b\n" + b"a" * 64 + b" refs/remotes/o/b\n", ["b"]),
        (b"a" * 40 + b" refs/heads/b\n" + b"a" * 40 + b" refs/heads/a\n", ["b", "a"]),
    ],
)
def test_packed_refs_are_read_as_git_reads_them(text: bytes, names: list[str]) -> None:
    found = parse_packed_refs(text)
    assert found is not None and [ref.rsplit("/", 1)[1] for ref in found] == names


@pytest.mark.parametrize("text", [b"rubbish\n", b"a" * 39 + b" refs/heads/a\n", b"a" * 40 + b" x\n", b"\n"])
def test_packed_refs_that_git_would_not_read_are_known(text: bytes) -> None:
    assert parse_packed_refs(text) is None


def test_a_repository_with_long_hashes(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "long").init("--object-format=sha256")
    with guarding(lab) as back:
        before = refs(lab)
        deleted(lab)
        assert len(back()) == 4 and refs(lab) == before
