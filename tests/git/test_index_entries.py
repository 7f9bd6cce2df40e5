"""The entries of an index, read without git: what git says of them, and what git would have written."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from aigon.git.index_entries import IndexEntries, read_entries
from aigon.git.listings import RawChange, parse_raw
from aigon.git.objects import name_object
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from tests.lab import Lab

CONFIGURED = False

pytestmark = pytest.mark.usefixtures("lab_environment")
SECOND = 1_700_000_000


def read(lab: Lab) -> IndexEntries:
    found = read_entries(lab.path(".git/index").read_bytes())
    assert found is not None
    return found


def ask_git(lab: Lab) -> tuple[RawChange, ...]:
    """Return what `git diff-index` says of the index."""
    asked = ["git", "diff-index", "--cached", "--raw", "--no-abbrev", "-z", "--no-renames", "HEAD"]
    return tuple(parse_raw(subprocess.run(asked, cwd=lab.root, env=lab.env, capture_output=True, check=True).stdout))


def change_some(lab: Lab, seed: random.Random) -> None:
    """Add, change, remove and exchange some files, and stage all."""
    for _ in range(seed.choice((1, 2, 30))):
        folder = lab.root / seed.choice(("", "a", "a.b", "a/b", "z\udcff"))
        file = folder / (str(seed.randrange(40)) * seed.choice((1, 1, 60)))
        if any(each.is_file() for each in (folder, *folder.parents) if each != lab.root):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if file.is_dir() and not file.is_symlink():
            continue
        file.unlink(missing_ok=True)
        what = seed.random()
        if what < 0.4:
            file.write_text(str(seed.random()))
            file.chmod(seed.choice((0o644, 0o755)))
        elif what < 0.6:
            file.symlink_to(str(seed.random()))
    lab.git("add", "-A")


@pytest.mark.parametrize("seed", range(4))
def test_an_index_is_compared_as_git_compares_it(lab: Lab, seed: int) -> None:
    drawn = random.Random(seed)
    change_some(lab, drawn)
    for number in range(12):
        lab.git("commit", "-q", "--allow-empty", "-m", str(number))
        before = read(lab)
        change_some(lab, drawn)
        found = before.compare(lab.path(".git/index").read_bytes())
        assert found is not None
        assert set(found[1]) == set(ask_git(lab))
        assert found[0] == read(lab)


def test_a_name_of_any_length_is_read(lab: Lab) -> None:
    before = read(lab)
    blob = lab.git("hash-object", "-w", "README.md")
    deep = "/".join(["n" * 200] * 25)
    for path in ("b", deep, "z"):
        lab.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    found = before.compare(lab.path(".git/index").read_bytes())
    assert found is not None
    assert [change.path for change in found[1]] == ["b", deep, "z"]
    assert found[0] == read(lab)


def set_version(lab: Lab) -> None:
    lab.git("update-index", "--index-version", "4")


def split(lab: Lab) -> None:
    lab.git("update-index", "--split-index")


def add_intent(lab: Lab) -> None:
    lab.write("new.txt", "new\n")
    lab.git("add", "--intent-to-add", "new.txt")


def track_untracked(lab: Lab) -> None:
    lab.git("update-index", "--force-untracked-cache")
    lab.git("status")


def make_sparse(lab: Lab) -> None:
    lab.write("one/a.txt", "a\n")
    lab.write("two/b.txt", "b\n")
    lab.commit("folders")
    lab.git("sparse-checkout", "set", "--sparse-index", "one")


def leave_a_conflict(lab: Lab) -> None:
    blob = lab.git("hash-object", "-w", "README.md")
    sides = "".join(f"100644 {blob} {side}\tboth.txt\n" for side in (1, 2, 3))
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=lab.root, env=lab.env, input=sides, text=True, check=True
    )


@pytest.mark.parametrize("make_odd", [set_version, split, add_intent, track_untracked, make_sparse, leave_a_conflict])
def test_an_index_that_is_not_plain_is_gits_to_read(lab: Lab, make_odd: object) -> None:
    before = read(lab)
    assert callable(make_odd)
    make_odd(lab)
    assert before.compare(lab.path(".git/index").read_bytes()) is None


@pytest.fixture
def work(lab: Lab) -> Iterator[Workspace]:
    """The laboratory's work tree on main, of which an iteration was committed."""
    for name in ("a.txt", "deep/log.md", "deep/er/b.txt", "other/er/b.txt"):
        lab.write(name, "a\n")
    lab.commit("files")
    with Checkout.open(lab.root) as checkout:
        made = Workspace(checkout, lab.home / "own", "main")
        commit(made, lab, b"first\n")
        yield made


def commit(work: Workspace, lab: Lab, log: bytes) -> str:
    """Commit a snapshot and a log."""
    assert work.snapshot() == ()
    old = lab.git("rev-parse", "HEAD")
    new = work.commit({"deep/log.md": log}, old, "c\n")
    work.publish(new, old)
    return new


