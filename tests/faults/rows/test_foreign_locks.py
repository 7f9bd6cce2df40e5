"""Somebody else's lock: waited for, its holder named where the system tells, and never removed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.files.locks import describe_holder
from aigon.git import locks
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from tests.lab import Lab, until

HOLDS = "import sys, time; held = open(sys.argv[1], 'w'); open(sys.argv[2], 'w').close(); time.sleep(60)"


def refused(index: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the error about a held index points, after a shorter wait than people get."""
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.2)
    with pytest.raises(AigonError) as error, locks.lock_index(index):
        pass
    assert error.value.code == 7
    return error.value.where


def test_the_process_that_holds_the_index_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, ready = tmp_path / "index.lock", tmp_path / "ready"
    other = subprocess.Popen([sys.executable, "-c", HOLDS, str(lock), str(ready)])
    try:
        until(ready.exists)
        assert f"pid {other.pid} (" in refused(tmp_path / "index", monkeypatch)
    finally:
        other.kill()
        other.wait()
    assert lock.read_bytes() == b""


def test_a_lock_names_its_process_only_by_a_valid_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "index.lock"
    lock.write_text(f"{os.getppid()}\n")
    assert f"pid {os.getppid()} (" in refused(tmp_path / "index", monkeypatch)
    for text in ("somebody", "999999999", "-1", ""):
        lock.write_text(text)
        assert (describe_holder(lock), refused(tmp_path / "index", monkeypatch)) == ("", str(lock))
        assert lock.read_text() == text


def test_a_lock_on_the_branch_is_removed_only_where_it_holds_our_commit(lab: Lab, tmp_path: Path) -> None:
    with Checkout.open(lab.root) as checkout:
        work = Workspace(checkout, tmp_path / "own", "main")
    lock, ours, other = lab.path(".git/refs/heads/main.lock"), "a" * 40, "b" * 40
    for text in ("", f"{other}\n", ours[:20], f"{ours}\n{other}\n"):
        lock.write_text(text)
        assert not work.ref.remove_own_lock(ours)
        assert lock.read_text() == text
    lock.write_text(f"{ours}\n")
    assert work.ref.remove_own_lock(ours) and not lock.exists()


def test_a_git_that_dies_after_it_moved_the_branch_has_moved_it(lab: Lab, tmp_path: Path) -> None:
    with Checkout.open(lab.root) as checkout:
        work = Workspace(checkout, tmp_path / "own", "main")
    lab.write("more.txt", "more")
    old = str(work.tip())
    work.snapshot()
    commit = work.commit({}, old, "more\n")
    lab.path(".git/logs/refs/heads/main").unlink()  # without its log aigon leaves the branch to git
    dies = tmp_path / "git"
    dies.write_text(f'#!/bin/sh\n"{work.trusted.program}" "$@"\nkill -9 $$\n')
    dies.chmod(0o755)
    work.trusted.program = str(dies)
    work.publish(commit, old)
    assert lab.git("rev-parse", "main") == commit
    lab.sound()


def test_the_log_of_head_has_a_line_for_every_checkpoint(lab: Lab, tmp_path: Path) -> None:
    with Checkout.open(lab.root) as checkout:
        work = Workspace(checkout, tmp_path / "own", "main")
    lab.write("more.txt", "more")
    old = str(work.tip())
    work.snapshot()
    work.publish(work.commit({}, old, "more\n"), old)
    log = lab.git("log", "-g", "-1", "--format=%H %gd %gs %gn <%ge>", "HEAD")
    assert log == f"{lab.git('rev-parse', 'HEAD')} HEAD@{{0}} aigon Ada <ada@example.invalid>"
    assert lab.git("rev-parse", "HEAD@{1}") == old
