"""Floods: whoever prints or leaves far more than anybody reads costs the loop no more than a bounded part of it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.lab import DONE_WHEN, SPEC, Lab, Ran, finish

MB = 1_000_000
MOST = 100 * MB
"""Bytes of memory that the loop may have at its peak, whatever anybody prints: about 65 without a flood (measured)."""
SECRET = "sk-ant-api03-" + "Zq7" * 31
FLOOD = r"""
import os, sys
megabytes = int(sys.argv[1])
secret = os.environ["FLOOD_SECRET"].encode()
line, long = b"x" * 99 + b"\n", b"y" * 300_000
piece = line * 3000 + b"key=" + secret + b"\n" + long + b" " + secret + b" " + long + b"\n"
os.write(1, b"the very first line\n")
written = 0
while written < megabytes * 1_000_000:
    for fd in (1, 1, 1, 2):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(fd, rest):]
        written += len(piece)
os.write(1, b"the very last line " + secret + b"\n")
"""


@contextmanager
def peak_of(pid: int) -> Iterator[list[int]]:
    """The most memory that a process has had by now (VmHWM), in bytes; it is looked at until it is gone."""
    found, over = [0], Event()

    def look() -> None:
        while not over.wait(0.05):
            try:
                said = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
            except OSError:
                return
            found[0] = max(found[0], int(said[1]) * 1024 if said else 0)

    thread = Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def ran(lab: Lab, *options: str) -> tuple[Ran, int]:
    """A loop in a process that begins from nothing, and its peak."""
    process = lab.start("feature-implement", "42", "--loop", *options, env={"LC_ALL": "C.UTF-8"})
    with peak_of(process.pid) as peak:
        ended = finish(process, 600)
    return ended, peak[0]


def flooding(lab: Lab) -> str:
    """A program that prints so many megabytes; its path."""
    return str(lab.write("../flood.py", FLOOD))


def log_of(lab: Lab, name: str) -> bytes:
    """The largest log of that name."""
    return max(lab.path(".aigon/runs").rglob(name), key=lambda path: path.stat().st_size).read_bytes()


def whole(log: bytes, most: int = 9_000_000) -> None:
    """Head and tail are there, the gap is named, no secret is."""
    assert log.startswith(b"the very first line\n") and b"the very last line" in log
    assert re.search(rb"\[\.\.\. \d+ bytes left out \.\.\.\]", log)
    assert SECRET.encode() not in log
    assert 1_000_000 < len(log) < most


SIZES = [32, pytest.param(1000, marks=(pytest.mark.slow, pytest.mark.timeout(900)))]


@pytest.mark.parametrize("megabytes", SIZES)
def test_what_an_agent_prints_is_bounded_in_memory_and_in_its_log(lab: Lab, megabytes: int) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent(f"export FLOOD_SECRET={SECRET}; python3 {flooding(lab)} {megabytes}; touch done.txt")
    ended, peak = ran(lab)
    assert ended.code == 0, ended.out[-3000:] + ended.err[-3000:]
    assert 0 < peak < MOST, f"{peak / MB:.0f} MB"
    whole(log_of(lab, "agent.log"), most=20_000_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_a_check_prints_is_bounded(lab: Lab) -> None:
    flood = f"FLOOD_SECRET={SECRET} python3 {flooding(lab)} 1000; test -f done.txt"
    lab.write("check.sh", flood)
    lab.spec("it is done <!-- verify: bash check.sh -->")
    lab.commit("check")
    lab.config(proof="in-place")
    lab.agent("touch done.txt")
    ended, peak = ran(lab)
    assert ended.code == 0, ended.out[-3000:] + ended.err[-3000:]
    assert 0 < peak < MOST, f"{peak / MB:.0f} MB"
    whole(log_of(lab, "criterion-1.log"), most=20_000_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_a_hook_prints_is_bounded(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    script = lab.home / "flooding-hook"
    script.write_text(f"#!/bin/sh\nFLOOD_SECRET={SECRET} python3 {flooding(lab)} 1000\n")
    script.chmod(0o755)
    lab.config(proof="in-place", hooks={"before_agent": {"command": [str(script)], "timeout": "5m"}})
    lab.agent("touch done.txt")
    ended, peak = ran(lab)
    assert ended.code == 0, ended.out[-3000:] + ended.err[-3000:]
    assert 0 < peak < MOST, f"{peak / MB:.0f} MB"


MOST_OF_FILES = 180 * MB
"""With files of any size: secrets are searched for in 32 MiB of one (`aigon.git.secret_files`), which is held twice."""
LEFT = {
    "a file of 300 MB": "head -c 300000000 /dev/zero > large.bin",
    "a spec of 50 MB": f"head -c 50000000 /dev/zero | tr '\\0' s >> {SPEC}",
    "a file with one line of 100 MB": "head -c 100000000 /dev/zero | tr '\\0' x > line.py",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", LEFT)
def test_what_an_agent_leaves_is_bounded_in_memory(lab: Lab, what: str) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(f"{LEFT[what]}\ntouch done.txt")
    ended, peak = ran(lab, "--max-iterations", "1")
    assert ended.code in (0, 3, 4), f"{ended.code}\n{ended.out[-3000:]}{ended.err[-3000:]}"
    assert "Traceback" not in ended.err
    assert 0 < peak < MOST_OF_FILES, f"{peak / MB:.0f} MB"
