"""Start a program in a session of its own: from this process, or by a spawner; and run a program of aigon's own.

A spawner spares a program the start of an interpreter. It runs a launcher, `launcher.py serve`, in which nothing but
the modules of the launcher was loaded. For each request it forks a process that becomes a child of this process, not of
its own, so that waiting, signals and exit codes are as for any other child. Only that fork reads the request: what one
program gets is in no later one's memory.
"""

import contextlib
import errno
import marshal
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from msgspec import Struct

from aigon.process import orphans

if TYPE_CHECKING:
    import socket

RunningProgram = subprocess.Popen[bytes]
"""A program that was started and is not waited for yet."""
Enter = Callable[[], None]
"""Confines the thread that calls it and what this thread starts, for good. Raises OSError."""


UNKNOWN_EXIT = -int(signal.SIGKILL)
"""The exit code of a program that somebody else has collected: only a sweep does that, which kills first."""


class _Program(subprocess.Popen[bytes]):
    """A program whose exit may be unknown; Popen takes that for success."""

    def wait(self, timeout: float | None = None) -> int:
        try:
            if self.returncode is None:
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | (0 if timeout is None else os.WNOHANG))
        except ChildProcessError:
            self.returncode = UNKNOWN_EXIT
        return super().wait(timeout)


class Program(Struct, frozen=True):
    """A command line, and what the thread that starts it has to `enter` before."""

    argv: Sequence[str]
    enter: Enter | None = None


def start_program(program: Program, **options: Any) -> RunningProgram:
    """Start a program in its own session, from a thread of its own if that is confined for it. Raises OSError."""
    enter = program.enter
    if enter is None:
        return _Program(program.argv, start_new_session=True, **options)
    from concurrent.futures import ThreadPoolExecutor

    def start_confined() -> RunningProgram:
        enter()
        return _Program(program.argv, start_new_session=True, **options)

    with ThreadPoolExecutor(1, thread_name_prefix="confined") as confined:
        try:
            return confined.submit(start_confined).result()
        except RuntimeError as error:  # the system gives no thread
            raise OSError(errno.EAGAIN, str(error)) from error


def signal_group(group: int, number: signal.Signals) -> None:
    """Signal a whole process group, if it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class SpawnedProgram(Struct):
    """A program that the spawner started, with the ends of its pipes."""

    pid: int
    stdout: BinaryIO
    stderr: BinaryIO | None

    def wait(self) -> None:
        """Wait until the program has ended, and reap it."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class Spawner:
    """Starts programs whose command line begins with `launcher`, the command line of a launcher, and with namespaces.

    It ends with this process, and is started anew if it died.
    """

    def __init__(self, launcher: Sequence[str]) -> None:
        self._launcher = [*launcher]
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._has_forked = False

    def start(self) -> bool:
        """Start the process; its interpreter comes up aside. Return whether it was started.

        What it forks gets its parent-death signal when the thread ends that started it: only the main thread does.
        """
        if threading.current_thread() is not threading.main_thread():
            return False
        import socket  # most commands start no spawner

        mine, its = socket.socketpair()
        with its:
            argv, null = [*self._launcher, "serve", str(its.fileno())], subprocess.DEVNULL
            try:
                self._process = subprocess.Popen(
                    argv, cwd="/", env={}, stdin=null, stdout=null, stderr=null, start_new_session=True,
                    pass_fds=[its.fileno()],
                )  # fmt: skip
            except OSError:  # every program can be started without
                mine.close()
                return False
        self._socket = mine
        orphans.kept.add(self._process.pid)
        return True

    def can_start(self, argv: Sequence[str]) -> bool:
        """Return whether this process may have it start that command line."""
        return self._owner == os.getpid() and [*argv[: len(self._launcher)]] == self._launcher

    def spawn(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: BinaryIO, merge: bool
    ) -> SpawnedProgram | None:
        """Start a program in its own session with pipes; None if it has to be started by its command line."""
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            pipes = [_open_pipe(ours, theirs) for _ in range(1 if merge else 2)]
            asked, request = os.pipe()
            theirs.callback(os.close, asked)
            with open(request, "wb") as file:  # noqa: PTH123 - a descriptor
                streams = (stdin.fileno(), pipes[0][1], pipes[-1][1])
                pid = self._fork(int(argv[len(self._launcher)]), [asked, *streams])
                if not pid:
                    return None
                program = SpawnedProgram(pid, pipes[0][0], None if merge else pipes[1][0])
                try:
                    file.write(marshal.dumps(([*argv[len(self._launcher) :]], dict(env), os.fspath(cwd))))
                    file.close()
                except OSError:  # the fork died before it had its request
                    program.wait()
                    return None
            ours.pop_all()
            return program

    def _fork(self, namespaces: int, descriptors: list[int]) -> int:
        """Return the number of a process in new namespaces that waits for its request, or 0."""
        with self._lock:
            if self._socket is None and self._has_forked:
                self.start()
            if self._socket is None:
                return 0
            import socket

            with contextlib.suppress(OSError):
                socket.send_fds(self._socket, [namespaces.to_bytes(4, "little")], descriptors)
                if answer := self._socket.recv(4):
                    self._has_forked = True
                    return int.from_bytes(answer, "little")
            self._end()  # one that never forked cannot: an old kernel, or a filter for system calls
            return 0

    def _end(self) -> None:
        if self._socket and self._process:
            self._socket.close()
            self._process.kill()
            self._process.wait()
            orphans.kept.discard(self._process.pid)
            self._socket = None

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()


def _open_pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[BinaryIO, int]:
    """Return the end to read from, and the one to write to."""
    read, write = os.pipe()
    theirs.callback(os.close, write)
    return ours.enter_context(open(read, "rb")), write  # noqa: PTH123 - a descriptor


class ProgramInterrupted(KeyboardInterrupt):
    """A signal that ends a program of aigon's. No Exception, so that no library takes it for an error of its own."""


def run_program(work: Callable[[], int], failure: int) -> NoReturn:
    """Run a program of aigon's own and leave with its exit code, or `failure`, or 128 plus a signal.

    At once: no thread is waited for, and every process that is left is ended.
    """
    endings = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in endings:
            signal.signal(each, signal.SIG_IGN)
        raise ProgramInterrupted(number)

    for number in endings:
        signal.signal(number, stop)
    code = failure
    try:
        code = work()
    except ProgramInterrupted as stopped:
        code = 128 + int(str(stopped))
    except SystemExit as wrong:
        if isinstance(wrong.code, str):
            print(f"aigon: {wrong}", flush=True)
        else:
            code = wrong.code or 0
    except BrokenPipeError:
        pass  # whoever started this is gone, and so is everybody who could use an answer
    except BaseException:
        import traceback

        traceback.print_exc()
    orphans.sweep()
    os._exit(code)
