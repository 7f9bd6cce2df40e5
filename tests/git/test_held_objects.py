"""Objects that are deleted are put back from their second names, and what a person's git packs is let go."""

import os
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from aigon.git import held_objects
from aigon.git.held_objects import HeldObjects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("lab_environment")


@pytest.fixture
def held(lab: Lab) -> Iterator[HeldObjects]:
    """The objects of a repository with loose and packed ones."""
    lab.git("gc", "-q")
    lab.write("new.txt", "new")
    lab.commit("loose")
    with Checkout.open(lab.root) as checkout:
        made = HeldObjects(TrustedGit(checkout, lab.home / "own"), lab.home / "held")
        assert made.hold(()) == ()
        yield made


@pytest.mark.parametrize("harm", ["objects/??", "objects/pack/*", "objects"])
def test_what_is_deleted_is_put_back_and_said(lab: Lab, held: HeldObjects, harm: str) -> None:
    for path in lab.path(".git").glob(harm):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (said,) = held.hold(())
    assert said.endswith("were deleted; they were put back")
    lab.git("fsck", "--full", "--strict")
    assert held.hold(()) == ()


def test_commits_that_no_ref_names_any_more_are_put_back_too(lab: Lab, held: HeldObjects) -> None:
    tip = lab.git("rev-parse", "HEAD")
    lab.git("update-ref", "refs/heads/main", "HEAD~1")
    lab.path(f".git/objects/{tip[:2]}/{tip[2:]}").unlink()
    assert len(held.hold((tip,))) == 1
    assert lab.git("cat-file", "-t", tip) == "commit"


def test_what_a_person_packs_is_let_go_and_new_commits_are_held(lab: Lab, held: HeldObjects) -> None:
    lab.git("gc", "-q", "--prune=now")
    assert held.hold(()) == ()
    assert not [path for path in held.folder.rglob("*") if path.is_file() and path.parent.name != "pack"]
    lab.commit("later")
    assert held.hold(()) == ()
    tip = lab.git("rev-parse", "HEAD")
    assert (held.folder / tip[:2] / tip[2:]).is_file()


def overwrite(file: Path, data: bytes) -> None:
    """Write into a file in place, and give it the times that it had."""
    state = file.stat()
    file.chmod(0o644)
    with file.open("r+b") as opened:
        opened.write(data)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_a_forged_commit_graph_is_removed_and_a_true_one_stays(lab: Lab, held: HeldObjects) -> None:
    graph = lab.path(".git/objects/info/commit-graph")
    lab.git("commit-graph", "write", "--reachable")
    assert held.hold(()) == () and graph.exists()
    data = bytearray(graph.read_bytes())
    data[-60] ^= 1
    graph.chmod(0o644)
    graph.write_bytes(data)
    (said,) = held.hold(())
    assert said.startswith("git's commit-graph was damaged") and not graph.exists()
    lab.git("fsck", "--full", "--strict")


@pytest.mark.parametrize("harm", ["objects/??/*", "objects/pack/*"])
def test_what_is_overwritten_in_place_is_put_back_and_said(lab: Lab, held: HeldObjects, harm: str) -> None:
    for path in lab.path(".git").glob(harm):
        overwrite(path, b"forged")
    (said,) = held.hold(())
    assert said.endswith("were overwritten; they were put back")
    lab.git("fsck", "--full", "--strict")
    assert held.hold(()) == ()


def write_objects(lab: Lab, count: int) -> list[Path]:
    """Add loose objects to the repository, and return their files."""
    folder = lab.home / f"objects-{count}"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}").write_text(f"{count}-{number}\n")
    names = lab.git("hash-object", "-w", *map(str, folder.iterdir())).split()
    return [lab.path(f".git/objects/{name[:2]}/{name[2:]}") for name in names]


def test_an_old_object_that_was_overwritten_is_found_within_a_few_looks(lab: Lab, held: HeldObjects) -> None:
    (old,) = write_objects(lab, 1)
    assert held.hold(()) == ()
    count = len(write_objects(lab, 3 * (held_objects.NEWEST + held_objects.OLDER)))
    assert held.hold(()) == ()
    overwrite(old, b"forged")
    said = [sentence for _ in range(count // held_objects.OLDER + 1) for sentence in held.hold(())]
    assert len(said) == 1 and said[0].endswith("were overwritten; they were put back")
    lab.git("fsck", "--full", "--strict")


def test_a_whole_look_finds_whatever_was_overwritten(lab: Lab, held: HeldObjects) -> None:
    files = write_objects(lab, 3 * (held_objects.NEWEST + held_objects.OLDER))
    assert held.hold(()) == ()
    for file in files:
        overwrite(file, b"forged")
    (said,) = held.hold((), whole=True)
    assert said.startswith(f"{len(files)} files")
    lab.git("fsck", "--full", "--strict")


def test_each_look_compares_as_many_objects_whatever_came_before(
    lab: Lab, held: HeldObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_looks(objects: int) -> int:
        write_objects(lab, objects)
        held.hold(())
        with monkeypatch.context() as patched:
            look = Mock(side_effect=os.lstat)
            patched.setattr(os, "lstat", look)
            held.hold(())
        return look.call_count

    few = count_looks(held_objects.NEWEST + held_objects.OLDER)
    assert few == count_looks(300) == count_looks(301)


def test_what_was_overwritten_in_a_turn_that_was_killed_is_found_by_the_next_aigon(lab: Lab, held: HeldObjects) -> None:
    for path in lab.path(".git").glob("objects/??/*"):
        path.chmod(0o644)
        path.write_bytes(b"forged")
    (said,) = HeldObjects(held.git, held.folder).hold(())
    assert said.endswith("were overwritten; they were put back")
    lab.git("fsck", "--full", "--strict")


def test_a_copy_that_was_overwritten_too_is_said_and_never_put_in_place(lab: Lab, held: HeldObjects) -> None:
    loose = next(lab.path(".git").glob("objects/??/*"))
    name = loose.relative_to(lab.path(".git/objects"))
    overwrite(loose, b"one")
    overwrite(held.folder / name, b"two")
    (said,) = held.hold(())
    assert "their copies are damaged" in said and loose.read_bytes().startswith(b"one")


def test_more_than_can_be_copied_gets_a_second_name(
    lab: Lab, held: HeldObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_objects, "MOST_COPIES", 0)
    other = HeldObjects(held.git, lab.home / "other")
    other.hold(())
    files = [path for path in other.folder.rglob("*") if path.is_file()]
    assert files and all(path.stat().st_nlink > 1 for path in files)
    shutil.rmtree(lab.path(".git/objects"))
    assert len(other.hold(())) == 1
    lab.git("fsck", "--full", "--strict")


def test_what_comes_after_many_copies_is_copied_all_the_same(
    lab: Lab, held: HeldObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_objects, "MOST_COPIES", 0)
    (new,) = write_objects(lab, 1)
    assert held.hold(()) == ()
    overwrite(new, b"forged")
    (said,) = held.hold(())
    assert said.endswith("were overwritten; they were put back")
    lab.git("fsck", "--full", "--strict")


def test_a_small_object_that_unpacks_to_much_takes_no_memory(lab: Lab, held: HeldObjects) -> None:
    lab.write("zeros.bin", bytes(64 << 20))
    lab.commit("zeros")
    tracemalloc.start()
    try:
        assert held.hold(()) == ()
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
