"""The lock on a checkout's index: what a killed aigon left goes, whatever is anybody's stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.git import locks
from aigon.git.locks import MARK, copy_index, lock_index, replace_index

HOLDER = """
import sys, time
from pathlib import Path
from aigon.git.locks import lock_index
with lock_index(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index, and little patience."""
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.2)
    path = tmp_path / "index"
    path.write_text("old")
    return path


def _held(index: Path) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(index)], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"held\n"
    return process


def test_the_lock_of_an_aigon_that_was_killed_is_in_nobodys_way(index: Path) -> None:
    with _held(index) as process:
        process.send_signal(signal.SIGKILL)
    lock = index.with_name("index.lock")
    assert lock.exists()
    with lock_index(index):
        assert lock.exists()
        index.with_name("new").write_text("new")
        replace_index(index, index.with_name("new"))
    assert index.read_text() == "new"
    assert sorted(each.name for each in index.parent.iterdir()) == ["index", "new"]


def test_the_lock_of_an_aigon_that_lives_is_left_to_it(index: Path) -> None:
    with _held(index) as process:
        with pytest.raises(AigonError), lock_index(index):
            pass
        assert index.with_name("index.lock").read_bytes() == MARK
        process.kill()


@pytest.mark.parametrize("content", ["", "somebody", "DIRC"])
def test_the_lock_of_another_git_is_never_removed(index: Path, content: str) -> None:
    lock = index.with_name("index.lock")
    lock.write_text(content)
    with pytest.raises(AigonError), lock_index(index):
        pass
    assert lock.read_text() == content


@pytest.mark.parametrize("how", ["copied", "locked"])
def test_what_changed_in_the_moment_it_was_staged_is_seen_by_a_copy_of_the_index_too(tmp_path: Path, how: str) -> None:
    def git(*arguments: str, index: Path = tmp_path / ".git/index") -> str:
        env = {**os.environ, "GIT_INDEX_FILE": str(index)}
        return subprocess.run(["git", *arguments], cwd=tmp_path, env=env, capture_output=True, text=True).stdout

    git("init", "-q")
    git("config", "core.trustctime", "false")
    file, index, moment = tmp_path / "file", tmp_path / ".git/index", (1_700_000_000,) * 2
    file.write_text("one")
    os.utime(file, moment)
    git("add", "file")
    file.write_text("two")
    os.utime(file, moment)
    os.utime(index, moment)
    if how == "copied":
        assert copy_index(index, tmp_path / "copy", tmp_path)
        assert git("diff-files", "--name-only", index=tmp_path / "copy") == "file\n"
    else:
        with lock_index(tmp_path / "other", index) as lock:
            assert git("diff-files", "--name-only", index=lock) == "file\n"
            lock.unlink()
