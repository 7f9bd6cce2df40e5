"""The fork of a warm interpreter is what a process that begins from nothing would be."""

import subprocess
import sys

import pytest

from aigon.ports import reaper
from tests.lab import DONE_WHEN, Lab

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


def test_one_that_takes_too_long_is_killed_and_the_next_one_runs(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('touch "$HOME/begun"; exec sleep 5')
    with pytest.raises(subprocess.TimeoutExpired):
        lab.aigon("feature-implement", "42", "--loop", timeout=2)
    assert lab.aigon("--version").out.startswith("aigon ")


def test_where_a_test_ended_every_descendant_the_next_command_runs_all_the_same(lab: Lab) -> None:
    assert lab.aigon("--version").code == 0
    assert reaper.sweep() >= 1
    assert lab.aigon("--version").out.startswith("aigon ")
