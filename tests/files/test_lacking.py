"""What the system and git say when they lack room, in plain words: what, where, what to do."""

import errno
import os
from pathlib import Path

import pytest

from aigon.errors import Exit, explain_error
from aigon.files.system_errors import ERROR_NUMBERS, ResourceShortage, explain_git_error, explain_os_error
from aigon.git.person import name_command


@pytest.mark.parametrize("words", [words for words in ERROR_NUMBERS if words != "Out of diskspace"])
def test_git_words_each_lack_as_the_system_does(words: str) -> None:
    assert os.strerror(ERROR_NUMBERS[words]) == words


@pytest.mark.parametrize("number", sorted(ERROR_NUMBERS.values()))
def test_every_lack_is_said_with_what_to_do_and_without_its_number(number: int, tmp_path: Path) -> None:
    error = explain_os_error(
        "The record cannot be written", OSError(number, os.strerror(number), str(tmp_path / "file"))
    )
    assert isinstance(error, ResourceShortage) and error.code == Exit.ENVIRONMENT
    text = explain_error(error)
    assert str(tmp_path / "file") in text and "--resume" in error.hint
    assert os.strerror(number) not in text and "Errno" not in text


def test_another_error_of_the_system_keeps_its_own_words(tmp_path: Path) -> None:
    error = explain_os_error(
        "The record cannot be written", PermissionError(errno.EACCES, "Permission denied", str(tmp_path))
    )
    assert not isinstance(error, ResourceShortage)
    assert (error.what, error.where) == ("The record cannot be written: Permission denied", str(tmp_path))


def test_a_missing_right_to_write_is_shown_at_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    error = explain_os_error(
        "It cannot be written", PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "a" / "b"))
    )
    assert error.where == str(tmp_path / "a" / "b")
    assert f"`ls -ld {tmp_path}`" in error.hint


def test_an_error_that_names_no_file_is_said_all_the_same() -> None:
    error = explain_os_error("The run cannot go on", OSError(errno.ENOSPC, "No space left on device"))
    assert error.what == "The run cannot go on: no space is left on the disk"


def test_what_git_lacked_is_plain_and_what_else_it_says_is_not_touched(tmp_path: Path) -> None:
    said = "error: unable to write file .git/objects/ab/cd: No space left on device\nfatal: it failed"
    error = explain_git_error("git write-tree failed", said, (tmp_path,))
    assert error and error.what == "git write-tree failed: no space is left on the disk"
    assert error.where == "error: unable to write file .git/objects/ab/cd: No space left on device"
    assert explain_git_error("git write-tree failed", "fatal: bad object", (tmp_path,)) is None


@pytest.mark.parametrize(
    "arguments", [("status",), ("-c", "a.b=c", "status"), ("--no-pager", "-C", "/x", "status", "-z")]
)
def test_a_git_command_is_called_by_its_name_and_not_by_an_option(arguments: tuple[str, ...]) -> None:
    assert name_command(arguments) == "status"
