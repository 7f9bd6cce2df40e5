"""Snapshot, commit, publish, park: what goes in is exactly what stood there, and nothing is lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aigon.errors import AigonError, Exit
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.model.changes import FileChange
from tests.lab import Lab

CONFIGURED = False

pytestmark = pytest.mark.usefixtures("lab_environment")


@pytest.fixture
def work(lab: Lab) -> Iterator[Workspace]:
    """The laboratory's work tree on main, with three files."""
    lab.write("a.txt", "a\n")
    lab.write("deep/b.txt", "b\n")
    lab.commit("files")
    with Checkout.open(lab.root) as checkout:
        yield Workspace(checkout, lab.home / "own", "main")


def head(lab: Lab) -> str:
    """The commit of HEAD."""
    return lab.git("rev-parse", "HEAD")


def checkpoint(work: Workspace, lab: Lab, message: str = "checkpoint\n") -> str:
    """Snapshot, commit, publish."""
    assert work.snapshot() == ()
    old = head(lab)
    commit = work.commit({}, old, message)
    work.publish(commit, old)
    return commit


def test_a_checkpoint_is_exactly_the_work_tree_and_the_index_agrees(work: Workspace, lab: Lab) -> None:
    lab.write("a.txt", "changed\n")
    lab.write("new.txt", "new\n", executable=True)
    lab.path("deep/b.txt").unlink()
    commit = checkpoint(work, lab, "subject\n\nbody\n")
    assert lab.git("log", "-1", "--format=%H %an %s") == f"{commit} Ada subject"
    assert lab.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["README.md", "a.txt", "new.txt"]
    lab.sound()


def test_files_of_aigons_own_go_in_with_the_snapshot(work: Workspace, lab: Lab) -> None:
    lab.write("a.txt", "changed\n")
    work.snapshot()
    commit = work.commit({"log/x.md": b"own\n"}, head(lab), "c\n")
    lab.write("a.txt", "changed after the snapshot\n")
    work.publish(commit, head(lab))
    assert lab.git("show", f"{commit}:log/x.md") == "own"
    assert lab.git("show", f"{commit}:a.txt") == "changed"
    assert lab.git("status", "--porcelain") == " M a.txt"


def test_changes_name_files_and_lines(work: Workspace, lab: Lab) -> None:
    since = head(lab)
    lab.write("a.txt", "a\nb\nc\n")
    lab.write("bin", b"\0\1")
    lab.path("deep/b.txt").unlink()
    lab.write("new\nline", "x\n")
    work.snapshot()
    assert set(work.changes(since)) == {
        FileChange("a.txt", 2, 0),
        FileChange("bin", -1, -1),
        FileChange("deep/b.txt", 0, 1),
        FileChange("new\nline", 1, 0),
    }


def test_equal_content_has_equal_keys_whatever_the_history(work: Workspace, lab: Lab) -> None:
    base = head(lab)
    lab.write("a.txt", "x\n")
    work.snapshot()
    first = work.content(base, frozenset()).key()
    lab.write("a.txt", "y\n")
    checkpoint(work, lab)
    second = work.content(base, frozenset()).key()
    lab.write("a.txt", "x\n")
    work.snapshot()
    assert work.content(base, frozenset()).key() == first != second
    lab.path("a.txt").chmod(0o755)
    work.snapshot()
    assert work.content(base, frozenset()).key() != first


def test_content_leaves_out_aigons_own_files_and_can_be_asked_for_a_part(work: Workspace, lab: Lab) -> None:
    base = head(lab)
    work.snapshot()
    nothing = work.content(base, frozenset())
    lab.write("spec.md", "ticked\n")
    lab.write("deep/b.txt", "changed\n")
    lab.write("deeper.txt", "changed\n")
    work.snapshot()
    content = work.content(base, frozenset({"spec.md"}))
    assert set(content.entries) == {"deep/b.txt", "deeper.txt"}
    assert content.key(("other/",)) == nothing.key()
    assert content.key(("deep",)) == content.key(("deep/",)) != content.key(("deeper.txt",))


