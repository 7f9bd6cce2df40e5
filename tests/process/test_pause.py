"""A wait ends at its time, at once when somebody asks for the end, and is no longer for a clock that is set back."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aigon.process.stop import Stop, wait_until


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Stop]:
    before = signal.getsignal(signal.SIGINT)
    try:
        with Stop([tmp_path / "STOP"]).handling() as made:
            yield made
            made.close()
    finally:
        signal.signal(signal.SIGINT, before)  # ignored after a Ctrl+C, and in every program that later tests start


def took(until: float, stop: Stop) -> tuple[bool, float]:
    begun = time.monotonic()
    return wait_until(until, stop), time.monotonic() - begun


@pytest.mark.parametrize("ago", [0.0, 5.0, 1e9])
def test_a_time_that_has_come_is_not_waited_for(ago: float, stop: Stop) -> None:
    came, seconds = took(time.time() - ago, stop)
    assert came and seconds < 0.45


def test_a_wait_ends_at_its_time(stop: Stop) -> None:
    came, seconds = took(time.time() + 0.3, stop)
    assert came and 0.25 < seconds < 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_wait_of_years(number: signal.Signals, stop: Stop) -> None:
    threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
    came, seconds = took(time.time() + 10 * 365 * 86_400, stop)
    assert not came and seconds < 2 and stop.reason == number.name


def test_a_stop_file_ends_it(stop: Stop, tmp_path: Path) -> None:
    threading.Timer(0.1, (tmp_path / "STOP").touch).start()
    came, seconds = took(time.time() + 3600, stop)
    assert not came and seconds < 3 and stop.reason == "stop-file"
