"""Checks of several processes take turns: no more at a time than there are slots, an exclusive one alone."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aigon.process import capacity
from aigon.process.capacity import CheckSlots
from aigon.process.stop import Stop
from tests.lab import until

HOLDER = """
import sys, time
from pathlib import Path
from aigon.process.capacity import CheckSlots
from aigon.process.stop import Stop

folder, number, how, times, log = sys.argv[1:]
slots, stop = CheckSlots(Path(folder), int(number)), Stop()
for _ in range(int(times)):
    with slots.acquire(stop, exclusive=how == "alone") as free:
        assert free
        with open(log, "a") as file:
            file.write(f"{how} in\\n")
        time.sleep(0.02)
        if how == "forever":
            sys.stdin.readline()
        with open(log, "a") as file:
            file.write(f"{how} out\\n")
"""


@pytest.fixture
def stop() -> Iterator[Stop]:
    made = Stop()
    yield made
    made.close()


class Holders:
    """Processes that take turns, and the log of who came in and went out."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        self.log.touch()

    def start(self, how: str, times: int = 1, number: int = 2) -> "subprocess.Popen[bytes]":
        line = [sys.executable, "-c", HOLDER, str(self.folder), str(number), how, str(times), str(self.log)]
        return subprocess.Popen(line, stdin=subprocess.PIPE)

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.mark.slow
def test_checks_of_several_processes_share_the_slots_and_an_exclusive_one_is_alone(tmp_path: Path) -> None:
    holders = Holders(tmp_path)
    started = [holders.start("shared", 6) for _ in range(3)] + [holders.start("alone", 2) for _ in range(2)]
    assert [process.wait(timeout=60) for process in started] == [0] * 5
    inside: list[str] = []
    for line in holders.lines:
        how, what = line.split()
        (inside.append if what == "in" else inside.remove)(how)
        assert len(inside) <= 2
        assert inside == ["alone"] or "alone" not in inside
    assert len(holders.lines) == 2 * (3 * 6 + 2 * 2)


def test_the_slot_of_a_killed_process_is_free(tmp_path: Path, stop: Stop) -> None:
    holders = Holders(tmp_path)
    process = holders.start("forever", number=1)
    until(lambda: holders.lines == ["forever in"])
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with CheckSlots(tmp_path, 1).acquire(stop) as free:
        assert free


@pytest.mark.parametrize("exclusive", [False, True])
def test_who_waits_gives_up_at_once_when_the_run_is_to_end(tmp_path: Path, stop: Stop, exclusive: bool) -> None:
    slots, got = CheckSlots(tmp_path, 2), []

    def want() -> None:
        with slots.acquire(stop, exclusive=exclusive) as free:
            got.append(free)

    with slots.acquire(stop), slots.acquire(stop):
        waiting = threading.Thread(target=want)
        waiting.start()
        stop.halt()
        waiting.join(timeout=20)
        assert got == [False]
    again = Stop()
    with slots.acquire(again, exclusive=True) as free:  # nothing is left held
        assert free
    again.close()


@pytest.mark.parametrize("exclusive", [False, True])
def test_who_leaves_a_slot_wakes_those_that_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stop: Stop, exclusive: bool
) -> None:
    monkeypatch.setattr(capacity, "RETRY_SECONDS", 600.0)
    slots, came = CheckSlots(tmp_path, 1), threading.Event()

    def want() -> None:
        with slots.acquire(stop, exclusive=exclusive) as free:
            assert free
            came.set()

    def is_heard() -> bool:
        try:
            os.close(os.open(tmp_path / "check-slot.bell", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    with slots.acquire(stop):
        waiting = threading.Thread(target=want)
        waiting.start()
        until(is_heard)
    assert came.wait(timeout=20)
    waiting.join()


def test_an_exclusive_check_is_not_starved_by_others_that_keep_coming(tmp_path: Path, stop: Stop) -> None:
    slots, enough, rounds = CheckSlots(tmp_path, 2), threading.Event(), []

    def keep_coming() -> None:
        while not enough.is_set():
            with slots.acquire(stop):
                rounds.append(1)

    others = [threading.Thread(target=keep_coming) for _ in range(3)]
    for each in others:
        each.start()
    until(lambda: len(rounds) > 5)
    with slots.acquire(stop, exclusive=True) as free:
        assert free
        enough.set()
    for each in others:
        each.join(timeout=20)
