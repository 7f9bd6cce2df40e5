"""Loose objects that another git wrote are found, whichever folder they come into and however often one looks."""

import os
import time
from pathlib import Path

from aigon.ports.loose_objects import write_out


def test_a_folder_is_looked_into_again_once_something_came_into_it(tmp_path: Path) -> None:
    seen: dict[str, int] = {}
    for name in ("aa", "bb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_bytes(b"1")
    begun = time.time() - 1
    assert write_out(tmp_path, begun, seen) == 2
    assert write_out(tmp_path, begun, seen) == 2, "of what changed just now nobody knows whether that was all"
    time.sleep(0.03)
    assert write_out(tmp_path, begun, seen) == 2
    assert write_out(tmp_path, begun, seen) == 0
    (tmp_path / "aa" / "two").write_bytes(b"2")
    assert write_out(tmp_path, begun, seen) == 2
    old = time.time() - 100
    os.utime(tmp_path / "bb", (old, old))
    assert write_out(tmp_path, begun, {}) == 2
