"""A program that is started and stays, and the TCP ports that it listens on."""

import contextlib
import errno
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aigon.process import orphans
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
        return [pid for pid in orphans.list_descendants() if not orphans.is_zombie(pid)]

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
            _wait_until_true(lambda: self.exit_code() is not None and not self.living(), grace)
        self.exit_code()  # before the sweep collects it
        killed = orphans.sweep()
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


def start_server(argv: Sequence[str], cwd: Path, env: Mapping[str, str], seen: Callable[[bytes], None]) -> Server:
    """Start a server in a session of its own; `seen` gets what it prints, in a thread. Raises OSError.

    Its standard input is a pipe that stays open and empty: to some development servers its end is a request to end.
    """
    orphans.adopt_orphans()
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


def _wait_until_true(condition: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(PAUSE)


LOOPBACK = ("127.0.0.1", "::1")
"""Where a server is looked for: some bind only to what `localhost` means first."""
RANGE = 100
"""Ports from a base on that are one agent's own, where several work side by side."""
CONNECT_SECONDS = 1.0


def find_free_port(base: int | None = None) -> int:
    """A port that nothing listens on. With `base`, one of the RANGE from there on; the order is random.

    Raises OSError where there is none.
    """
    if base is None:
        with socket.socket() as probe:
            probe.bind((LOOPBACK[0], 0))
            port: int = probe.getsockname()[1]
            return port
    for port in random.sample(range(base, base + RANGE), RANGE):
        if port <= 65535 and not find_port_conflict(port):
            return port
    raise OSError(errno.EADDRINUSE, f"no port from {base} to {base + RANGE - 1} is free")


def find_answering_host(port: int) -> str:
    """The loopback address on which something accepts connections; empty for none."""
    for host in LOOPBACK:
        with contextlib.suppress(OSError), socket.create_connection((host, port), CONNECT_SECONDS):
            return host
    return ""


def find_port_conflict(port: int) -> str:
    """Why a server could not listen on a port, in a few words; empty where it could."""
    if find_answering_host(port):
        return "in use"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return "in use" if error.errno == errno.EADDRINUSE else str(error.strerror or error).lower()
    return ""


def find_port_holder(port: int) -> int | None:
    """The process that listens on a port, where this user may know."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for each in psutil.net_connections(kind="tcp"):
            if _read_listening_port(each) == port and each.pid:
                return int(each.pid)
    return None


def describe_process(pid: int | None) -> str:
    """A process as people know it: `pid 123 (node)`."""
    import psutil

    if pid is None:
        return "a process that you may not look into"
    with contextlib.suppress(psutil.Error, OSError):
        return f"pid {pid} ({psutil.Process(pid).name()})"
    return f"pid {pid}"


def list_listening_ports(pids: Iterable[int]) -> tuple[int, ...]:
    """The ports that these processes listen on, sorted."""
    import psutil

    found: set[int] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            rows = psutil.Process(pid).net_connections(kind="tcp")
            found |= {port for row in rows if (port := _read_listening_port(row))}
    return tuple(sorted(found))


def _read_listening_port(row: Any) -> int:
    """The port that a row of psutil's table of connections says is listened on; 0 for another one."""
    import psutil

    return int(row.laddr.port) if row.status == psutil.CONN_LISTEN and row.laddr else 0


def read_port_base(env: "os._Environ[str]") -> int | None:
    """The first of the ports that AIGON_PORT_BASE gives to this agent; None where it gives none."""
    text = env.get("AIGON_PORT_BASE", "")
    return int(text) if text.isdecimal() and 0 < int(text) <= 65535 else None
