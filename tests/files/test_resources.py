"""What ships with aigon is found, from wherever it is installed."""

from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.files.resources import find_resource, read_profiles
from tests.projects import files


def test_what_ships_is_found() -> None:
    assert find_resource("profiles", "generic.yaml").is_file()
    assert find_resource("templates").is_dir()


def test_what_is_missing_says_that_the_installation_is_damaged() -> None:
    with pytest.raises(AigonError, match="is missing from aigon") as caught:
        find_resource("profiles", "none.yaml")
    assert caught.value.code is Exit.INTERNAL
    assert "reinstall" in caught.value.hint


def test_documents_are_named_by_their_path_without_suffix(tmp_path: Path) -> None:
    files(tmp_path, {"web.yaml": "a", "ecosystems/go.yml": "b", "notes.md": "c"})
    assert read_profiles(tmp_path) == {"web": b"a", "ecosystems/go": b"b"}


def test_a_folder_that_is_not_there_holds_no_profiles(tmp_path: Path) -> None:
    assert read_profiles(tmp_path / "none") == {}
