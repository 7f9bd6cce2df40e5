"""Slow a running program down: its clock goes on while it stands still."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RUNNING, STANDING = 1 / 6, 1.5
"""Parts of its ordinary time that a program runs, and then stands still: in all it takes some ten times as long.

A stop has to be longer than a sleep of the program's, which goes on meanwhile.
"""


@contextmanager
def hold_back(group: int, seconds: float) -> Iterator[None]:
    """Stop and continue a process group, which ordinarily takes so many seconds, by turns; at the end it runs."""
    over = threading.Event()

    def alternate() -> None:
        while not over.wait(RUNNING * seconds):
            _signal(group, signal.SIGSTOP)
            over.wait(STANDING * seconds)
            _signal(group, signal.SIGCONT)

    thread = threading.Thread(target=alternate, name="brake", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
