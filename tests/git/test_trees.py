"""Trees and refs that aigon writes itself are what git would have written, and git does what aigon leaves to it."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.git.branch_ref import replace_ref
from aigon.git.listings import parse_raw
from aigon.git.objects import TreeWriter, write_object
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.git.workspace import Workspace
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("lab_environment")

STEPS = (
    (
        "echo 1 > a; mkdir -p d/e; echo 2 > d/e/f; echo 3 > d.c; echo 4 > d-c; echo > ü",
        "a name before a folder",
    ),
    ("rm a; mkdir a; echo 5 > a/b; chmod +x d.c; ln -s d link", "a folder instead of a file"),
    ("rm -r d; echo 6 > d; echo 7 >> a/b", "a file instead of a folder"),
    ("rm -r a d; mkdir -p \"$(printf 'x\\ny')/z\"; echo 8 > \"$(printf 'x\\ny')/z/w\"", "a line break in a name"),
    ("mkdir d; echo 9 > d/n; echo 10 >> \"$(printf 'x\\ny')/z/w\"", "what was gone comes back"),
)


@pytest.mark.parametrize("is_kept", [True, False], ids=["one writer", "a writer each"])
@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_changed_tree_is_the_one_that_git_writes(tmp_path: Path, kind: str, is_kept: bool) -> None:
    lab = Lab(tmp_path).init(f"--object-format={kind}")
    with Checkout.open(lab.root) as checkout:
        git = TrustedGit(checkout, lab.home / "own")
        writer = TreeWriter(git)
        for script, what in STEPS:
            old = lab.git("rev-parse", "HEAD")
            subprocess.run(["bash", "-ec", script], cwd=lab.root, env=lab.env, check=True)
            new = lab.commit(what)
            changes = parse_raw(git.run("diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", old, new))
            wanted = {c.path: None if c.status == "D" else (c.modes[1], c.objects[1]) for c in changes}
            assert writer.write(old, {}) == lab.git("rev-parse", f"{old}^{{tree}}")
            writer.of = old
            assert writer.write(old, wanted) == lab.git("rev-parse", "HEAD^{tree}"), what
            writer.of = new
            if not is_kept:
                writer = TreeWriter(git)
    lab.git("fsck", "--full", "--strict")


def test_a_branch_that_is_a_plain_file_with_a_log_moves_without_git(lab: Lab) -> None:
    old, new = lab.git("rev-parse", "HEAD"), lab.commit("new")
    branch = lab.path(".git/refs/heads/main")
    with Checkout.open(lab.root) as checkout:
        git = TrustedGit(checkout, lab.home / "own")
        assert replace_ref(git, "refs/heads/main", old, new)
        assert branch.read_text() == f"{old}\n" and not branch.with_name("main.lock").exists()
        assert lab.git("log", "-g", "-1", "--format=%H %gs", "main") == f"{old} aigon"
        assert not replace_ref(git, "refs/heads/main", new, new)
        branch.with_name("main.lock").touch()
        assert not replace_ref(git, "refs/heads/main", new, old)
        branch.with_name("main.lock").unlink()
        lab.git("pack-refs", "--all")
        assert not replace_ref(git, "refs/heads/main", new, old)
        branch.with_name("other").symlink_to("main")
        assert not replace_ref(git, "refs/heads/other", new)
    assert [path.name for path in branch.parent.iterdir()] == ["other"]


def test_a_folder_whose_tree_is_lost_is_refused_and_never_taken_for_an_empty_one(lab: Lab) -> None:
    lab.write("d/a", "1")
    lab.write("d/b", "2")
    tip = lab.commit("two")
    tree, blob = lab.git("rev-parse", "HEAD:d", "HEAD:d/a").splitlines()
    lab.path(f".git/objects/{tree[:2]}/{tree[2:]}").unlink()
    with Checkout.open(lab.root) as checkout, pytest.raises(AigonError, match="A tree could not be read"):
        TreeWriter(TrustedGit(checkout, lab.home / "own")).write(tip, {"d/c": ("100644", blob)})


def test_a_commit_never_names_an_object_that_was_deleted_after_it_was_staged(lab: Lab) -> None:
    with Checkout.open(lab.root) as checkout:
        work = Workspace(checkout, lab.home / "own", "main")
    lab.write("new.txt", "new")
    work.snapshot()
    blob = lab.git("hash-object", "new.txt")
    lab.path(f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    with pytest.raises(AigonError, match="write-tree"):
        work.commit({}, str(work.tip()), "more\n")


def test_a_ref_that_keeps_objects_is_never_a_new_file_that_a_power_cut_leaves_empty(lab: Lab) -> None:
    old, new = lab.git("rev-parse", "HEAD"), lab.commit("new")
    lab.git("update-ref", "refs/aigon/runs/main", old)
    ref = lab.path(".git/refs/aigon/runs/main")
    with Checkout.open(lab.root) as checkout, ref.open("rb") as written_out:
        assert replace_ref(TrustedGit(checkout, lab.home / "own"), "refs/aigon/runs/main", new)
        assert written_out.read() == ref.read_bytes() == f"{new}\n".encode()
    assert [path.name for path in ref.parent.iterdir()] == ["main"]


def test_an_object_for_which_there_is_no_room_is_not_there(lab: Lab) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Checkout.open(lab.root) as checkout:
        git = TrustedGit(checkout, lab.home / "own")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # as on a disk with one block: the rest is not written
        try:
            with pytest.raises(AigonError, match="A blob could not be written: a file may not be as large"):
                write_object(git, "blob", os.urandom(10_000), 40)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    lab.git("fsck", "--full", "--strict")