class _RacedWorkspace(Workspace):
    """Another thread stores `theirs`, its comparison with another commit, once this one has read its own so often."""

    def watch(self, theirs: object, reads: int) -> None:
        self._theirs, self._reads = theirs, reads

    @property
    def _compared(self) -> Any:
        found = self.__dict__.get("_last")
        self._reads = self.__dict__.get("_reads", 0) - 1
        if not self._reads:
            self.__dict__["_last"] = self._theirs
        return found

    @_compared.setter
    def _compared(self, value: Any) -> None:
        self.__dict__["_last"] = value


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_what_another_thread_compares_with_another_commit_is_no_answer(lab: Lab, reads: int) -> None:
    lab.write("a.txt", "a\n")
    base = lab.commit("files")
    with Checkout.open(lab.root) as checkout:
        work = _RacedWorkspace(checkout, lab.home / "own", "main")
        lab.write("a.txt", "x\n")
        latest = checkpoint(work, lab)
        work.snapshot()
        assert work.changes(latest) == ()
        theirs = work._compared

        for ask in (lambda: work.content(base, frozenset()).entries, lambda: work.changes(base)):
            assert len(work.changes(base)) == 1
            work.watch(theirs, reads)
            assert len(ask()) == 1


def test_names_that_are_not_text_are_kept_apart(work: Workspace, lab: Lab) -> None:
    base = head(lab)
    keys = set()
    for name in (b"\xe9", b"\xe8", "\ufffd".encode()):
        file = lab.root / name.decode(errors="surrogateescape")
        file.touch()
        work.snapshot()
        keys.add(work.content(base, frozenset()).key())
        file.unlink()
    assert len(keys) == 3


def test_a_branch_that_moved_keeps_both_commits(work: Workspace, lab: Lab) -> None:
    old = head(lab)
    lab.write("a.txt", "aigon's\n")
    work.snapshot()
    ours = work.commit({}, old, "ours\n")
    lab.git("commit", "-q", "--allow-empty", "-m", "theirs")
    theirs = head(lab)
    index = lab.path(".git/index").read_bytes()
    with pytest.raises(AigonError) as caught:
        work.publish(ours, old)
    assert caught.value.code == Exit.ENVIRONMENT
    assert "main moved" in caught.value.what
    assert head(lab) == theirs
    kept = lab.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/aigon/parked").split()
    assert kept[0] == ours and kept[1] in caught.value.what
    assert lab.path(".git/index").read_bytes() == index
    assert not lab.path(".git/index.lock").exists()
    assert lab.read("a.txt") == "aigon's\n"


def test_a_name_that_is_taken_is_numbered_and_never_overwritten(work: Workspace, lab: Lab) -> None:
    first, second = head(lab), lab.commit("second")
    refs = [work.keep("feature-42/x", commit) for commit in (first, second, first)]
    assert refs == [f"refs/aigon/parked/feature-42/x{suffix}" for suffix in ("", "-2", "-3")]
    assert [lab.git("rev-parse", ref) for ref in refs] == [first, second, first]


def test_work_that_cannot_be_parked_is_an_error(work: Workspace, lab: Lab) -> None:
    with pytest.raises(AigonError) as caught:
        work.keep("a..b", head(lab))
    assert caught.value.what == "Work could not be saved aside"


def test_a_restore_puts_the_work_tree_back_and_leaves_ignored_files(work: Workspace, lab: Lab) -> None:
    lab.write(".gitignore", "*.log\n")
    tip = lab.commit("ignore")
    work.take_over_index()
    lab.write("a.txt", "half\n")
    lab.write("half/new.txt", "half\n")
    lab.write("keep.log", "")
    lab.path("deep/b.txt").unlink()
    work.snapshot()
    work.restore(tip)
    assert (lab.read("a.txt"), lab.read("deep/b.txt")) == ("a\n", "b\n")
    assert not lab.path("half").exists()
    assert lab.path("keep.log").exists()
    lab.sound()


def test_head_is_put_back_on_the_branch_and_the_files_stay(work: Workspace, lab: Lab) -> None:
    lab.write("a.txt", "edited\n")
    for spoil in ("ref: refs/heads/other\n", head(lab) + "\n", "garbage", None):
        if spoil is None:
            lab.path(".git/HEAD").unlink()
        else:
            lab.path(".git/HEAD").write_text(spoil)
        assert not work.on_branch()
        work.back_on_branch()
        assert work.on_branch()
        assert lab.git("status", "--porcelain") == " M a.txt"


def test_the_tip_is_found_loose_and_packed_and_missing(work: Workspace, lab: Lab) -> None:
    tip = head(lab)
    assert work.tip() == tip
    lab.git("pack-refs", "--all")
    assert not lab.path(".git/refs/heads/main").exists()
    assert work.tip() == tip
    lab.git("update-ref", "-d", "refs/heads/main")
    assert work.tip() is None


