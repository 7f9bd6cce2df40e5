"""What an iteration costs, in things that do not drift with the machine: processes, fsyncs, sleeps."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import Lab

GIT_PROCESSES = 8
RUN_PROCESSES, RESUME_PROCESSES = 63, 37
"""Of git, in an invocation of one iteration."""
FSYNCS = 5
"""Newer versions of git make one less."""

COUNTING_GIT = """#!/bin/sh
echo run >> "{folder}/git-processes"
GIT_TRACE2_EVENT="{folder}/git-trace" exec "{git}" "$@"
"""
COUNTING_PYTHON = """
import os, time
def counted(name, call):
    def wrapper(*arguments):
        fd = os.open({folder!r} + "/" + name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, b"x")
        os.close(fd)
        return call(*arguments)
    return wrapper
os.fsync = counted("fsync", os.fsync)
os.fdatasync = counted("fsync", os.fdatasync)
time.sleep = counted("sleep", time.sleep)
"""


@dataclass(frozen=True)
class Cost:
    """Totals of one invocation."""

    processes: int
    fsyncs: int
    sleeps: int

    def per_iteration(self, other: "Cost", more: int) -> "Cost":
        """What each of the `more` iterations cost that `other` had beyond this one; the remainder has to be nothing."""
        gits, syncs = other.processes - self.processes, other.fsyncs - self.fsyncs
        assert gits % more == 0 and syncs % more == 0, f"not constant per iteration: {gits} and {syncs} in {more}"
        return Cost(gits // more, syncs // more, other.sleeps)


class Meter:
    """Counts what one invocation of aigon does, through a git and an `os.fsync` that write a line and go on."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab, self._folder = lab, folder
        (folder / "bin").mkdir(parents=True)
        real = shutil.which("git")
        shim = folder / "bin" / "git"
        shim.write_text(COUNTING_GIT.format(folder=folder, git=real))
        shim.chmod(0o755)
        (folder / "python").mkdir()
        (folder / "python" / "sitecustomize.py").write_text(COUNTING_PYTHON.format(folder=str(folder)))

    def __call__(self, *arguments: str) -> Cost:
        for name in ("git-processes", "git-trace", "fsync", "sleep"):
            (self._folder / name).unlink(missing_ok=True)
        path = f"{self._folder}/bin:{self._lab.env['PATH']}"
        ran = self._lab.aigon(*arguments, env={"PATH": path, "PYTHONPATH": str(self._folder / "python")})
        assert ran.code == 3, ran.out + ran.err
        return Cost(self._lines("git-processes"), self._size("fsync") + self._flushes(), self._size("sleep"))

    def _lines(self, name: str) -> int:
        return len((self._folder / name).read_text().splitlines())

    def _size(self, name: str) -> int:
        file = self._folder / name
        return file.stat().st_size if file.exists() else 0

    def _flushes(self) -> int:
        """git's own count of hardware flushes, from its trace."""
        events = map(json.loads, (self._folder / "git-trace").read_text().splitlines())
        return sum(int(e["value"]) for e in events if e.get("category") == "fsync" and "flush" in e.get("key", ""))


def costly(lab: Lab, folder: Path, files: int) -> Meter:
    """A feature that is never done, in a repository of so many files, and a meter for it."""
    for number in range(files):
        lab.write(f"d{number // 100}/f{number}", f"{number}\n")
    lab.commit("files")
    lab.spec("never <!-- verify: false -->")
    lab.agent("echo $$ >> d0/f0")
    lab.config(guards={"stall": 0, "repeatedError": 0})
    return Meter(lab, folder)


def loop(number: int, *more: str) -> tuple[str, ...]:
    """The command line of an invocation of so many iterations."""
    return ("feature-implement", "42", "--skip-validation", "--max-iterations", str(number), *more)


@pytest.mark.parametrize("files", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_an_iteration_costs_the_same_few_processes_and_fsyncs_whatever_came_before(
    lab: Lab, tmp_path: Path, files: int
) -> None:
    meter = costly(lab, tmp_path / "meter", files)
    first = meter(*loop(1, "--loop"))
    one = meter(*loop(1, "--resume"))
    three = meter(*loop(3, "--resume"))
    twelve = meter(*loop(12, "--resume"))
    early, late = one.per_iteration(three, 2), three.per_iteration(twelve, 9)
    assert (early.processes, early.fsyncs) == (late.processes, late.fsyncs)
    assert late.processes <= GIT_PROCESSES
    assert late.fsyncs <= FSYNCS
    assert late.sleeps == 0
    assert first.processes <= RUN_PROCESSES
    assert one.processes <= RESUME_PROCESSES
