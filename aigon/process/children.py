"""Programs that run at the same time: read line by line as they print, or started in the background."""

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aigon.process.capture import Capture, open_log
from aigon.process.run import CHUNK, watch_exit
from aigon.process.start import RunningProgram

LONGEST = 4 * 1024 * 1024
"""Bytes of a line. The largest event, an assessment with all its problems, takes a few hundred kilobytes; a longer line
is dropped, so that no program can take the memory of all."""
LOG = 1024 * 1024
"""Bytes of standard error that are kept in its file, half of them of its beginning and half of its end."""
TAIL = 4096
"""Bytes of the end of standard error that are its last words."""


def start_piped(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> RunningProgram:
    """Start a program in its own session with pipes for its three streams. Raises OSError.

    The ends in this process are closed on exec: no other program that is started holds one open.
    """
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def start_in_background(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> RunningProgram:
    """Start a program in its own session that may outlive this process; its output goes to a file. Raises OSError.

    A thread collects its exit, so that no zombie is left.
    """
    with output.open("wb") as file:
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    threading.Thread(target=process.wait, daemon=True).start()
    return process


def collect_output(process: RunningProgram, timeout: float | None) -> tuple[bytes, bytes] | None:
    """Return standard output and standard error of a piped program once it has exited; None after `timeout` seconds."""
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return None


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


class Child:
    """A program that was started. Its standard input stays open, without a byte, as long as this process lives."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        """Start it, with standard error in the file `log`. Raises OSError."""
        self._process = start_piped(argv, cwd=cwd, env=env)
        stdin, out, err = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin and out and err, "all three are pipes"
        self._held = contextlib.ExitStack()
        for stream in (stdin, out, err):
            self._held.enter_context(stream)
        self._in = stdin.fileno()
        self._out, self._open = out.fileno(), {out.fileno(), err.fileno()}
        for fd in self._open:
            os.set_blocking(fd, False)
        self._exited = self._held.enter_context(watch_exit(self._process))
        file = self._held.enter_context(open_log(log))
        self._lines, self._errors = LineSplitter(), Capture(lambda text: text, file, half=LOG // 2)

    def waits_for(self) -> tuple[int, ...]:
        """Return the descriptors that become readable when there is something to do."""
        return (self._exited, *self._open)

    def over(self, ready: Iterable[int]) -> bool:
        """Return whether it has exited, by the descriptors that are readable."""
        return self._exited in ready

    def read(self, ready: Iterable[int]) -> list[bytes]:
        """Return the lines of standard output that are complete now."""
        lines: list[bytes] = []
        for fd in self._open.intersection(ready):
            try:
                chunk = os.read(fd, CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                self._open.discard(fd)
            if fd == self._out:
                lines += self._lines.feed(chunk)
            else:
                self._errors.feed(chunk)
        return lines

    def beat(self) -> None:
        """Tell a program that counts on it that it may go on."""
        with contextlib.suppress(OSError):
            os.write(self._in, b"\n")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def end(self) -> tuple[list[bytes], int, str]:
        """Return the last lines, exit code (negative for a signal) and end of standard error of an exited program."""
        lines = [line for _ in range(64) for line in self.read(set(self._open))]  # a survivor may hold the other end
        code = self._process.wait()
        errors = self._errors.close()
        self._held.close()
        return lines, code, errors[-TAIL:].decode(errors="replace")


def wait_for_ready(children: Iterable[Child], others: Iterable[int], seconds: float) -> set[int]:
    """Return the descriptors of children, and of `others`, that are readable within so many seconds."""
    poll = select.poll()
    for fd in (*(fd for child in children for fd in child.waits_for()), *others):
        poll.register(fd, select.POLLIN)
    return {fd for fd, _ in poll.poll(seconds * 1000)}