def test_a_file_that_stands_in_the_way_gives_way_and_is_kept(work: Workspace, lab: Lab) -> None:
    outside = lab.home / "outside"
    outside.mkdir()
    lab.path("link").symlink_to(outside)
    lab.write("file", "x\n")
    lab.write("folder/inside", "x\n")
    lab.path("pointer").symlink_to(lab.home / "outside.txt")
    for name in ("link/deep/own.md", "file/own.md", "folder", "pointer"):
        work.write(name, b"own\n")
        assert lab.path(name).read_bytes() == b"own\n"
        assert not lab.path(name).is_symlink()
    assert list(outside.iterdir()) == []
    assert not (lab.home / "outside.txt").exists()
    kept = {path.name.partition("-")[2] for path in lab.path(".git/aigon/displaced").iterdir()}
    assert kept == {"link", "file", "folder", "pointer"}
    work.write("folder", None)
    work.write("folder", None)
    assert not lab.path("folder").exists()


def test_a_nested_repository_is_a_complaint_at_every_look(work: Workspace, lab: Lab) -> None:
    nested = lab.path("nested")
    subprocess.run(["git", "init", "-q", str(nested)], check=True, env=lab.env)
    (nested / "f").write_text("x\n")
    lab.git("-C", "nested", "add", "f")
    lab.git("-C", "nested", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "x")
    for _ in range(2):
        assert [complaint.split()[0] for complaint in work.snapshot()] == ["nested"]
        assert "nested" not in {change.path for change in work.changes(head(lab))}
    subprocess.run(["rm", "-rf", str(nested / ".git")], check=True)
    assert work.snapshot() == ()
    assert {change.path for change in work.changes(head(lab))} == {"nested/f"}


def test_what_was_written_after_the_snapshot_is_named(work: Workspace, lab: Lab) -> None:
    lab.write("before.txt", "")
    work.snapshot()
    assert work.left_over() == ((), ())
    lab.write("cache/x", "")
    lab.write("a.txt", "changed\n")
    assert work.left_over() == (("a.txt",), ("cache/",))
    lab.path("a.txt").unlink()
    assert work.left_over() == (("a.txt",), ("cache/",))


def test_a_file_of_a_commit_comes_as_it_is_checked_out(work: Workspace, lab: Lab) -> None:
    assert work.file_at(head(lab), "missing", lab.root) is None
    assert work.file_at(head(lab), "a.txt", lab.root) == b"a\n"
    lab.write("a.txt", "tampered\n")
    assert work.file_at(head(lab), "a.txt", lab.root) == b"a\n"
    lab.path("a.txt").unlink()
    assert work.file_at(head(lab), "a.txt", lab.root) == b"a\n"


def test_an_index_that_is_held_for_a_moment_is_waited_for(work: Workspace, lab: Lab) -> None:
    lab.write("a.txt", "changed\n")
    work.snapshot()
    commit = work.commit({}, head(lab), "c\n")
    lock = lab.path(".git/index.lock")
    lock.touch()
    program = "import sys, time, pathlib; time.sleep(0.4); pathlib.Path(sys.argv[1]).unlink()"
    other = subprocess.Popen([sys.executable, "-c", program, str(lock)])
    work.publish(commit, head(lab))
    assert other.wait(10) == 0
    lab.sound()


def test_history_is_what_came_since_the_base(work: Workspace, lab: Lab) -> None:
    base = head(lab)
    commits = [lab.commit(f"number {n}") for n in range(3)]
    assert work.history(base) == [(commit, f"number {n}") for n, commit in [*enumerate(commits)][::-1]]
    assert work.is_ancestor(base, commits[-1]) and not work.is_ancestor(commits[-1], base)


def test_a_subject_with_odd_bytes_does_not_end_the_history(work: Workspace, lab: Lab) -> None:
    base = head(lab)
    message = Path(lab.home / "message")
    message.write_bytes(b"caf\xe9 \x1b[31m\n")
    lab.git("commit", "-q", "--allow-empty", "-F", str(message))
    assert len(work.history(base)) == 1


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_that_git_was_told_to_overlook_is_in_the_snapshot(work: Workspace, lab: Lab, bit: str) -> None:
    lab.git("update-index", bit, "a.txt", "deep/b.txt")
    lab.write("a.txt", "changed\n")
    work.take_over_index()
    checkpoint(work, lab)
    assert lab.git("show", "HEAD:a.txt") == "changed"
    assert lab.git("show", "HEAD:deep/b.txt") == "b"
    lab.sound()


