"""A program that is started and stays, and the TCP ports that it listens on.

Use it in a process without other children: what escapes the server's group becomes a child of this process
(`aigon.process.orphans`), and the same sweep ends it.
"""

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
from aigon.process.run import CHUNK
from aigon.process.start import signal_group

KEPT = 64 * 1024
"""Bytes of output that are kept for its last words."""
PAUSE = 0.02
"""Seconds between two looks at a server that ends."""
SETTLE = 0.5
"""Seconds to read what is left in the pipe of a server that has ended."""


class Server:
    """A running server, made by `start_server`. Call `stop` on every way out."""

    def __init__(self, process: "subprocess.Popen[bytes]", seen: Callable[[bytes], None]) -> None:
        self._process = process
        self._seen = seen
        self._tail: deque[bytes] = deque()
        self._size = 0
        self._code: int | None = None
        self._drain = threading.Thread(target=self._read, name="output", daemon=True)
        self._drain.start()

    def has_ended(self) -> bool:
        """Return whether nothing serves any more. A launcher that exits with 0 may have left its server running."""
        code = self.exit_code()
        return code is not None and (code != 0 or not self.living())

    def exit_code(self) -> int | None:
        """Return the exit code of the program that was started, negative for a signal; None while it runs."""
        if self._code is None:
            self._code = self._process.poll()
        return self._code

    def living(self) -> list[int]:
        return [pid for pid in orphans.list_descendants() if not orphans.is_zombie(pid)]

    def tail(self) -> bytes:
        """Return the end of what it printed, up to the last byte once it has ended."""
        if self.exit_code() is not None:
            self._drain.join(SETTLE)
        return b"".join(self._tail)

    def stop(self, grace: float) -> bool:
        """End it and everything that it started; return whether that took SIGKILL.

        SIGTERM goes to its group and to what has left it, SIGKILL to what still runs after `grace` seconds.
        """
        if grace > 0 and (self.exit_code() is None or self.living()):
            signal_group(self._process.pid, signal.SIGTERM)
            for pid in self.living():
                with contextlib.suppress(OSError):
                    if os.getpgid(pid) != self._process.pid:
                        os.kill(pid, signal.SIGTERM)
            limit = time.monotonic() + grace
            while (self.exit_code() is None or self.living()) and time.monotonic() < limit:
                time.sleep(PAUSE)
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
    """Start a server in its own session; `seen` gets what it prints, in a thread. Raises OSError.

    Its standard input is a pipe that stays open and empty: some development servers exit when it ends.
    """
    orphans.adopt_orphans()
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    process = subprocess.Popen(
        argv, cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=both, start_new_session=True
    )
    return Server(process, seen)


LOOPBACK = ("127.0.0.1", "::1")
"""Where a server is looked for: some bind only to the first address of `localhost`."""
RANGE = 100
"""Ports from a base on that belong to one agent if several work side by side."""
CONNECT_SECONDS = 1.0


def find_free_port(base: int | None = None) -> int:
    """Return a port that nothing listens on; with `base`, a random one of the RANGE from there. Raises OSError."""
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
    """Return the loopback address on which something accepts connections, "" if nothing does."""
    for host in LOOPBACK:
        with contextlib.suppress(OSError), socket.create_connection((host, port), CONNECT_SECONDS):
            return host
    return ""


def find_port_conflict(port: int) -> str:
    """Return why a server cannot listen on a port, in a few words; "" if it can."""
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
    """Return the process that listens on a port, as far as this user may know."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            if _read_listening_port(connection) == port and connection.pid:
                return int(connection.pid)
    return None


def describe_process(pid: int | None) -> str:
    """Return a process as people know it: `pid 123 (node)`."""
    import psutil

    if pid is None:
        return "a process that you may not look into"
    with contextlib.suppress(psutil.Error, OSError):
        return f"pid {pid} ({psutil.Process(pid).name()})"
    return f"pid {pid}"


def list_listening_ports(pids: Iterable[int]) -> tuple[int, ...]:
    import psutil

    ports: set[int] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            ports |= {_read_listening_port(row) for row in psutil.Process(pid).net_connections(kind="tcp")}
    return tuple(sorted(ports - {0}))


def _read_listening_port(connection: Any) -> int:
    import psutil

    return int(connection.laddr.port) if connection.status == psutil.CONN_LISTEN and connection.laddr else 0


def read_port_base(env: "os._Environ[str]") -> int | None:
    """Return the first of the ports that AIGON_PORT_BASE gives to this agent."""
    text = env.get("AIGON_PORT_BASE", "")
    return int(text) if text.isdecimal() and 0 < int(text) <= 65535 else None
