"""Files that only show something: whole, and never through a link."""

import os
from pathlib import Path

import pytest

from aigon.files.atomic import write_view


def test_a_view_replaces_whatever_was_there_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    view, precious = tmp_path / "folder" / "VIEW.md", tmp_path / "precious"
    precious.write_text("mine")
    write_view(view, "one\udcff")
    assert view.read_text() == "one?"
    for place in (view, view.with_name(f"{view.name}.{os.getpid()}.tmp")):
        place.unlink(missing_ok=True)
        place.symlink_to(precious)
        write_view(view, "two")
        assert (view.read_text(), view.is_symlink(), precious.read_text()) == ("two", False, "mine")
    assert [path.name for path in view.parent.iterdir()] == ["VIEW.md"]


def test_a_view_that_cannot_be_written_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "VIEW.md").mkdir()
    with pytest.raises(OSError):
        write_view(tmp_path / "VIEW.md", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["VIEW.md"]
