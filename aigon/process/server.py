"""A program that is started and stays: its output is drained, and it ends with everything that it started.

Whoever uses this is a process of its own that has no other children to lose: what escapes the server's group becomes
its child (see `reaper`), and is ended by the same sweep.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aigon.process import reaper
from aigon.process.run import CHUNK, signal_group

KEPT = 64 * 1024
"""Bytes of output that are kept to look for its last words."""
PAUSE = 0.02
"""Seconds between two looks at what is ending."""
SETTLE = 0.5
"""Seconds for what is still in the pipe of a server that has ended."""


class Server:
    """A running server. `started` gives one; `stop` has to be called on every way out."""

    def __init__(self, process: "subprocess.Popen[bytes]", seen: Callable[[bytes], None]) -> None:
        self._process = process
        self._seen = seen
        self._tail: deque[bytes] = deque()
        self._size = 0
        self._code: int | None = None
        self._drain = threading.Thread(target=self._read, name="output", daemon=True)
        self._drain.start()

    def ended(self) -> bool:
        """Whether nothing of it serves any more: a launcher that exits with 0 may have left its server behind."""
        code = self.exit_code()
        return code is not None and (code != 0 or not self.living())

    def exit_code(self) -> int | None:
        """What the program that was started exited with, negative for a signal; None while it runs."""
        if self._code is None:
            self._code = self._process.poll()
        return self._code

    def living(self) -> list[int]:
        """Every process of it that runs."""
        return [pid for pid in reaper.descendants() if not reaper.is_zombie(pid)]

    def tail(self) -> bytes:
        """The end of what it printed. Of one that has ended, all that is still on its way is waited for."""
        if self.exit_code() is not None:
            self._drain.join(SETTLE)
        return b"".join(self._tail)

    def stop(self, grace: float) -> bool:
        """End it and everything that it started; whether that took SIGKILL.

        SIGTERM goes to its group and to whoever left it, SIGKILL to what is left after `grace` seconds.
        """
        if grace > 0 and (self.exit_code() is None or self.living()):
            signal_group(self._process.pid, signal.SIGTERM)
            for pid in self.living():
                _terminate(pid, self._process.pid)
            _until(lambda: self.exit_code() is not None and not self.living(), grace)
        self.exit_code()  # before the sweep collects it
        killed = reaper.sweep()
        self._drain.join(SETTLE)
        return killed > 0

    def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), CHUNK):
            self._tail.append(chunk)
            self._size += len(chunk)
            while self._size - len(self._tail[0]) > KEPT:
                self._size -= len(self._tail.popleft())
            self._seen(chunk)


def started(argv: Sequence[str], cwd: Path, env: Mapping[str, str], seen: Callable[[bytes], None]) -> Server:
    """Start a server in a session of its own; `seen` gets what it prints, in a thread. Raises OSError.

    Its standard input is a pipe that stays open and empty: to some development servers its end is a request to end.
    """
    reaper.adopt_orphans()
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return Server(process, seen)


def _terminate(pid: int, group: int) -> None:
    """SIGTERM for a process that is no longer in the group."""
    with contextlib.suppress(OSError):
        if os.getpgid(pid) != group:
            os.kill(pid, signal.SIGTERM)


def _until(condition: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(PAUSE)
