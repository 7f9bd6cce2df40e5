"""TCP ports on this machine: a free one, whether one answers, and who listens."""

import contextlib
import errno
import os
import random
import socket
from collections.abc import Iterable
from typing import Any

LOOPBACK = ("127.0.0.1", "::1")
"""Where a server is looked for: some bind only to what `localhost` means first."""
RANGE = 100
"""Ports from a base on that are one agent's own, where several work side by side."""
CONNECT_SECONDS = 1.0


def free(base: int | None = None) -> int:
    """A port that nothing listens on. With `base`, one of the RANGE from there on; the order is random.

    Raises OSError where there is none.
    """
    if base is None:
        with socket.socket() as probe:
            probe.bind((LOOPBACK[0], 0))
            port: int = probe.getsockname()[1]
            return port
    for port in random.sample(range(base, base + RANGE), RANGE):
        if port <= 65535 and not taken(port):
            return port
    raise OSError(errno.EADDRINUSE, f"no port from {base} to {base + RANGE - 1} is free")


def answering(port: int) -> str:
    """The loopback address on which something accepts connections; empty for none."""
    for host in LOOPBACK:
        with contextlib.suppress(OSError), socket.create_connection((host, port), CONNECT_SECONDS):
            return host
    return ""


def taken(port: int) -> str:
    """Why a server could not listen on a port, in a few words; empty where it could."""
    if answering(port):
        return "in use"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return "in use" if error.errno == errno.EADDRINUSE else str(error.strerror or error).lower()
    return ""


def holder(port: int) -> int | None:
    """The process that listens on a port, where this user may know."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for each in psutil.net_connections(kind="tcp"):
            if _listens(each) == port and each.pid:
                return int(each.pid)
    return None


def described(pid: int | None) -> str:
    """A process as people know it: `pid 123 (node)`."""
    import psutil

    if pid is None:
        return "a process that you may not look into"
    with contextlib.suppress(psutil.Error, OSError):
        return f"pid {pid} ({psutil.Process(pid).name()})"
    return f"pid {pid}"


def listening(pids: Iterable[int]) -> tuple[int, ...]:
    """The ports that these processes listen on, sorted."""
    import psutil

    found: set[int] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            rows = psutil.Process(pid).net_connections(kind="tcp")
            found |= {port for row in rows if (port := _listens(row))}
    return tuple(sorted(found))


def _listens(row: Any) -> int:
    """The port that a row of psutil's table of connections says is listened on; 0 for another one."""
    import psutil

    return int(row.laddr.port) if row.status == psutil.CONN_LISTEN and row.laddr else 0


def base_of(env: "os._Environ[str]") -> int | None:
    """The first of the ports that AIGON_PORT_BASE gives to this agent; None where it gives none."""
    text = env.get("AIGON_PORT_BASE", "")
    return int(text) if text.isdecimal() and 0 < int(text) <= 65535 else None