def forbid(monkeypatch: pytest.MonkeyPatch, work: Workspace, *verbs: str) -> None:
    """Let these commands of git fail."""
    spell = work.trusted._spell

    def checked(arguments: tuple[str, ...]) -> tuple[str, ...]:
        assert arguments[0] not in verbs
        return spell(arguments)

    monkeypatch.setattr(work.trusted, "_spell", checked)


def test_a_log_is_staged_as_git_would_without_starting_it(
    work: Workspace, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("a.txt", "changed\n")
    lab.write("new.txt", "new\n")
    forbid(monkeypatch, work, "update-index", "diff-index", "write-tree")
    made = commit(work, lab, b"second\n")
    assert lab.git("show", f"{made}:deep/log.md") == "second"
    assert lab.git("show", "--format=", "--name-only", made).splitlines() == ["a.txt", "deep/log.md", "new.txt"]
    lab.sound(agrees=True)
    assert lab.git("write-tree") == lab.git("rev-parse", "HEAD^{tree}")
    assert read(lab).compare(lab.path(".git/index").read_bytes()) is not None
    commit(work, lab, b"third\n")
    lab.sound(agrees=True)


def test_an_index_forgets_the_trees_around_a_log_and_no_others(work: Workspace, lab: Lab) -> None:
    for path in lab.git("ls-files").splitlines():  # else git stages them again, as they are as young as the index
        os.utime(lab.path(path), (SECOND, SECOND))
    work.snapshot()
    work.tree()
    commit(work, lab, b"second\n")
    entries = read(lab)
    trees = entries.data[entries.end :]
    assert [trees.count(name + b"\0-1 ") for name in (b"deep", b"other", b"er")] == [1, 0, 0]
    assert lab.git("write-tree") == lab.git("rev-parse", "HEAD^{tree}")


def test_an_index_that_a_kill_has_torn_is_made_anew_when_a_run_begins(work: Workspace, lab: Lab) -> None:
    index = Path(work.trusted.env["GIT_INDEX_FILE"])
    index.write_bytes(index.read_bytes()[:-30])
    with Checkout.open(lab.root) as checkout:
        again = Workspace(checkout, lab.home / "own", "main")
    commit(again, lab, b"second\n")
    lab.sound(agrees=True)


def test_a_change_in_the_second_in_which_the_log_was_staged_is_seen(work: Workspace, lab: Lab) -> None:
    lab.git("config", "core.trustctime", "false")  # the one time that a test cannot set
    work.trusted.settings["core.trustctime"] = "false"
    config = work.trusted.directory / "config"
    config.write_text(config.read_text() + "[core]\n\ttrustctime = false\n")
    file, index = lab.write("a.txt", "Bob\n"), Path(work.trusted.env["GIT_INDEX_FILE"])
    os.utime(file, (SECOND, SECOND))
    assert work.snapshot() == ()
    os.utime(index, (SECOND, SECOND))
    old = lab.git("rev-parse", "HEAD")
    new = work.commit({"deep/log.md": b"log\n"}, old, "c\n")
    work.publish(new, old)
    file.write_text("Ada\n")
    os.utime(file, (SECOND, SECOND))
    assert lab.git("status", "--porcelain") == " M a.txt"
    assert lab.git("show", f"{commit(work, lab, b'more')}:a.txt") == "Ada"


@pytest.mark.parametrize(
    ("attributes", "log", "stored"),
    [
        ("*.md ident\n", b"$Id: x$\n", "$Id$"),
        ("*.md text working-tree-encoding=UTF-16LE\n", "log\n".encode("utf-16-le"), "log"),
        ("*.md text\n", b"one\r\ntwo\n", "one\ntwo"),
        ("*.md text=auto eol=crlf\n", b"one\ntwo\n", "one\ntwo"),
    ],
)
def test_a_log_that_git_converts_is_committed_as_git_has_it(
    work: Workspace, lab: Lab, attributes: str, log: bytes, stored: str
) -> None:
    lab.write("deep/.gitattributes", attributes)
    assert lab.git("show", f"{commit(work, lab, log)}:deep/log.md") == stored
    lab.sound(agrees=True)


def test_a_file_with_another_mode_is_gits_to_stage(work: Workspace, lab: Lab) -> None:
    assert work.snapshot() == ()
    entries, state = read(lab), lab.path("a.txt").stat()
    name = name_object("blob", b"a\n", 40)
    assert entries.replace_blob("a.txt", "100644", name, state, 2) is not None
    for odd in (("a.txt", "100755", 2), ("a.txt", "100644", 3), ("b.txt", "100644", 2), ("zz.txt", "100644", 2)):
        assert entries.replace_blob(odd[0], odd[1], name, state, odd[2]) is None
    lab.path("a.txt").chmod(0o755)
    assert entries.replace_blob("a.txt", "100644", name, lab.path("a.txt").stat(), 2) is None
