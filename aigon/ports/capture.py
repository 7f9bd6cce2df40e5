"""A program's output: kept head and tail, redacted, written to a log as it comes."""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

HALF = 4 * 1024 * 1024
"""Bytes kept of the head, and as many of the tail: a flood of 1 GB stays under 100 MB of memory."""
LINE = 64 * 1024
"""A line longer than this is redacted and written in pieces."""


class Capture:
    """One stream. `feed` takes what a pipe gave; `close` returns the redacted head and tail."""

    def __init__(self, redact: Callable[[bytes], bytes], log: BinaryIO | None = None, half: int = HALF) -> None:
        self._redact = redact
        self._log = log
        self._half = half
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; whole lines are redacted and kept, the rest waits for its end."""
        self._pending += chunk
        end = self._pending.rfind(b"\n") + 1
        if not end and len(self._pending) > LINE:
            end = len(self._pending)
        if end:
            self._keep(self._redact(bytes(self._pending[:end])))
            del self._pending[:end]

    def _keep(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            self._write(chunk[:room])
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0] if self._tail else b"") > self._half:
            dropped = len(self._tail.popleft())
            self._tail_size -= dropped
            self._left_out += dropped

    def _write(self, chunk: bytes) -> None:
        if self._log:
            self._log.write(chunk)

    def close(self) -> bytes:
        """What is kept; where the middle is missing a line says how much."""
        if self._pending:
            self._keep(self._redact(bytes(self._pending)))
            self._pending.clear()
        gap = f"\n[... {self._left_out} bytes left out ...]\n".encode() if self._left_out else b""
        tail = gap + b"".join(self._tail)
        self._write(tail)
        return bytes(self._head) + tail


def open_log(path: Path) -> BinaryIO:
    """A log file for a capture; unbuffered, so that a person can follow it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb", buffering=0)
