"""Loose objects that another git wrote are found, whichever folder they come into and however often one looks."""

import os
import shutil
import time
from pathlib import Path

from aigon.git.branch_ref import _list_fresh, flush_loose_objects

CONFIGURED = False


def _change(objects: Path, at: float) -> None:
    """Date the last change of each folder: with the clock alone, a busy machine would decide how long ago it was."""
    for folder in objects.iterdir():
        os.utime(folder, (at, at))


def test_a_folder_is_looked_into_again_once_something_came_into_it(tmp_path: Path) -> None:
    seen: dict[str, int] = {}
    for name in ("aa", "bb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_bytes(b"1")
    begun = time.time() - 1
    _change(tmp_path, time.time() + 60)
    assert len(flush_loose_objects(tmp_path, begun, seen)) == 2
    assert len(flush_loose_objects(tmp_path, begun, seen)) == 2, "more may come in the same tick"
    _change(tmp_path, time.time() - 0.5)
    assert len(flush_loose_objects(tmp_path, begun, seen)) == 2
    assert len(flush_loose_objects(tmp_path, begun, seen)) == 0
    (tmp_path / "aa" / "two").write_bytes(b"2")
    assert len(flush_loose_objects(tmp_path, begun, seen)) == 2
    old = time.time() - 100
    os.utime(tmp_path / "bb", (old, old))
    assert len(flush_loose_objects(tmp_path, begun, {})) == 2


def test_what_a_persons_git_packs_meanwhile_is_no_error(tmp_path: Path) -> None:
    for number in range(256):
        (tmp_path / f"{number:02x}").mkdir()
        (tmp_path / f"{number:02x}" / "one").write_bytes(b"1")
    found = _list_fresh(tmp_path, (time.time() - 10) * 1e9, {})
    next(found)
    shutil.rmtree(tmp_path)
    assert len(list(found)) <= 1
