"""A program's output: its head and tail are kept, redacted, and written to a log as they come."""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from aigon.files.atomic import make_way
from aigon.secrets.redaction import find_unfinished_key

HALF = 2 * 1024 * 1024
"""Bytes kept of the head, and as many of the tail. They are held more than once while they are read, and 1 GB from an
agent or a check has to leave the loop under 100 MB (measured: 77 and 91; with twice as much 100 and 121)."""
HEARD = 10 << 20
"""Bytes that a listener gets; a turn of half an hour prints some megabytes."""
LINE = 64 * 1024
"""A line or private key that is longer is redacted and written in pieces."""
OVERLAP = 16 * 1024
"""Bytes at the end of such a piece that wait for the next one, as a secret may have begun in them."""


class Capture:
    """One stream. `feed` takes what a pipe gave; `close` returns the redacted head and tail.

    The head is redacted and written line by line. The tail is kept raw and redacted at the end, so that a flood costs
    no more than its reading. `hear` is called with the first HEARD bytes as they come, not redacted: redacting the few
    that are kept of them is cheaper; `rest` tells it that there is nothing for now. A log that cannot be written is
    given up, as nothing depends on it.
    """

    def __init__(
        self,
        redact: Callable[[bytes], bytes],
        log: BinaryIO | None = None,
        half: int = HALF,
        hear: Callable[[bytes], None] | None = None,
    ) -> None:
        self._redact = redact
        self._log = log
        self._half = half
        self._hear = hear
        self._heard = 0
        self._head = bytearray()
        self._pending = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0

    def feed(self, chunk: bytes) -> None:
        if self._hear and self._heard < HEARD:
            self._hear(chunk)
            self._heard += len(chunk)
        if self._full:
            self._keep_tail(chunk)
            return
        self._pending += chunk
        if end := self._count_settled():
            self._keep(self._redact(bytes(self._pending[:end])))
            del self._pending[:end]
        if self._full:
            self._keep_tail(bytes(self._pending))
            self._pending.clear()

    def rest(self) -> None:
        """Let the listener of the stream catch up while nothing comes."""
        if self._hear:
            self._hear(b"")

    @property
    def _full(self) -> bool:
        return len(self._head) >= self._half

    def _count_settled(self) -> int:
        """Return how many of the pending bytes can be redacted now: no secret may cross that border."""
        end = self._pending.rfind(b"\n") + 1
        if not end and len(self._pending) > LINE:
            end = self._border()
        key = find_unfinished_key(bytes(self._pending[:end]))
        return key if len(self._pending) - key <= LINE else end

    def _border(self) -> int:
        """Return where a very long line can be cut without changing what is redacted."""
        line = bytes(self._pending)
        whole = self._redact(line)
        for end in range(len(line) - OVERLAP, 0, -OVERLAP):
            if self._redact(line[:end]) + self._redact(line[end:]) == whole:
                return end
        return len(line)

    def _keep(self, redacted: bytes) -> None:
        free = self._half - len(self._head)
        self._head += redacted[:free]
        self._write(redacted[:free])
        self._keep_tail(redacted[free:])

    def _keep_tail(self, chunk: bytes) -> None:
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
        while self._tail and self._tail_size - len(self._tail[0]) > self._half:
            dropped = len(self._tail.popleft())
            self._tail_size -= dropped
            self._left_out += dropped

    def _write(self, chunk: bytes) -> None:
        try:
            if self._log and chunk:
                self._log.write(chunk)
        except OSError:
            self._log = None

    def close(self) -> bytes:
        """Return head and tail; a line says how much of the middle is missing."""
        if self._pending:
            self._keep(self._redact(bytes(self._pending)))
            self._pending.clear()
        tail, gap = b"".join(self._tail), b""
        if self._left_out:  # the first line may be the end of a secret whose beginning is gone
            start = tail.find(b"\n", 0, LINE) + 1 or min(OVERLAP, len(tail))
            gap = f"\n[... {self._left_out + start} bytes left out ...]\n".encode()
            tail = tail[start:]
        tail = gap + self._redact(tail)
        self._write(tail)
        return bytes(self._head) + tail


def open_log(path: Path) -> BinaryIO:
    """Open a log file for a capture, unbuffered so that people can follow it; the null device if that fails.

    A link or pipe that an agent put in its place is removed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_fifo():
            make_way(path)
        return path.open("wb", buffering=0)
    except OSError:
        return Path(os.devnull).open("wb", buffering=0)
