"""A warm interpreter: aigon and its libraries imported once per test process, then forked for each command line.

Half of what a short aigon process costs is importing the same modules again. Each command is still a process of its
own, with its own arguments and environment (in /proc, too), folder and output, that runs `aigon.cli.main` to its exit.
What start-up itself does is tested by processes that begin from nothing: `test_startup.py`, `test_wheel.py`, the tour;
and the whole suite is, with AIGON_FRESH_PROCESSES=1.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import marshal
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).parents[1]
ROOM = 8192
"""Bytes for the command line that a fork shows in /proc, where aigon looks for a loop among its ancestors, and for the
environment, by which tests find what was left behind."""
AT_START = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""With PYTHON* and LD_*, what Python or a library reads once: a command with other values begins from nothing."""
LIBRARIES = (
    "encodings.utf_8_sig",
    "git",
    "markdown_it",
    "mdit_py_plugins.front_matter",
    "platformdirs",
    "psutil",
    "rich.live",
    "tomlkit",
    "yaml",
)
LARGE = ("aigon.agents.anthropic_api", "aigon.agents.api_agent", "aigon.mcp", "aigon.ui")
"""What imports more than all the rest: with it a fork takes twice as long, so a second interpreter holds it."""
Ended = tuple[int, bytes, bytes]
AtStart = tuple[tuple[str, str], ...]


def run(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float, usual: Mapping[str, str]
) -> Ended | None:
    """Exit code, output and errors of `python -m aigon ...`; None where it has to begin from nothing.

    That is where another one is still running, and where what counts at the start is not as in the `usual` environment.
    Raises subprocess.TimeoutExpired, having killed it.
    """
    if not _begins_alike(env, usual) or not _one_at_a_time.acquire(blocking=False):
        return None
    try:
        with _connection(_at_start(usual) + _needs(argv, env)) as server:
            return _ended(server, argv, cwd, env, timeout)
    finally:
        _one_at_a_time.release()


