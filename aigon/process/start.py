"""Start a program in a session of its own, and run a program of aigon's own."""

import contextlib
import errno
import functools
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from msgspec import Struct

from aigon.process import orphans

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


_CHUNK = 65536


def capture_output(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    restore_signals: bool = False,
    enter: Enter | None = None,
    seconds: float | None = None,
) -> tuple[int, bytes, bytes]:
    """Return exit code, standard output and standard error of a short, trusted program (git): no log.

    After so many `seconds`, it is killed with what it started.

    It gets its own session, so that Ctrl+C in the terminal does not hit it half-way. It inherits that SIGXFSZ (a file
    may not grow any more) is ignored, unless it may start hooks: git that is killed by this signal leaves its locks.
    """
    process = start_program(
        Program(argv, enter),
        restore_signals=restore_signals,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        signal_group(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += b"It did not answer within %d seconds" % (seconds or 0)
    return process.returncode, out, err


def start_capture(argv: Sequence[str], env: Mapping[str, str]) -> Callable[[], tuple[int, bytes, bytes]]:
    """Start a short, trusted program here, with an empty input and in its own session.

    Return what waits for it and returns exit code, standard output and standard error. It takes a third of the calls of
    `capture_output`, which a run makes some times per iteration. Raises OSError.
    """
    _close_inherited_on_exec()
    with contextlib.ExitStack() as theirs:
        pipes = []
        for _ in range(2):
            read, write = os.pipe()
            theirs.callback(os.close, write)
            pipes.append((read, write))
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        theirs.callback(os.close, null)
        streams = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate((null, pipes[0][1], pipes[1][1]))]
        try:
            pid = os.posix_spawnp(argv[0], [*argv], env, file_actions=streams, setsid=True)
        except OSError:
            for read, _ in pipes:
                os.close(read)
            raise

    def finish() -> tuple[int, bytes, bytes]:
        pieces: dict[int, list[bytes]] = {read: [] for read, _ in pipes}
        poll = select.poll()
        for read in pieces:
            poll.register(read, select.POLLIN)
        left = len(pieces)
        while left:
            for read, _ in poll.poll():
                if piece := os.read(read, _CHUNK):
                    pieces[read].append(piece)
                else:
                    poll.unregister(read)
                    os.close(read)
                    left -= 1
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            code = UNKNOWN_EXIT
        out, err = map(b"".join, pieces.values())
        return code, out, err

    return finish


@functools.cache
def _close_inherited_on_exec() -> None:
    """Close on exec what this process was started with, as a lock of a script around it: posix_spawn closes nothing.

    What this process opens itself is closed on exec anyway.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names alone
            if int(name) > 2:
                with contextlib.suppress(OSError):
                    os.set_inheritable(int(name), False)


def capture_beginning(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], most: int) -> bytes:
    """Return the first `most` bytes that a short, trusted program prints, and end it then."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=null, stdout=subprocess.PIPE, stderr=null, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        data = process.stdout.read(most)
        process.kill()
    return data


def pipe_output(
    source: Program,
    target: Sequence[str],
    *,
    cwd: Path,
    envs: tuple[Mapping[str, str], Mapping[str, str]],
    stdin: bytes,
    deadline: float,
) -> tuple[int, bytes, bytes]:
    """Feed what an untrusted program prints to a trusted one; return exit code, output and errors of the latter.

    The `source` reads `stdin`, and is killed at the `deadline` (seconds), or when the target has ended.
    """
    import tempfile  # a run whose agent commits nothing does without

    with tempfile.TemporaryFile() as asked:
        asked.write(stdin)
        asked.seek(0)
        first = start_program(
            source, cwd=cwd, env=envs[0], stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    assert first.stdout is not None
    timer = threading.Timer(deadline, signal_group, (first.pid, signal.SIGKILL))
    timer.start()
    try:
        second = subprocess.Popen(
            target,
            restore_signals=False,
            cwd=cwd,
            env=envs[1],
            stdin=first.stdout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        first.stdout.close()
        out, err = second.communicate()
    finally:
        timer.cancel()
        signal_group(first.pid, signal.SIGKILL)
        first.wait()
    return second.returncode, out, err
