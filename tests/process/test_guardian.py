"""A guardian ends what a killed aigon left running, and nothing else."""

import ctypes
import os
import signal
import subprocess
import sys

import pytest

from aigon.process.watchdog import _END_SCRIPT, run_watchdog
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


def guardian_of(lab: Lab) -> list[int]:
    """The guardian of the run whose agent wrote its invocation down, while it waits or works."""
    return list(alive((lab.home / "invocation").read_text().strip()))


def test_a_killed_loop_leaves_no_agent_and_nothing_that_the_agent_hid(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    nap = f"47{os.getpid()}"  # whatever else is tested on this machine has other processes
    hider = lab.home / f"hider-{nap}.py"
    hider.write_text(HIDING)
    lab.agent(f"""
        echo $AIGON_INVOCATION > ~/invocation
        {sys.executable} {hider}
        env -u AIGON_RUN sleep {nap}.1 &
        touch ~/working
        sleep {nap}.2
        """)
    theirs = (f"hider-{nap}", f"sleep {nap}.1", f"sleep {nap}.2")
    running = lab.start("feature-implement", "42", "--loop")
    until(lambda: (lab.home / "working").exists() and all(map(alive, theirs)))
    assert guardian_of(lab)
    running.kill()
    finish(running)
    until(lambda: not any(map(alive, theirs)) and not guardian_of(lab))


def test_a_run_that_ended_by_itself_needs_no_guardian(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent("echo $AIGON_INVOCATION > ~/invocation; touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    until(lambda: not guardian_of(lab))


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
        with run_watchdog("run-of-nobody") as guardian:
            guardian.record_start(99_999_999)
            guardian.over()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(watched, 0)
    until(lambda: not alive("run-of-nobody"))
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(bystander, 0)[1]) == 7


HIDES = """
import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
print("up", flush=True)
time.sleep(60)
"""


def _as_anybody() -> None:
    """Root may read everybody's environment by CAP_SYS_PTRACE, SYS_ADMIN or PERFMON; others never had these."""
    for capability in (19, 21, 38):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_one_that_shows_nobody_its_environment_is_ended_with_its_session() -> None:
    argv = [sys.executable, "-I", "-S", "-c"]
    with subprocess.Popen([*argv, HIDES], start_new_session=True, stdout=subprocess.PIPE) as hiding:
        assert hiding.stdout and hiding.stdout.readline() == b"up\n"
        line = [*argv, _END_SCRIPT, "no-mark-at-all", str(hiding.pid)]
        subprocess.run(line, env={}, check=True, preexec_fn=_as_anybody)
        try:
            assert hiding.wait(5) == -signal.SIGKILL
        finally:
            hiding.kill()
