"""What an iteration costs, in things that do not drift with the machine: programs, flushes, replaced files, sleeps."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from aigon.loop.iteration_log import LARGEST
from benchmarks.parts import BUDGET, PartsMeter, divide
from tests.lab import LOG, Lab

RUN_PROCESSES, RESUME_PROCESSES = 40, 28
"""Of git, in an invocation of one iteration."""
CALLS = 17_000
"""Of Python functions, in the main thread, in an iteration without a sandbox."""


@pytest.mark.parametrize("files", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_an_iteration_keeps_to_the_budget_of_its_parts_whatever_came_before(
    lab: Lab, tmp_path: Path, files: int
) -> None:
    for number in range(files):
        lab.write(f"d{number // 100}/f{number}", f"{number}\n")
    lab.commit("files")
    lab.spec("never <!-- verify: false -->")
    lab.agent("echo $$ >> d0/f0")
    lab.config(guards={"stall": 0, "repeatedError": 0})
    meter = PartsMeter(tmp_path / "meter", lab.env)

    def loop(number: int, how: str) -> Counter[str]:
        given = ("feature-implement", "42", "--skip-validation", "--max-iterations", str(number), how)
        ran = lab.aigon(*given, env=meter.env)
        assert ran.code == 3, ran.out + ran.err
        return meter.take()

    first = loop(1, "--loop")
    one, two, five = (loop(number, "--resume") for number in (1, 2, 5))
    early, late = divide(one, two, 1), divide(two, five, 3)
    assert early == late
    assert {part: count for part, count in late.items() if count > BUDGET.get(part, 0)} == {}
    processes = [sum(count for part, count in each.items() if part.startswith("git ")) for each in (first, one)]
    assert processes[0] <= RUN_PROCESSES
    assert processes[1] <= RESUME_PROCESSES


COUNTING = """
import runpy, sys
calls = 0

def count(_frame, event, _arg):
    global calls
    calls += event in ("call", "c_call")

sys.argv = ["aigon", *sys.argv[1:]]
sys.setprofile(count)
try:
    runpy.run_module("aigon", run_name="__main__")
except SystemExit:
    sys.setprofile(None)
print("calls:", calls)
"""
"""Runs aigon, and counts the calls of its main thread."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_200th_iteration_makes_about_the_calls_of_the_10th(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent("echo $AIGON_ITERATION > n.txt")
    lab.config(guards={"stall": 0, "repeatedError": 0})
    lab.env["AIGON_SANDBOX"] = "none"  # there aigon looks after more than in one
    given = ("feature-implement", "42", "--skip-validation", "--max-iterations")

    def loop(iterations: int, how: str = "--resume") -> None:
        ran = lab.aigon(*given, str(iterations), how)
        assert ran.code == 3, ran.out + ran.err

    def count_calls(iterations: int) -> int:
        command = [sys.executable, "-c", COUNTING, *given, str(iterations), "--resume"]
        ran = subprocess.run(command, cwd=lab.root, env=lab.env, capture_output=True, text=True, check=False)
        return int(ran.stdout.rpartition("calls:")[2])

    def measure() -> float:
        one, six = count_calls(1), count_calls(6)
        return (six - one) / 5

    loop(3, "--loop")
    early = measure()
    for _ in range(10):
        loop(20)
    late = measure()
    assert early < CALLS
    assert late < 1.2 * early, f"{early:.0f} calls per iteration became {late:.0f}"
    assert len(lab.read(LOG)) < LARGEST * 1.1, "the older entries are in parts"
