"""Programs that run side by side: their lines are read as they come, and none is waited for alone."""

import contextlib
import os
import select
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from aigon.process.capture import open_log
from aigon.process.run import CHUNK, RunningProgram, start_piped, watch_exit

LONGEST = 4 * 1024 * 1024
"""Bytes of a line. The largest event, an assessment with all its problems, takes a few hundred kilobytes; a longer line
is dropped, so that no program can take the memory of all."""
LOG = 1024 * 1024
"""Bytes of standard error that go into its file."""
TAIL = 4096
"""Bytes of standard error that are remembered, for its last words."""


class LineSplitter:
    """Whole lines out of the chunks that a pipe gives."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pending = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in `chunk`, without their line ends, except those that are too long."""
        lines = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._take(end)
            if not self._skipping:
                lines.append(bytes(self._pending))
            self._pending.clear()
            self._skipping = False
        self._take(rest)
        return lines

    def _take(self, part: bytes) -> None:
        if not self._skipping:
            self._pending += part
        if len(self._pending) > self._longest:
            self._pending.clear()
            self._skipping = True


class _ErrorLog:
    """Standard error: its beginning goes to a file, its end stays in memory."""

    def __init__(self, log: Path) -> None:
        self._file: BinaryIO = open_log(log)
        self._space = LOG
        self.tail = b""

    def feed(self, chunk: bytes) -> None:
        with contextlib.suppress(OSError):  # a log that cannot be written is no reason to stop
            self._file.write(chunk[: self._space])
        self._space = max(0, self._space - len(chunk))
        self.tail = (self.tail + chunk)[-TAIL:]

    def close(self) -> None:
        if not self._space:
            self._space = TAIL + 100
            self.feed(b"\n[... left out ...]\n" + self.tail)
        self._file.close()


class Child:
    """A program that was started. Its standard input stays open, without a byte, as long as this process lives."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        """Start it, with standard error in the file `log`. Raises OSError."""
        self._process: RunningProgram = start_piped(argv, cwd=cwd, env=env)
        self._held = contextlib.ExitStack()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None, "all three are pipes"
            self._held.enter_context(stream)
        self._out, self._err = (
            stream.fileno() for stream in (self._process.stdout, self._process.stderr) if stream is not None
        )
        self._exited = self._held.enter_context(watch_exit(self._process))
        self._open = {self._out, self._err}
        for fd in self._open:
            os.set_blocking(fd, False)
        self._lines, self._errors = LineSplitter(), _ErrorLog(log)

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    def waits_for(self) -> tuple[int, ...]:
        """Return the descriptors that become readable when there is something to do."""
        return (self._exited, *self._open)

    def over(self, ready: Iterable[int]) -> bool:
        """Whether it has exited, by the descriptors that are readable."""
        return self._exited in ready

    def read(self, ready: Iterable[int]) -> list[bytes]:
        """Return the lines of standard output that are complete now."""
        lines: list[bytes] = []
        for fd in self._open.intersection(ready):
            lines += self._read(fd)
        return lines

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def end(self) -> tuple[list[bytes], int, str]:
        """Return the last lines, exit code (negative for a signal) and end of standard error of an exited program."""
        lines = [line for _ in range(64) for line in self.read(set(self._open))]  # a survivor may hold the other end
        code = self._process.wait()
        self._errors.close()
        self._held.close()
        return lines, code, self._errors.tail.decode(errors="replace")

    def _read(self, fd: int) -> list[bytes]:
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return []
        if not chunk:
            self._open.discard(fd)
        if fd == self._out:
            return self._lines.feed(chunk)
        self._errors.feed(chunk)
        return []


def wait_for_ready(children: Iterable[Child], others: Iterable[int], seconds: float) -> set[int]:
    """Return the descriptors of children, and of `others`, that are readable within so many seconds."""
    poll = select.poll()
    for fd in (*(fd for child in children for fd in child.waits_for()), *others):
        poll.register(fd, select.POLLIN)
    return {fd for fd, _ in poll.poll(seconds * 1000)}
