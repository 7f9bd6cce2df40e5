"""The system's lock is the truth: what is written beside it misleads nobody, and what is left of it hinders nobody."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.files.locks import UNKNOWN, describe_self, hold_lock, is_locked, lock_file, read_holder

ROOT = Path(__file__).parents[2]
HOLD = """
import os, subprocess, sys
from pathlib import Path
from aigon.files.locks import hold_lock as lock
with lock(Path(sys.argv[1]), "It"):
    child = subprocess.Popen(["sleep", "60"], start_new_session=True, close_fds=False, stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A process that holds the lock, and the number of a child of its own that outlives it."""
    command = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    child = int(process.stdout.readline())
    try:
        yield process, child
    finally:
        process.kill()
        process.wait()
        os.kill(child, signal.SIGKILL)


def refused(path: Path) -> AigonError:
    """How somebody else is refused who wants the lock."""
    with pytest.raises(AigonError) as caught, hold_lock(path, "It"):
        pass
    assert caught.value.code == Exit.ENVIRONMENT
    return caught.value


def test_a_killed_holder_frees_the_lock_at_once_though_what_it_started_lives_on(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with held(path) as (process, child):
        assert refused(path).where.startswith(f"pid {process.pid} on {socket.gethostname()}, since ")
        process.kill()
        process.wait()
        os.kill(child, 0)
        assert is_locked(path) is False
        with hold_lock(path, "It"):
            assert json.loads(path.with_suffix(".holder").read_text())["pid"] == os.getpid()


def test_somebody_who_only_asks_whether_a_lock_is_held_keeps_nobody_from_taking_it(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with path.open("wb") as asked:
        fcntl.flock(asked, fcntl.LOCK_SH)
        threading.Timer(0.02, fcntl.flock, (asked, fcntl.LOCK_UN)).start()
        with hold_lock(path, "It"):
            assert is_locked(path)


def test_a_lock_that_was_deleted_while_it_is_held_is_still_held(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with held(path) as (process, _):
        path.unlink()
        said = refused(path).where
        assert said.startswith(f"pid {process.pid} ") and "deleted" in said
        process.kill()
        process.wait()
        with hold_lock(path, "It"):
            pass


def test_a_dead_process_is_named_by_nobody_even_if_its_number_is_reused(tmp_path: Path) -> None:
    file = tmp_path / "a.holder"
    mine = json.loads(describe_self())
    file.write_text(json.dumps(mine))
    assert read_holder(file).startswith(f"pid {os.getpid()} on ")
    file.write_text(json.dumps({**mine, "start": "1"}))
    assert read_holder(file) == UNKNOWN
    file.write_text(json.dumps({**mine, "host": "elsewhere", "since": "2020-01-02T10:15:00+00:00"}))
    assert "on elsewhere, since 2020-01-0" in read_holder(file)
    for damage in ("", "[]", "{}", "null", '{"pid": "x", "host": 1}', '{"pid": 1, "host": null, "start": 7}'):
        file.write_text(damage)
        assert isinstance(read_holder(file), str)
        with hold_lock(tmp_path / "a.lock", "It"):
            pass


def test_where_no_lock_can_be_had_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("no folder")
    assert "No lock could be taken" in refused(tmp_path / "locks" / "a.lock").what


def test_a_place_that_takes_no_words_takes_the_lock_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    path.with_suffix(".holder").mkdir()
    with hold_lock(path, "It"):
        assert is_locked(path) is True
        assert refused(path).where == UNKNOWN


def test_who_waits_gets_the_lock_when_it_is_free_and_who_does_not_is_told(tmp_path: Path) -> None:
    path, got = tmp_path / "a.lock", threading.Event()

    def wait_for_it() -> None:
        with lock_file(path, 600):
            got.set()

    waiter = threading.Thread(target=wait_for_it)
    with lock_file(path):
        waiter.start()
        with pytest.raises(TimeoutError), lock_file(path):
            pass
        assert not got.is_set()
    waiter.join()
    assert got.is_set() and is_locked(path) is False


def test_a_link_is_no_lock_and_a_program_that_was_started_holds_none(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="symbolic"), lock_file(tmp_path / "link"):
        pass
    with lock_file(path):
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
    try:
        assert is_locked(path) is False
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