def displaced(lab: Lab) -> dict[str, Path]:
    """What was moved into git's own folder, by its name."""
    return {path.name.partition("-")[2]: path for path in lab.path(".git/aigon/displaced").iterdir()}


def test_what_no_commit_holds_is_moved_away_before_a_restore(work: Workspace, lab: Lab) -> None:
    lab.write(".gitignore", "hidden*\n/taken\n")
    for name in ("hidden-folder", "hidden-file", "taken/inside", "nested", "replaced"):
        lab.write(name, "tracked\n")
        lab.git("add", "-f", name)
    tip = lab.commit("files")
    for name in ("hidden-folder", "nested", "replaced"):
        lab.path(name).unlink()
    lab.write("hidden-folder/notes", "notes\n")
    lab.write("replaced/in-the-snapshot", "it is parked\n")
    lab.git("rm", "-q", "--cached", "hidden-file")
    lab.write("hidden-file", "edited\n")
    lab.path("taken/inside").unlink()
    lab.path("taken").rmdir()
    lab.write("hidden-other", "stays\n")
    lab.path("taken").symlink_to(lab.home)
    subprocess.run(["git", "init", "-q", "nested"], cwd=lab.root, check=True, env=lab.env)
    lab.write("nested/work", "work\n")
    work.take_over_index()
    work.snapshot()
    moved = work.restore(tip)
    for name in ("hidden-folder", "hidden-file", "nested", "replaced", "taken/inside"):
        assert lab.read(name) == "tracked\n", name
    assert not lab.path("taken").is_symlink()
    found = displaced(lab)
    assert sorted(found.values()) == sorted(moved)
    assert (found["hidden-folder"] / "notes").read_text() == "notes\n"
    assert (found["nested"] / "work").read_text() == "work\n"
    assert found["hidden-file"].read_text() == "edited\n"
    assert "replaced" not in found
    assert lab.read("hidden-other") == "stays\n"
    assert list(lab.home.glob("inside")) == []


def test_a_file_that_git_could_not_read_is_moved_away_before_a_restore(work: Workspace, lab: Lab) -> None:
    lab.write("a.txt", "edited, then closed\n")
    lab.path("a.txt").chmod(0)
    if os.access(lab.path("a.txt"), os.R_OK):
        pytest.skip("this user may read everything")
    assert work.snapshot() != ()
    (moved,) = work.restore(head(lab))
    assert lab.read("a.txt") == "a\n"
    moved.chmod(0o600)
    assert moved.read_text() == "edited, then closed\n"
    lab.sound()


def test_a_submodule_is_nobodys_obstacle(work: Workspace, lab: Lab) -> None:
    subprocess.run(["git", "clone", "-q", ".", str(lab.home / "other")], cwd=lab.root, check=True, env=lab.env)
    lab.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(lab.home / "other"), "sub")
    tip = lab.commit("a submodule")
    lab.git("rm", "-q", "--cached", "sub")
    lab.write("sub/untracked", "")
    work.take_over_index()
    work.snapshot()
    assert work.restore(tip) == ()
    assert lab.path("sub/untracked").exists() and lab.path("sub/a.txt").exists()


def test_a_file_of_aigons_own_is_replaced_whole_and_keeps_its_mode(work: Workspace, lab: Lab) -> None:
    lab.write("a.txt", "old\n", executable=True)
    with lab.path("a.txt").open() as reader:
        work.write("a.txt", b"new\n")
        assert reader.read() == "old\n", "who is reading sees the old file to its end"
    assert lab.read("a.txt") == "new\n"
    assert lab.path("a.txt").stat().st_mode & 0o777 == 0o755
    assert list(lab.path(".git/aigon").iterdir()) == []


def test_a_branch_that_git_could_not_move_is_not_said_to_have_moved(work: Workspace, lab: Lab) -> None:
    old = head(lab)
    lab.write("a.txt", "changed\n")
    work.snapshot()
    commit = work.commit({}, old, "c\n")
    lab.write(".git/refs/heads/main.lock", "")
    with pytest.raises(AigonError) as caught:
        work.publish(commit, old)
    assert caught.value.code == Exit.ENVIRONMENT
    assert "could not move the branch main" in caught.value.what
    assert "main.lock" in caught.value.where and ".lock" in caught.value.hint
    assert head(lab) == old and not lab.path(".git/index.lock").exists()
    lab.path(".git/refs/heads/main.lock").unlink()
    work.publish(commit, old)
    lab.sound()
