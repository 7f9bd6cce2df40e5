import os
import shutil
import subprocess
from pathlib import Path

import pytest

from aigon.files.folders import IN_MEMORY
from aigon.files.system_errors import ResourceShortage
from aigon.git import objects
from aigon.isolation.clean_room import RoomPlan, open_room
from aigon.isolation.export import RoomTree
from aigon.isolation.mechanisms import can_overlay, find_isolation_flaw
from aigon.job.world import CheckStart, TreeUse
from aigon.process import capacity
from aigon.proof.rooms import RoomTrees
from tests.isolation.test_clean_room import own_git
from tests.lab import Lab

Listing = dict[str, tuple[int, int, str]]


def list_entries(root: Path) -> Listing:
    """Mode, inode and content, or target, of everything below a folder."""
    listing: Listing = {}
    for path in root.rglob("*"):
        state, name = path.lstat(), str(path.relative_to(root))
        content = (
            str(path.readlink()) if path.is_symlink() else path.read_text(errors="replace") if path.is_file() else ""
        )
        listing[name] = (state.st_mode, state.st_ino, content)
    return listing


def test_what_is_written_over_a_tree_is_put_back(tmp_path: Path) -> None:
    root, outside = tmp_path / "tree", tmp_path / "outside"
    for folder in (root / "tests", outside):
        folder.mkdir(parents=True)
    (root / "tests/test_it.py").write_text("assert twice(2) == 4\n")
    (root / "check.sh").write_text("#!/bin/sh\n")
    (root / "check.sh").chmod(0o755)
    (root / "own").mkdir()
    (root / "own/only.py").write_text("of the agent\n")
    (root / "hidden").symlink_to(outside)
    (root / "linked.py").symlink_to(outside / "linked.py")
    before, tree = list_entries(root), RoomTree(root)
    tree.write_over(
        {
            "tests/test_it.py": b"assert twice(2) == 5\n",
            "check.sh": None,
            "hidden/test_secret.py": b"secret\n",
            "hidden/more/gone.py": None,
            "own/only.py": None,
            "own/secret.py": b"secret\n",
            "linked.py": b"own\n",
            "new/deep/run.sh": b"#!/bin/sh\n",
            "never.py": None,
        }
    )
    assert (root / "tests/test_it.py").read_text().endswith("5\n") and not (root / "check.sh").exists()
    assert (root / "hidden/test_secret.py").read_text() == "secret\n" and not (root / "hidden").is_symlink()
    assert (root / "linked.py").read_text() == "own\n" and os.access(root / "new/deep/run.sh", os.X_OK)
    assert list(outside.iterdir()) == [], "a link in the tree is replaced, and never followed"
    tree.put_back()
    assert list_entries(root) == before


def test_rooms_of_one_tree_write_it_once(lab: Lab, tmp_path: Path) -> None:
    if (why := find_isolation_flaw(lab.root, "namespaces")) or not can_overlay(tmp_path):
        pytest.skip(why or "no overlay works on this file system")
    lab.write("tests/test_it.py", "1\n")
    lab.write("other.py", "2\n")
    lab.commit("more")
    first = lab.git("rev-parse", "HEAD^{tree}")
    lab.write("tests/test_it.py", "3\n")
    lab.commit("changed")
    second = lab.git("rev-parse", "HEAD^{tree}")
    git, folder, tree = own_git(lab), lab.home / "state/repos/one/rooms/42", RoomTree(tmp_path / "shared/tree")
    plan, seen = RoomPlan("namespaces", folder, private=True, tree=tree), list[Listing]()
    for name in (first, first, second, first):
        with open_room(git, name, lab.env, plan) as room:
            assert room.exported.fresh == (not seen)
            room.tree.write_over({"tests/test_it.py": b"altered\n"})
            (tmp_path / "check").mkdir(exist_ok=True)
            look = (
                f"cat tests/test_it.py; git log --oneline | wc -l; ls {tree.folder}; echo mine > other.py; rm -r tests"
            )
            uses: tuple[TreeUse, ...] = ("own", "shared")
            for use in uses:
                start = CheckStart("check", tmp_path / "check", tree=use)
                line = room.wrap_command(["sh", "-c", look], Path(), start)
                shown = subprocess.run(line, cwd=room.scratch, env=room.env, capture_output=True, text=True)
                assert shown.stdout == "altered\n1\n" and "No such file" in shown.stderr
                assert ("Read-only" in shown.stderr) == (use == "shared")
            stored = [path for path in (tree.folder / ".git/objects").rglob("*") if path.is_file()]
            assert len(stored) == len({".pack", ".idx", "the commit"}), "nothing of an earlier tree"
        assert not folder.exists()
        seen.append({path: entry for path, entry in list_entries(tree.folder).items() if not path.startswith(".git")})
    assert seen[0] == seen[1] and seen[2]["tests/test_it.py"][2] == "3\n" and seen[3]["tests/test_it.py"][2] == "1\n"
    assert len({listing["other.py"] for listing in seen}) == 1
    with pytest.raises(RuntimeError), open_room(git, first, lab.env, plan):
        raise RuntimeError("a room that breaks leaves nothing for the next one")
    assert not tree.folder.exists()
    with open_room(git, first, lab.env, plan) as room:
        assert room.exported.fresh


