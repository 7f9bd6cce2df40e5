"""The fork of a warm interpreter is what a process that begins from nothing would be."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from aigon.process import orphans
from tests.lab import DONE_WHEN, Lab, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process begins from nothing")


def test_it_says_and_exits_as_one_that_begins_from_nothing(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it looks good")
    for arguments in (("spec-show", "42", "--json"), ("spec-show", "43"), ("no-such-verb",)):
        fresh = subprocess.run(lab.command(*arguments), cwd=lab.root, env=lab.env, capture_output=True, text=True)
        warm = lab.aigon(*arguments)
        assert (warm.code, warm.out, warm.err) == (fresh.returncode, fresh.stdout, fresh.stderr)


def test_it_is_seen_by_others_under_its_own_command_line(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("tr '\\0' ' ' < /proc/$PPID/cmdline > \"$HOME/seen\"; env > \"$HOME/env\"; touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop", env={"OF_THIS_ONE": "yes"})
    assert ran.code == 0, ran.out + ran.err
    assert (lab.home / "seen").read_text().strip(" \n\0") == " ".join(lab.command("feature-implement", "42", "--loop"))
    assert "OF_THIS_ONE=yes\n" in (lab.home / "env").read_text()


@pytest.mark.slow
def test_one_that_takes_too_long_is_killed_and_the_next_one_runs(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('touch "$HOME/begun"; exec sleep 5')
    with pytest.raises(subprocess.TimeoutExpired):
        lab.aigon("feature-implement", "42", "--loop", timeout=2)
    assert lab.aigon("--version").out.startswith("aigon ")


class Interruption(BaseException):
    """What a test runner raises in a test that takes too long."""


@pytest.mark.slow
def test_an_interrupted_request_leaves_the_next_answers_in_step(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo $PPID > "$HOME/loop.new"; mv "$HOME/loop.new" "$HOME/loop"; exec sleep 60')
    with interrupted_once(lab.home / "loop"), pytest.raises(Interruption):
        lab.aigon("feature-implement", "42", "--loop")
    assert not psutil.pid_exists(int((lab.home / "loop").read_text()))
    assert [lab.aigon("--version").code, lab.aigon("no-such-verb").code] == [0, 2]
    assert lab.aigon("--version").out.startswith("aigon ")


@contextlib.contextmanager
def interrupted_once(seen: Path) -> Iterator[None]:
    """Raise Interruption in the main thread when that file is there."""

    def interrupt(*_: object) -> None:
        raise Interruption

    def wait_and_signal() -> None:
        until(seen.exists)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    waiting = threading.Thread(target=wait_and_signal)
    waiting.start()
    try:
        yield
    finally:
        waiting.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.slow
def test_where_a_test_ended_every_descendant_the_next_command_runs_all_the_same(lab: Lab) -> None:
    assert lab.aigon("--version").code == 0
    assert orphans.sweep() >= 1
    assert lab.aigon("--version").out.startswith("aigon ")
