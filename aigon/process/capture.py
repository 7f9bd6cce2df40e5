"""A program's output: kept head and tail, redacted, written to a log as it comes."""

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
LINE = 64 * 1024
"""A line, or a private key, longer than this is redacted and written in pieces."""
OVERLAP = 16 * 1024
"""Bytes at the end of such a piece that wait for the next one: a secret may have begun in them."""


class Capture:
    """One stream. `feed` takes what a pipe gave; `close` returns the redacted head and tail.

    The head is redacted and written whole line by whole line. The tail is kept as it came and redacted at the end, so
    that a flood costs no more than its reading. A log that cannot be written is given up: nothing in it decides.
    """

    def __init__(self, redact: Callable[[bytes], bytes], log: BinaryIO | None = None, half: int = HALF) -> None:
        self._redact = redact
        self._log = log
        self._half = half
        self._head = bytearray()
        self._pending = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._full:
            self._keep_tail(chunk)
            return
        self._pending += chunk
        if end := self._settled():
            self._keep(self._redact(bytes(self._pending[:end])))
            del self._pending[:end]
        if self._full:
            self._keep_tail(bytes(self._pending))
            self._pending.clear()

    @property
    def _full(self) -> bool:
        return len(self._head) >= self._half

    def _settled(self) -> int:
        """How many of the pending bytes can be redacted by now: no secret may reach over that border."""
        end = self._pending.rfind(b"\n") + 1
        if not end and len(self._pending) > LINE:
            end = self._border()
        begun = find_unfinished_key(bytes(self._pending[:end]))
        return begun if len(self._pending) - begun <= LINE else end

    def _border(self) -> int:
        """A place in a very long line where cutting it changes nothing of what is redacted."""
        line = bytes(self._pending)
        whole = self._redact(line)
        for end in range(len(line) - OVERLAP, 0, -OVERLAP):
            if self._redact(line[:end]) + self._redact(line[end:]) == whole:
                return end
        return len(line)

    def _keep(self, redacted: bytes) -> None:
        room = self._half - len(self._head)
        self._head += redacted[:room]
        self._write(redacted[:room])
        self._keep_tail(redacted[room:])

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
        """What is kept; where the middle is missing a line says how much."""
        if self._pending:
            self._keep(self._redact(bytes(self._pending)))
            self._pending.clear()
        tail = self._whole_lines(b"".join(self._tail))
        gap = f"\n[... {self._left_out} bytes left out ...]\n".encode() if self._left_out else b""
        tail = gap + self._redact(tail)
        self._write(tail)
        return bytes(self._head) + tail

    def _whole_lines(self, tail: bytes) -> bytes:
        """The tail without what may be the end of a secret whose beginning was left out."""
        if not self._left_out:
            return tail
        start = tail.find(b"\n", 0, LINE) + 1 or min(OVERLAP, len(tail))
        self._left_out += start
        return tail[start:]


def open_log(path: Path) -> BinaryIO:
    """A log file for a capture; unbuffered, so that a person can follow it. It leads nowhere if it cannot be made.

    An agent may have put a link or a pipe in its place, which gives way.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_fifo():
            make_way(path)
        return path.open("wb", buffering=0)
    except OSError:
        return Path(os.devnull).open("wb", buffering=0)
