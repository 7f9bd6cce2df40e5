"""A warm interpreter: aigon and its libraries imported once per test process, then forked for each command line.

Half of what a short aigon process costs is importing the same modules again. Each command is still a process of its
own, with its own arguments (in /proc, too), environment, folder and output, that runs `aigon.cli.main` to its exit.
What start-up itself does is tested by processes that begin from nothing: `test_startup.py`, `test_wheel.py`, the tour,
everything that `Lab.start` starts; and the whole suite is, with AIGON_FRESH_PROCESSES=1.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[1]
ROOM = 8192
"""Bytes for the command line that a fork shows in /proc: what looks for a loop among its ancestors looks there."""
AT_START = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "GIT_PYTHON_GIT_EXECUTABLE")
"""With PYTHON* and LD_*, what Python or a library reads once: a command with other values begins from nothing."""
LIBRARIES = (
    "anthropic",
    "git",
    "markdown_it",
    "mdit_py_plugins.front_matter",
    "psutil",
    "rich.live",
    "tomlkit",
    "yaml",
)
Ended = tuple[int, bytes, bytes]
AtStart = tuple[tuple[str, str], ...]


def run(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float, usual: Mapping[str, str]
) -> Ended | None:
    """Exit code, output and errors of `python -m aigon ...`; None where it has to begin from nothing.

    That is where another one is still running, and where what counts at the start is not as in the `usual` environment.
    Raises subprocess.TimeoutExpired, having killed it.
    """
    at_start = _at_start(env)
    if sys.platform != "linux" or os.environ.get("AIGON_FRESH_PROCESSES") or at_start != _at_start(usual):
        return None
    if not _one_at_a_time.acquire(blocking=False):
        return None
    try:
        return _ended(_server(at_start), argv, cwd, env, timeout)
    finally:
        _one_at_a_time.release()


_one_at_a_time = threading.Lock()
_servers: dict[AtStart, tuple["subprocess.Popen[bytes]", socket.socket]] = {}


def _at_start(env: Mapping[str, str]) -> AtStart:
    names = (name for name in env if name in AT_START or name.startswith(("PYTHON", "LD_")))
    return tuple((name, env[name]) for name in sorted(names))


def _server(start: AtStart) -> socket.socket:
    """An interpreter that began with these variables, and waits for command lines until this process ends.

    A new one where the last is gone: tests of what ends every descendant of a process run in this one.
    """
    known = _servers.get(start)
    if known is None or known[0].poll() is not None:
        known = _servers[start] = _started(start)
    return known[1]


def _started(start: AtStart) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.warm", str(theirs.fileno()), "-" * ROOM]
    process = subprocess.Popen(command, cwd=ROOT, env=dict(start), stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return process, ours


def _ended(server: socket.socket, argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float) -> Ended:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        request = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}).encode()
        socket.send_fds(server, [len(request).to_bytes(4, "big")], [out.fileno(), err.fileno()])
        server.sendall(request)
        pid = _number(server)
        server.settimeout(timeout)
        try:
            code = _number(server)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            server.settimeout(None)
            _number(server)
            raise subprocess.TimeoutExpired(list(argv), timeout) from None
        finally:
            server.settimeout(None)
        for file in (out, err):
            file.seek(0)
        return code, out.read(), err.read()


def _number(connection: socket.socket) -> int:
    received = connection.recv(8, socket.MSG_WAITALL)
    assert len(received) == 8, "the warm interpreter is gone"
    return int.from_bytes(received, "big", signed=True)


def serve(connection: socket.socket) -> dict[str, object]:
    """Fork for each request; what a fork has to run comes back in the fork, and nothing ever in the server."""
    while True:
        head, files, _, _ = socket.recv_fds(connection, 4, 2)
        if not head:
            os._exit(0)
        request: dict[str, object] = json.loads(connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        pid = os.fork()
        if not pid:
            os.dup2(files[0], 1)
            os.dup2(files[1], 2)
            for descriptor in (*files, connection.detach()):
                os.close(descriptor)
            return request
        for descriptor in files:
            os.close(descriptor)
        connection.sendall(pid.to_bytes(8, "big", signed=True))
        _, status = os.waitpid(pid, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))


def _become(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
    """Be as `python -m aigon ...` is when it begins there."""
    _show(argv)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    time.tzset()
    sys.argv[:] = [str(ROOT / "aigon" / "__main__.py"), *argv[3:]]
    sys.orig_argv[:] = argv
    sys.path[0] = cwd


def _show(argv: Sequence[str]) -> None:
    """Write the command line where the kernel reads it for /proc (proc(5): arg_start and arg_end)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    line = b"".join(os.fsencode(word) + b"\0" for word in argv)[: end - start]
    ctypes.memmove(start, line.ljust(end - start, b"\0"), end - start)


def _import_everything() -> None:
    """What cannot be imported fails in the command that needs it."""
    import aigon

    modules = [module.name for module in pkgutil.walk_packages(aigon.__path__, "aigon.", onerror=lambda _: None)]
    for name in (*modules, *LIBRARIES):
        if not name.endswith("__main__"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _end(code: object) -> NoReturn:
    """End as an interpreter does, without taking down all that was imported: that would copy every page of memory."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined] # waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    _import_everything()
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    _become(**wanted)  # type: ignore[arg-type]
    from aigon.cli import main

    try:
        main()
        _end(None)
    except SystemExit as ended:
        _end(ended.code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        _end(1)
