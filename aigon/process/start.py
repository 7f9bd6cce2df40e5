"""Start a program in a session of its own, and run a program of aigon's own."""

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
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