class Started(subprocess.Popen[str]):
    """A command line that runs, in a session of its own and without input, as a Popen with pipes shows one.

    Its parent is not this process but one that waits for it, and tells how it ended.
    """

    def __init__(self, argv: Sequence[str], pid: int, told: socket.socket, out: IO[str], err: IO[str]) -> None:
        self.args, self.pid, self._told = argv, pid, told
        self.stdin, self.stdout, self.stderr = None, out, err
        self.returncode: Any = None  # as Popen has it: None while it runs

    def poll(self) -> int | None:
        """Its exit code as of Popen, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        code: int | None = self.returncode
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            told = self._told.recv(8, socket.MSG_WAITALL)
            self._told.close()  # nothing is told where somebody killed the one that waits, too
            self.returncode = int.from_bytes(told, "big", signed=True) if told else -signal.SIGKILL
        return int(self.returncode)

    def send_signal(self, sig: int) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it ended just now, and the server collected it
                os.kill(self.pid, sig)

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """All that it prints. Raises subprocess.TimeoutExpired."""
        assert input is None and self.stdout and self.stderr
        limit = None if timeout is None else time.monotonic() + timeout
        said = ["", ""]
        readers = [
            threading.Thread(target=_read, args=(pipe, said, at), daemon=True)
            for at, pipe in enumerate((self.stdout, self.stderr))
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if limit is None else max(0.0, limit - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if limit is None else max(0.0, limit - time.monotonic()))
        return said[0], said[1]


def _read(pipe: IO[str], said: list[str], at: int) -> None:
    if not pipe.closed:
        said[at] = pipe.read()
        pipe.close()


def started(argv: Sequence[str], cwd: Path, env: Mapping[str, str], usual: Mapping[str, str]) -> Started | None:
    """`python -m aigon ...` that is left running; None where it has to begin from nothing."""
    if not _begins_alike(env, usual):
        return None
    (out, to_out), (err, to_err), (told, telling) = os.pipe(), os.pipe(), socket.socketpair()
    with _one_at_a_time, _connection(_at_start(usual) + _needs(argv, env)) as server:
        _ask(server, argv, cwd, env, (to_out, to_err, telling.fileno()))
    for descriptor in (to_out, to_err):
        os.close(descriptor)
    telling.close()
    return Started(argv, _number(told), told, os.fdopen(out), os.fdopen(err))


def _begins_alike(env: Mapping[str, str], usual: Mapping[str, str]) -> bool:
    """Whether a fork of the warm interpreter is what a process that begins from nothing with `env` would be."""
    if sys.platform != "linux" or os.environ.get("AIGON_FRESH_PROCESSES"):
        return False
    return _at_start(env) == _at_start(usual)


_one_at_a_time = threading.Lock()
_servers: dict[AtStart, tuple["subprocess.Popen[bytes]", socket.socket]] = {}


def _at_start(env: Mapping[str, str]) -> AtStart:
    names = (name for name in env if name in AT_START or name.startswith(("PYTHON", "LD_")))
    return tuple((name, env[name]) for name in sorted(names))


def _needs(argv: Sequence[str], env: Mapping[str, str]) -> AtStart:
    """The variable that has a server import what is large, for a command that may need it."""
    asks = bool(env.get("ANTHROPIC_API_KEY")) and "doctor" not in argv  # which only looks for the key
    return (("LARGE", "1"),) if asks or {"mcp", "ui"}.intersection(argv) else ()


@contextlib.contextmanager
def _connection(start: AtStart) -> Iterator[socket.socket]:
    """Yield the connection to a server that began with these variables and serves until this process ends.

    Start a new server if the last one is gone: some tests end every descendant of this process. End the server after
    any exception, an interruption too: the answer to the broken-off request would be taken for the next one's.
    """
    known = _servers.get(start)
    if known is None or known[0].poll() is not None:
        known = _servers[start] = _started(start)
    process, server = known
    try:
        yield server
    except BaseException:
        del _servers[start]
        server.close()
        process.wait()
        raise


def _started(start: AtStart) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.warm", str(theirs.fileno()), "-" * ROOM]
    measured = {name: os.environ[name] for name in ("COVERAGE_PROCESS_CONFIG",) if name in os.environ}
    env = {**dict(start), **measured, "PATH": os.environ.get("PATH", os.defpath), "ROOM": "-" * ROOM}
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    theirs.close()
    ours.recv(1)  # it is ready: what it takes to import everything is no part of the time that a command may take
    atexit.register(process.wait)
    atexit.register(ours.close)
    return process, ours


def _ended(server: socket.socket, argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float) -> Ended:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        _ask(server, argv, cwd, env, (out.fileno(), err.fileno()))
        if not select.select([server], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(list(argv), timeout)
        code = _number(server)
        for file in (out, err):
            file.seek(0)
        return code, out.read(), err.read()


def _ask(server: socket.socket, argv: Sequence[str], cwd: Path, env: Mapping[str, str], files: Sequence[int]) -> None:
    """Ask for a fork with this output; with a third file for one that is left running: it tells id and end."""
    request = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}).encode()
    socket.send_fds(server, [len(request).to_bytes(4, "big")], files)
    server.sendall(request)


def _number(connection: socket.socket) -> int:
    received = connection.recv(8, socket.MSG_WAITALL)
    assert len(received) == 8, "the warm interpreter is gone"
    return int.from_bytes(received, "big", signed=True)


def serve(connection: socket.socket) -> dict[str, object]:
    """Fork for each request; what a fork has to run comes back in the fork, and nothing ever in the server.

    Once the connection is closed, kill the fork that somebody waited for, and exit.
    """
    apart: set[int] = set()
    while True:
        head, files, _, _ = socket.recv_fds(connection, 4, 3)
        size = int.from_bytes(head, "big")
        text = connection.recv(size, socket.MSG_WAITALL) if head else b""
        if not head or len(text) < size:
            os._exit(0)
        request: dict[str, object] = json.loads(text)
        out, err, *told = files
        pid = os.fork()
        if not pid:
            connection.close()
            if told:
                _wait_for_a_fork(socket.socket(fileno=told[0]), (out, err))
                os.setsid()
            os.dup2(out, 1)
            os.dup2(err, 2)
            for descriptor in files:
                os.close(descriptor)
            return request
        for descriptor in files:
            os.close(descriptor)
        apart = {other for other in apart if not os.waitpid(other, os.WNOHANG)[0]}
        if told:
            apart.add(pid)
        else:
            _kill_if_closed(connection, pid)
            code = _exit_code(pid)
            with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more; the next turn exits
                connection.sendall(code)


def _kill_if_closed(connection: socket.socket, pid: int) -> None:
    """Wait until the process ends; kill it if the connection is closed before that."""
    ended = os.pidfd_open(pid)
    ready, _, _ = select.select([ended, connection.fileno()], [], [])
    if ended not in ready:
        os.kill(pid, signal.SIGKILL)
    os.close(ended)


def _wait_for_a_fork(told: socket.socket, files: Sequence[int]) -> None:
    """Fork once more, tell its id and in the end its exit code; returns in the fork alone."""
    pid = os.fork()
    if not pid:
        told.detach()
        return
    for descriptor in (1, 2, *files):
        os.close(descriptor)
    told.sendall(pid.to_bytes(8, "big", signed=True))
    told.sendall(_exit_code(pid))
    os._exit(0)


def _exit_code(pid: int) -> bytes:
    """Wait for its end."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True)


