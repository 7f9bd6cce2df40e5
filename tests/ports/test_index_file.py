"""The lock on a checkout's index: what a killed aigon left goes, whatever is anybody's stays."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.core.errors import AigonError
from aigon.ports import index_file
from aigon.ports.index_file import MARK, locked, replace

HOLDER = """
import sys, time
from pathlib import Path
from aigon.ports.index_file import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index, and little patience."""
    monkeypatch.setattr(index_file, "LOCK_SECONDS", 0.2)
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
    with locked(index):
        assert lock.exists()
        index.with_name("new").write_text("new")
        replace(index, index.with_name("new"))
    assert index.read_text() == "new"
    assert sorted(each.name for each in index.parent.iterdir()) == ["index", "new"]


def test_the_lock_of_an_aigon_that_lives_is_left_to_it(index: Path) -> None:
    with _held(index) as process:
        with pytest.raises(AigonError), locked(index):
            pass
        assert index.with_name("index.lock").read_bytes() == MARK
        process.kill()


@pytest.mark.parametrize("content", ["", "somebody", "DIRC"])
def test_the_lock_of_another_git_is_never_removed(index: Path, content: str) -> None:
    lock = index.with_name("index.lock")
    lock.write_text(content)
    with pytest.raises(AigonError), locked(index):
        pass
    assert lock.read_text() == content
