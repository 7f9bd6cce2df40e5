"""A copy of an index is as old as what it is a copy of: git goes by that age where a file kept its size."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from aigon.git.locks import copy_index, lock_index, replace_index
from tests.lab import Lab

SECOND = 1_700_000_000
"""When everything happens: to git, whole seconds are the time of a file."""


def _published(index: Path, new: Path) -> None:
    with lock_index(index, new) as lock:
        lock.rename(index)


def _replaced(index: Path, new: Path) -> None:
    with lock_index(index):
        replace_index(index, new)


def _copied(index: Path, new: Path) -> None:
    copy_index(new, index, index.parent)


@pytest.mark.parametrize("copy", [_copied, _published, _replaced])
def test_a_change_of_the_same_size_in_the_same_second_is_seen_with_a_copied_index(
    lab: Lab, tmp_path: Path, copy: Callable[[Path, Path], None]
) -> None:
    lab.git("config", "core.trustctime", "false")  # the one time that a test cannot set
    file, index = lab.write("file.txt", "Bob\n"), lab.path(".git/index")
    os.utime(file, (SECOND, SECOND))
    lab.git("add", "file.txt")
    os.utime(index, (SECOND, SECOND))
    file.write_text("Ada\n")
    os.utime(file, (SECOND, SECOND))
    other = tmp_path / "index"
    copy(other, index)
    env = {**lab.env, "GIT_INDEX_FILE": str(other)}
    seen = subprocess.run(["git", "diff-files", "--name-only"], cwd=lab.root, env=env, capture_output=True, text=True)
    assert seen.stdout == "file.txt\n"
