"""A guardian ends what a killed aigon left running, and nothing else."""

import os
import signal
import sys

import pytest

from aigon.ports.guardian import guarded
from tests.lab import DONE_WHEN, Lab, alive, finish, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

HIDING = """\
import os, sys, time
if os.fork():
    sys.exit()
os.setsid()
if os.fork():
    sys.exit()
time.sleep(300)
"""


def guardians() -> list[int]:
    """Every guardian that waits or works."""
    return list(alive('AIGON_RUN=" + lines[0]'))


def test_a_killed_loop_leaves_no_agent_and_nothing_that_the_agent_hid(lab: Lab) -> None:
    before = set(guardians())
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    hider = lab.home / "hider-4711.py"
    hider.write_text(HIDING)
    lab.agent(f"{sys.executable} {hider}\nenv -u AIGON_RUN sleep 4711.1 &\ntouch ~/working\nsleep 4711.2")
    running = lab.start("feature-implement", "42", "--loop")
    until(lambda: (lab.home / "working").exists() and alive("hider-4711"))
    assert alive("4711.1") and alive("4711.2")
    running.kill()
    finish(running)
    until(lambda: not [*alive("hider-4711"), *alive("4711.1"), *alive("4711.2"), *(set(guardians()) - before)])


def test_a_run_that_ended_by_itself_needs_no_guardian(lab: Lab) -> None:
    before = set(guardians())
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    until(lambda: not set(guardians()) - before)


def test_a_guardian_leaves_alone_what_is_not_of_its_run() -> None:

    read, write = os.pipe()
    bystander = os.fork()
    if not bystander:
        os.close(write)
        os.read(read, 1)
        os._exit(7)
    os.close(read)
    watched = os.fork()
    if not watched:
        with guarded("run-of-nobody") as guardian:
            guardian.begun(99_999_999)
            guardian.over()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(watched, 0)
    until(lambda: not alive("run-of-nobody"))
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(bystander, 0)[1]) == 7
