"""How many checks run at a time over all loops of a repository: a lock of the system for each slot.

A loop that is killed frees what it held. Who wants all slots, to be alone on the machine, shuts the door behind which
the others wait while those inside finish: nobody can starve it, and two of its kind cannot wait for each other.
"""

import os
import select
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.process.stop import Stop

if TYPE_CHECKING:
    from filelock import FileLock

BETWEEN = 0.05
"""Seconds between two tries: little beside a check, and next to nothing for the machine."""


class CheckSlots:
    """`number` slots, as lock files in `folder`. Every loop that shares them has to ask for the same number."""

    def __init__(self, folder: Path, number: int) -> None:
        self._door = folder / "check-slot-door.lock"
        self._slots = tuple(folder / f"check-slot-{n}.lock" for n in range(1, number + 1))

    @contextmanager
    def acquire(self, stop: Stop, *, exclusive: bool = False) -> Iterator[bool]:
        """Hold a slot, or all of them with `exclusive`, as soon as there is one; False once `stop` says now."""
        with ExitStack() as held:
            yield self._all(stop, held) if exclusive else self._any(stop, held)

    def _any(self, stop: Stop, held: ExitStack) -> bool:
        while not stop.look():
            with ExitStack() as passing:
                if taken([self._door], passing) and taken(self._slots, held):
                    return True
            pause(stop)
        return False

    def _all(self, stop: Stop, held: ExitStack) -> bool:
        with ExitStack() as passing:
            return all(waited(path, stop, passing if path == self._door else held) for path in self._ordered)

    @property
    def _ordered(self) -> tuple[Path, ...]:
        return (self._door, *self._slots)


def waited(path: Path, stop: Stop, held: ExitStack) -> bool:
    """Hold the lock on `path` for as long as `held` lasts, whenever it is free; False once `stop` says now."""
    while not stop.look():
        if taken([path], held):
            return True
        pause(stop)
    return False


def taken(paths: Sequence[Path], held: ExitStack) -> bool:
    """Hold the lock on the first of these that is free, for as long as `held` lasts; False where none is."""
    from filelock import Timeout

    for path in paths:
        try:
            held.enter_context(_lock(path))
        except Timeout:
            continue
        return True
    return False


def _lock(path: Path) -> "FileLock":
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(os.fspath(path), timeout=0)


def pause(stop: Stop) -> None:
    """Wait a moment, and no longer once `stop` says now."""
    waiting = select.poll()
    waiting.register(stop.fileno(), select.POLLIN)
    waiting.poll(BETWEEN * 1000)
