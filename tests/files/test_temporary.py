"""Temporary folders: the living keep theirs, those of the killed are gone."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from aigon.files.folders import PREFIX, TemporaryFolder, discard_tree, remove_abandoned, remove_tree

HOLDS = """
import sys
from aigon.files.folders import TemporaryFolder
folder = TemporaryFolder("check")
(folder.path / "large").write_text("x")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_gone_after_its_block_whatever_was_made_of_its_rights(place: Path) -> None:
    with TemporaryFolder("check") as folder:
        assert folder.parent == place and folder.name.startswith(f"{PREFIX}check-")
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "x").touch()
        (folder / "deep").chmod(0)
        (folder / "link").symlink_to(place)
        folder.chmod(0)
    assert not folder.exists() and place.exists()


@pytest.mark.usefixtures("place")
def test_the_folder_of_a_killed_process_goes_and_those_of_the_living_stay() -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout and other.stdin
    theirs = Path(other.stdout.readline().strip())
    with TemporaryFolder("room") as own:
        remove_abandoned()
        assert own.exists() and theirs.exists()
        other.kill()
        other.wait()
        remove_abandoned()
        assert own.exists() and not theirs.exists()
    other.stdout.close()
    other.stdin.close()


def test_only_folders_of_that_name_are_removed_and_links_are_not_followed(place: Path) -> None:
    for name in ("precious", "aigon-demo-x", f"{PREFIX}left"):
        (place / name).mkdir()
    (place / f"{PREFIX}link").symlink_to(place / "precious")
    (place / f"{PREFIX}file").touch()
    remove_abandoned()
    left = {path.name for path in place.iterdir()}
    assert left == {f"{PREFIX}file", f"{PREFIX}link", "aigon-demo-x", "precious"}


def test_a_tree_is_removed_although_nobody_may_write_in_it(tmp_path: Path) -> None:
    for remove in (remove_tree, discard_tree):
        folder = tmp_path / "folder"
        (folder / "in").mkdir(parents=True)
        (folder / "in" / "file").touch()
        (folder / "in").chmod(0o500)
        folder.chmod(0)
        remove(folder)
        assert not folder.exists()
        remove(folder)  # what is not there is no error
