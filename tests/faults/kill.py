"""One trial: start aigon, kill it at a moment, go on as a person would, and see what came of it."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.moment import Moment, Trial
from tests.faults.scenario import Scenario
from tests.faults.standing import Whole, counted, files, standing
from tests.faults.verdict import PATIENCE, Verdict, judge, no_orphans
from tests.lab import Lab, Ran, alive
from tests.loop.processes import left_behind

ROOT = Path(__file__).parents[2]
DEADLINE = 90.0
"""Seconds that a run of some tenths may take on a busy machine; a lock of git that is held costs 10 of them."""
_ADVICE = re.compile(r"aigon (feature-implement [^\n]*)")
_NOT_BEGUN = "nothing to resume"


def uninterrupted(scenario: Scenario, folder: Path, proof: str = "") -> Whole:
    """What the scenario comes to when nobody kills it. Raises AssertionError unless it is met."""
    lab = scenario.laid_out(folder, proof=proof)
    lab.aigon("--version")  # the warm interpreter is made now, and no part of the time
    began = time.monotonic()
    ran = ended(lab.start(*scenario.command("--loop")))
    seconds = time.monotonic() - began
    assert ran.code == 0, ran.out + ran.err
    pairs = zip(scenario.labels, scenario.agents, strict=True)
    runs = {label: standing(lab, scenario, label, agent) for label, agent in pairs}
    return Whole(runs, files(lab, "main"), counted(lab, scenario), seconds)


def tried(trial: Trial, whole: Whole, folder: Path, proof: str = "") -> Verdict:
    """Kill and resume as the trial says, in a new laboratory in `folder`; what came of it."""
    scenario, verdict = Scenario(trial.mode, trial.agent), Verdict()
    lab = scenario.laid_out(folder, proof=proof)
    line, before = scenario.command("--loop"), dict[str, tuple[str, ...]]()
    for moment in trial.moments:
        if not _killed(lab, scenario, line, moment, whole):
            break
        verdict.kills += 1
        before = {label: _commits(lab, scenario.branch(label)) for label in scenario.labels}
        if "daemon" in trial.agent:
            no_orphans(verdict, lab, "by a killed aigon, before anybody ran another one")
        line = scenario.command("--resume")
    if verdict.kills:
        _resume(verdict, lab, line)
    judge(verdict, lab, scenario, whole, before)
    return verdict


def _killed(lab: Lab, scenario: Scenario, line: tuple[str, ...], moment: Moment, whole: Whole) -> bool:
    """Whether it was killed before it ended by itself."""
    if moment.step:
        return _killed_at_step(lab, line, moment.step)
    if not moment.point:
        return _killed_in_time(lab, scenario, lab.start(*line), moment, whole)
    ran = _advised(lab, line, {"AIGON_FAILPOINT": f"{moment.point}:kill"})
    return ran.code != 0 or not _met(lab, scenario)


def _killed_at_step(lab: Lab, line: tuple[str, ...], step: str) -> bool:
    """Nobody waits for the loop that is left: the next one finds it."""
    argv, env = [sys.executable, "-m", "tests.faults.steps", step, *line], {**lab.env, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(argv, cwd=lab.root, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
    return ran.returncode == -signal.SIGKILL


def _advised(lab: Lab, line: tuple[str, ...], env: dict[str, str]) -> Ran:
    """Run it; where there is nothing to resume yet, as aigon's hint says: as a person would."""
    ran = ended(lab.start(*line, env=env))
    advice = _ADVICE.search(ran.err)
    if ran.code == 2 and _NOT_BEGUN in ran.err and advice:
        words = shlex.split(advice[1])
        named = () if "--agent" in words else line[line.index("--agent") :]  # a person knows which agent it was
        return ended(lab.start(*words, *named, env=env))
    return ran


def _killed_in_time(
    lab: Lab, scenario: Scenario, process: "subprocess.Popen[str]", moment: Moment, whole: Whole
) -> bool:
    time.sleep(moment.part * whole.seconds)
    loops = _loops(lab, moment.whom) if moment.whom else []
    for pid in loops:
        _end(pid)
    if not loops:
        process.send_signal(signal.SIGKILL)
    ran = ended(process)
    _settled(lab)
    return ran.code != 0 or not _met(lab, scenario)


def _met(lab: Lab, scenario: Scenario) -> bool:
    """Whether every run says so: an arena is content with one."""
    states = [lab.path(scenario.state(label)) for label in scenario.labels]
    return all(file.exists() and json.loads(file.read_bytes())["status"] == "met" for file in states)


def _loops(lab: Lab, label: str) -> list[int]:
    """The loops of an arena that work for `label`, which may not be there yet."""
    mark = f"HOME={lab.home}\0".encode()
    found = alive(f"--agent {label} --worktree")
    return [pid for pid in found if _environment(pid).find(mark) >= 0]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _settled(lab: Lab) -> None:
    """The loops of an arena that is gone end by themselves: they are no stale ones, and a person sees them go."""
    limit = time.monotonic() + PATIENCE
    while any("--worktree --json" in line for line in left_behind(lab)) and time.monotonic() < limit:
        time.sleep(0.02)


def _resume(verdict: Verdict, lab: Lab, line: tuple[str, ...]) -> None:
    ran = _advised(lab, line, {})
    if ran.code != 0:
        verdict.locks += "lock" in ran.err
        verdict.against(f"the resume ended with {ran.code}:\n{ran.out[-2000:]}\n{ran.err}")


def _commits(lab: Lab, branch: str) -> tuple[str, ...]:
    known = lab.git("for-each-ref", "--format=%(refname)", f"refs/heads/{branch}")
    return tuple(lab.git("rev-list", branch).split()) if known else ()


def ended(process: "subprocess.Popen[str]") -> Ran:
    """Wait for its end. Raises AssertionError where it takes too long, having killed it."""
    try:
        out, err = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it did not end within {DEADLINE:.0f} s") from None
    return Ran(process.returncode, out, err)
