"""Files that only show something: whole, and never through a link."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from aigon.files import atomic
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


@pytest.mark.parametrize("is_there", [True, False], ids=["a folder", "a missing folder"])
def test_nothing_is_written_where_a_link_leads_that_replaced_a_pinned_folder(tmp_path: Path, is_there: bool) -> None:
    runs, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    (runs / "one").mkdir(parents=True)
    elsewhere.mkdir()
    if is_there:
        (elsewhere / "one").mkdir()
    atomic.pin_folder(runs / "one")
    runs.rename(tmp_path / "aside")
    runs.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(OSError, match="a link leads out of it"):
        atomic.write_view(runs / "one" / "STATE.json", "text")
    assert sorted(elsewhere.rglob("*")) == before
    runs.unlink()
    atomic.write_view(runs / "one" / "STATE.json", "text")
    assert (runs / "one" / "STATE.json").read_text() == "text"


def test_a_file_is_replaced_through_no_link_that_has_the_temporary_name(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("mine")
    (tmp_path / f"state.json.{os.getpid()}.tmp").symlink_to(theirs)
    with suppress(OSError):
        atomic.write_atomic(tmp_path / "state.json", b"data")
    assert theirs.read_text() == "mine"
