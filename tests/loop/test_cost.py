"""What an iteration costs, in things that do not drift with the machine: programs, flushes, replaced files, sleeps."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.parts import BUDGET, PartsMeter, divide
from tests.lab import Lab

RUN_PROCESSES, RESUME_PROCESSES = 40, 28
"""Of git, in an invocation of one iteration."""


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