def _become(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
    """Be as `python -m aigon ...` is when it begins there."""
    os.environ.clear()
    os.environ.update(env)
    _show(argv, env)
    os.chdir(cwd)
    time.tzset()
    sys.argv[:] = [str(ROOT / "aigon" / "__main__.py"), *argv[3:]]
    sys.orig_argv[:] = argv
    sys.path[0] = cwd


def _show(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Write the command line and the environment where the kernel reads them for /proc (proc(5): arg_start, env_start).

    Python has copies of both, so nothing reads the old ones there any more.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    for at, words in ((45, argv), (47, [f"{name}={value}" for name, value in env.items()])):
        start, end = int(fields[at]), int(fields[at + 1])
        text = b"".join(os.fsencode(word) + b"\0" for word in words)[: end - start]
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def _import_everything() -> None:
    """What cannot be imported fails in the command that needs it."""
    import re

    import aigon

    re._MAXCACHE = 10_000  # type: ignore[attr-defined] # of 512 patterns, what is read below would drop the first ones

    modules = [module.name for module in pkgutil.walk_packages(aigon.__path__, "aigon.", onerror=lambda _: None)]
    for name in (*modules, *LIBRARIES):
        if not name.endswith("__main__") and ("LARGE" in os.environ or not name.startswith(LARGE)):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    with contextlib.suppress(Exception):
        _read_what_ships()
    for pattern, flags in () if "LARGE" in os.environ else _list_patterns_of_a_run():
        re.compile(pattern, flags)
    gc.collect()
    gc.freeze()


def _read_what_ships() -> None:
    """What a command reads of aigon's own data, and keeps, since it cannot change while it runs."""
    import msgspec

    from aigon.agents import adapters
    from aigon.agents.adapters import _activities
    from aigon.checks.parsers import matchers, opaque
    from aigon.checks.project_checks import resolve_checks
    from aigon.config import prices, sections
    from aigon.config.models import Config
    from aigon.files import resources
    from aigon.job.options import Options
    from aigon.judge import quotes
    from aigon.profiles import profile
    from aigon.profiles.protection import Protection
    from aigon.proof.integrity import suspicions
    from aigon.secrets import leaks, redaction
    from aigon.spec.document import parse_spec
    from aigon.text import patterns

    shipped = resources.read_profiles()
    profile.load_profiles(shipped, {})
    rules = profile.load_protections(shipped, {})
    Protection(rules).rules_of("x")
    for pattern in (pattern for rule in rules for pattern in rule.paths):
        patterns.compile_glob(pattern)
        patterns.is_match(pattern, "x")
    leaks.find_leak("docs/credentials.json", b"")
    prices.load_shipped_prices()
    parse_spec(b"# Feature: X\n\n## Acceptance Criteria\n\n- [ ] it is <!-- verify: true -->\n- [ ] it is, too\n")
    opaque._load_signs()
    matchers.list_matchers()
    suspicions.read_suspicions()
    redaction._list_base64_hints()
    quotes.find_code("x.py", "x = 1  # one\n")
    adapters.load_types()
    _activities.read_activity_rules("command")
    resources._scan_plugins.cache_clear()  # what is installed is a matter of where a command begins
    with tempfile.TemporaryDirectory() as empty:
        resolve_checks(Path(empty), Config(), None, Options(""), {})
    for each in gc.get_objects():
        if isinstance(each, patterns._LazyPattern):
            _ = each.pattern  # compiled when it is first used
        elif isinstance(each, resources.Registry):
            each.builtins()
        elif isinstance(each, type) and issubclass(each, msgspec.Struct):
            with contextlib.suppress(Exception):
                msgspec.json.Decoder(each)  # a class is described when it is first read
            if issubclass(each, sections.Section):
                sections.list_fields(each)
            redaction._make_getter(each)


def _list_patterns_of_a_run() -> list[tuple[Any, int]]:
    """Run a feature in a fork and return the expressions that it compiled: that is a tenth of what a short run costs.

    Nothing else is taken over from it: what a run keeps in mind of its folder and environment is no other run's.
    """
    reading, writing = os.pipe()
    if not os.fork():
        os.close(reading)
        with contextlib.suppress(BaseException):
            _run_a_feature()
        import re

        os.write(writing, marshal.dumps([(pattern, int(flags)) for _, pattern, flags in re._cache]))  # type: ignore[attr-defined]
        _end(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        told = file.read()
    os.wait()
    return marshal.loads(told) if told else []


def _run_a_feature() -> None:
    """Build a feature in a repository of its own, without a word."""
    from aigon.cli import main
    from tests.lab import Lab

    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("r+b") as nothing:
        lab = Lab(Path(folder)).init()
        lab.spec("it is done <!-- verify: test -f done.txt -->", "all tests pass")
        lab.write("tests/test_one.py", "def test_one():\n    assert 1 == 1\n")
        lab.agent("touch done.txt; echo 'one = 1' > one.py; sed -i 's/1 == 1/2 == 2/' tests/test_one.py")
        lab.config(checks={"tests": {"command": "true"}})
        lab.commit("a feature")
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
        _become([*lab.command("feature-implement", "42", "--loop")], str(lab.root), lab.env)
        with contextlib.suppress(SystemExit):
            main()
        os.chdir("/")


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
    asked = socket.socket(fileno=int(sys.argv[1]))
    asked.sendall(b"\n")
    wanted = serve(asked)
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