def test_exports_are_in_memory_while_they_take_little_of_it(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    git, folder = own_git(lab), lab.home / "rooms/42"
    entries = objects.list_entries(git, lab.git("rev-parse", "HEAD"))
    free = iter((1 << 34, 1 << 14))
    monkeypatch.setattr(capacity, "measure_free_memory", lambda: next(free))
    places = []
    for _ in range(2):
        trees = RoomTrees()
        tree = trees.find(git, folder, entries, stays=True)
        assert tree is not None and trees.find(git, folder, entries, stays=True) is tree
        places.append(tree.folder.parent)
        assert places[-1].is_dir()
        trees.close()
        assert not places[-1].exists()
    assert places[0].is_relative_to(IN_MEMORY) == IN_MEMORY.is_mount() and places[1].is_relative_to(lab.home)


def test_what_cannot_be_written_in_memory_is_on_the_disk(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "full").touch()
    tree = RoomTree(tmp_path / "full/tree", spare=tmp_path / "disk/tree")
    name, folder = lab.git("rev-parse", "HEAD^{tree}"), lab.home / "rooms/42"
    with open_room(own_git(lab), name, lab.env, RoomPlan("none", folder, tree=tree)) as room:
        assert room.root == tree.folder == tmp_path / "disk/tree"
        assert (room.root / "README.md").read_text() == "# sample\n"


def test_a_room_whose_files_were_removed_decides_nothing(lab: Lab, tmp_path: Path) -> None:
    tree, name = RoomTree(tmp_path / "shared/tree"), lab.git("rev-parse", "HEAD^{tree}")
    plan = RoomPlan("none", lab.home / "rooms/42", private=True, tree=tree)
    with (
        pytest.raises(ResourceShortage, match="so nothing was decided"),
        open_room(own_git(lab), name, lab.env, plan) as room,
    ):
        shutil.rmtree(room.root)


def test_an_export_on_the_disk_does_not_outlast_the_next_one(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    git, folder = own_git(lab), lab.home / "rooms/42"
    entries = objects.list_entries(git, lab.git("rev-parse", "HEAD"))
    monkeypatch.setattr(capacity, "measure_free_memory", lambda: 0)
    of_killed = RoomTrees().find(git, folder, entries, stays=True)
    assert of_killed is not None
    (of_killed.folder.parent / "left").touch()
    trees = RoomTrees()
    trees.find(git, folder, entries, stays=True)
    trees.close()
    assert list(folder.parent.iterdir()) == []


def test_no_export_is_left_when_an_agent_works(lab: Lab) -> None:
    git, trees = own_git(lab), RoomTrees()
    tree = trees.find(git, lab.home / "rooms/42", objects.list_entries(git, lab.git("rev-parse", "HEAD")), stays=True)
    assert tree is not None and tree.folder.parent.is_dir()
    trees.before_turn()
    assert not tree.folder.parent.exists() and not trees.trees


def test_a_tree_with_submodules_is_not_shared(lab: Lab) -> None:
    lab.git("update-index", "--add", "--cacheinfo", f"160000,{lab.git('rev-parse', 'HEAD')},sub")
    lab.git("commit", "-q", "-m", "a submodule")
    git = own_git(lab)
    assert (
        RoomTrees().find(
            git, lab.home / "rooms/42", objects.list_entries(git, lab.git("rev-parse", "HEAD")), stays=True
        )
        is None
    )
