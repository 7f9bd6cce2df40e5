"""Requests that a run end: signals, stop files and `aigon stop`. Handlers only set a flag and wake those that wait."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal, TypeVar

from aigon.errors import Exit
from aigon.process.running import read_request

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
StopReason = Literal["", "SIGINT", "SIGTERM", "SIGHUP", "stop-file", "hook"]
POLL_SECONDS = 0.5
"""How often waiting code looks for a stop file: a person who creates one does not notice half a second."""


class Stop:
    """The first Ctrl+C sets `asked`: the iteration may finish. A second one, SIGTERM, SIGHUP, a stop file or a hook
    sets `now`.

    If it is not `patient` the first Ctrl+C sets `now`, as there is nothing to finish. `detail` is what a hook said that
    ends the run. In one of the files `requests` another aigon asks for the end as the first or the second Ctrl+C does.
    `fileno()` becomes readable as soon as `now` is set.
    """

    def __init__(
        self, files: Sequence[Path] = (), announce: Callable[[str], None] = lambda _: None, *, patient: bool = True
    ) -> None:
        self._patient = patient
        self._files = tuple(os.fspath(f) for f in files)
        self._read, self._write = os.pipe()
        self._announce = announce
        self.reason: StopReason = ""
        self.detail = ""
        self.now = False
        self.requests: tuple[Path, ...] = ()

    @property
    def received_signal(self) -> signal.Signals | None:
        """The signal that asked for the end; None for anything else that did."""
        return signal.Signals[self.reason] if self.reason.startswith("SIG") else None

    @property
    def exit_code(self) -> Exit:
        """The exit code of what ends without an outcome of its own."""
        if self.received_signal is None:
            return Exit.STOPPED
        return Exit.INTERRUPTED if self.reason == "SIGINT" else Exit.TERMINATED

    @property
    def asked(self) -> bool:
        """True if anything asked for the end, politely or at once."""
        self.look()
        return bool(self.reason)

    def look(self) -> bool:
        """Look for stop files and a request; return `now`."""
        if not self.now and any(os.path.exists(f) for f in self._files):  # noqa: PTH110 - on the hot path
            self._at_once("stop-file")
        wanted = [] if self.now else [read_request(file) for file in self.requests]
        if "now" in wanted:
            self._at_once("SIGINT")
        elif "finish" in wanted and not self.reason:
            self._first("SIGINT")
        return self.now

    def fileno(self) -> int:
        """Return a descriptor that is readable once `now` is set."""
        return self._read

    def rest(self, seconds: float) -> None:
        """Wait for so many seconds, or until `now` is set."""
        select.select([self._read], [], [], seconds)

    def veto(self, text: str) -> None:
        """End the run because a hook says so; an earlier reason to end stays the reason."""
        if not self.now:
            self.detail = text
            self._at_once(self.reason or "hook")

    def halt(self) -> None:
        """End whatever still runs at once, because the run is over."""
        if not self.now:
            self._at_once(self.reason)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)

    def _at_once(self, reason: StopReason) -> None:
        self.reason = reason
        self.now = True
        os.write(self._write, b"!")

    def _handle_signal(self, number: int, _frame: FrameType | None) -> None:
        names: dict[int, StopReason] = {signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}
        name = names.get(number, "SIGINT")
        if self.now:
            return
        if name == "SIGINT" and not self.reason:
            self._first(name)
        else:
            self._at_once(name)

    def _first(self, name: StopReason) -> None:
        if self._patient:
            self.reason = name
            self._announce(name)
        else:
            self._at_once(name)

    @contextmanager
    def handling(self) -> Iterator["Stop"]:
        """Route SIGINT, SIGTERM and SIGHUP here for the length of a run; main thread only."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._handle_signal) for number in numbers}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self.reason == "SIGINT":  # a second Ctrl+C after the end must not turn the outcome into a crash
                signal.signal(signal.SIGINT, signal.SIG_IGN)


def wait_until(until: float, stop: Stop) -> bool:
    """Wait until `until` (seconds since the epoch, which a suspended laptop keeps); return False if asked to stop.

    The first Ctrl+C ends the wait, too. A clock that is set back does not make it longer.
    """
    poll = select.poll()
    poll.register(stop.fileno(), select.POLLIN)
    latest = time.monotonic() + until - time.time()
    while not stop.asked:
        remaining = min(until - time.time(), latest - time.monotonic())
        if remaining <= 0:
            return True
        poll.poll(min(remaining, POLL_SECONDS) * 1000)
    return False


def start_call(call: Callable[[], T], name: str) -> "Future[T]":
    """Make a call in a thread of that name. Nothing has to wait for it, not even the end of this process."""
    from concurrent.futures import Future

    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return future
