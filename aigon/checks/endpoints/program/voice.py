"""What this program prints: the server's output as it comes, and lines of its own between whole lines of that."""

import contextlib
import os
import threading

from aigon.text.fingerprints import plain

_STDOUT = 1
_LONGEST = 2000
"""Characters of a line of its own."""


class Voice:
    """Writes to standard output, from any thread. Nobody listening is no reason to stop draining a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = False

    def passed(self, chunk: bytes) -> None:
        """Output of the server, as it is."""
        with self._lock:
            self._write(chunk)
            self._begun = not chunk.endswith(b"\n")

    def line(self, text: str) -> None:
        """A line of this program's own."""
        folded = " ".join(plain(text).split())[:_LONGEST]
        with self._lock:
            before = "\n" if self._begun else ""
            self._write(f"{before}aigon: {folded}\n".encode("utf-8", "replace"))
            self._begun = False

    @staticmethod
    def _write(chunk: bytes) -> None:
        view = memoryview(chunk)
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(_STDOUT, view) :]
