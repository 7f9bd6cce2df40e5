"""Run a program to its exit, never to the end of its pipes."""

import contextlib
import math
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from aigon.model.turns import ProgramExit
from aigon.process import orphans
from aigon.process.capture import Capture, open_log
from aigon.process.meter import IdleClock
from aigon.process.spawner import SpawnedProgram, Spawner
from aigon.process.start import Enter, Program, RunningProgram, signal_group, start_program
from aigon.process.stop import POLL_SECONDS, Stop

RUNNING, STANDING = 1 / 6, 1.5
"""Parts of its ordinary time for which a program runs, and is then paused: in all it takes some ten times as long.

A stop has to be longer than a sleep of the program's, which goes on meanwhile.
"""
EndingSteps = tuple[tuple[signal.Signals, float], ...]
DEADLINE: EndingSteps = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
"""What a process group gets when its time is up, and how many seconds it then has."""
AT_ONCE: EndingSteps = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""After a second Ctrl+C everything has to end within 10 s."""
CHUNK = 65536
spawners: list[Spawner] = []
"""The processes that start sandboxed programs; of two that can start one, the last is asked."""


class Command(Struct, frozen=True):
    """A program to run, for at most `deadline` seconds, and at most `idle` in which it neither prints nor computes.

    `ladder` is what it gets then. `stdin` is a file to read, None for nothing. With `merge` standard error goes into
    standard output, in the order written. `started` is called with the number of its process, and `hear` with
    the pieces of standard output as they come, not redacted, and with b"" while none comes. `slowed` are the seconds
    that it ordinarily takes if it is to be paused most of the time. `tick` is called while it runs, so many seconds
    apart.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: Path | None = None
    deadline: float | None = None
    log: Path | None = None
    merge: bool = True
    redact: Callable[[bytes], bytes] = field(default=lambda b: b)
    started: Callable[[int], None] = field(default=lambda _pid: None)
    hear: Callable[[bytes], None] | None = None
    ladder: EndingSteps = DEADLINE
    idle: float | None = None
    slowed: float = 0.0
    tick: tuple[float, Callable[[], None]] | None = None
    enter: Enter | None = None


class _Deadline(Struct):
    """The signals that a running group still gets, and when the next one is due (monotonic)."""

    steps: EndingSteps
    due: float | None
    idle: IdleClock | None
    silent: bool = False
    timed_out: bool = False
    killed: bool = False

    def escalate(self, group: int) -> None:
        (number, seconds), self.steps = self.steps[0], self.steps[1:] or self.steps[-1:]
        signal_group(group, number)
        self.due, self.idle = time.monotonic() + seconds, None


def run(command: Command, stop: Stop | None = None) -> ProgramExit:
    """Run `command` in its own session until it exits, its deadline passes, or `stop` says now.

    If `stop` has said so already it is not started, and `ended` is 0. Once the leader has exited, its group is killed:
    what it left in the background does not outlive it.
    """
    if stop and stop.look():
        return ProgramExit(None, killed=True)
    # The log is opened before the program starts, which could put a link in place of its folder.
    with open_log(command.log) if command.log else contextlib.nullcontext() as log:
        return _run(command, stop, log)


def _run(command: Command, stop: Stop | None, log: BinaryIO | None) -> ProgramExit:
    begin = time.monotonic()
    try:
        with open(command.stdin or os.devnull, "rb") as stdin:  # noqa: PTH123 - either a path or the null device
            process = _spawn(command, stdin) or start_program(
                Program(command.argv, command.enter),
                cwd=command.cwd,
                env=dict(command.env),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if command.merge else subprocess.PIPE,
            )
    except OSError as error:
        return ProgramExit(None, start_error=f"{error.strerror or error}: {error.filename or command.argv[0]}")
    command.started(process.pid)
    idle = IdleClock(command.idle) if command.idle else None
    waiting = _Deadline(command.ladder, begin + command.deadline if command.deadline else None, idle)
    tracker = None if orphans.SUBREAPER else orphans.DescendantTracker(process.pid)
    with _open_captures(process, command, log) as captures:
        with hold_back(process.pid, command.slowed) if command.slowed else contextlib.nullcontext():
            _attend(process, captures, waiting, stop, tracker, command.tick)
        code = _read_exit_code(process.pid)
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
        if tracker:
            tracker.end()
        for fd, capture in captures.items():
            for _ in range(64):  # what is still in the pipe, and no more: a survivor may hold the other end
                if not _read(fd, capture):
                    break
        out = [capture.close() for capture in captures.values()]
    return ProgramExit(
        code,
        stdout=out[0],
        stderr=out[1] if len(out) > 1 else b"",
        timed_out=waiting.timed_out,
        killed=waiting.killed or code is None,
        duration=time.monotonic() - begin,
        ended=time.time(),
        silent=(command.idle or 0.0) if waiting.silent else 0.0,
    )


def prepare(argv: Sequence[str]) -> None:
    """Let the sandbox of a program that is started soon be made meanwhile, if a process makes it."""
    if spawner := _find_spawner(argv):
        spawner.prepare(argv)


def _find_spawner(argv: Sequence[str]) -> Spawner | None:
    return next((spawner for spawner in reversed(spawners) if spawner.can_start(argv)), None)


def _spawn(command: Command, stdin: BinaryIO) -> SpawnedProgram | None:
    spawner = _find_spawner(command.argv)
    if spawner is None or command.enter:
        return None
    return spawner.spawn(command.argv, cwd=command.cwd, env=command.env, stdin=stdin, merge=command.merge)


def _read_exit_code(pid: int) -> int | None:
    """Return how the exited leader ended, negative for a signal; None if another thread collected it.

    It is not collected here: Popen reports 0 for a child that is gone already.
    """
    try:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None
    assert ended is not None, "waited for, not polled"
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


@contextmanager
def _open_captures(
    process: RunningProgram | SpawnedProgram, command: Command, log: BinaryIO | None
) -> Iterator[dict[int, Capture]]:
    """Yield the captures by descriptor; close the pipes at the end, even if a grandchild still holds them."""
    with contextlib.ExitStack() as stack:
        captures = {}
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                stack.enter_context(pipe)
                os.set_blocking(pipe.fileno(), False)
                hear = command.hear if pipe is process.stdout else None
                captures[pipe.fileno()] = Capture(command.redact, log, hear=hear)
        yield captures


def _attend(
    process: RunningProgram | SpawnedProgram,
    captures: dict[int, Capture],
    waiting: _Deadline,
    stop: Stop | None,
    tracker: orphans.DescendantTracker | None,
    tick: tuple[float, Callable[[], None]] | None,
) -> None:
    """Drain until the leader has exited. It stays a zombie, so that its group can still be signalled."""
    longest = min(orphans.TRACK_SECONDS if tracker else POLL_SECONDS, tick[0] if tick else math.inf)
    ticked = time.monotonic()
    with watch_exit(process) as exited:
        poll = select.poll()
        for fd in (exited, *captures, *([stop.fileno()] if stop else [])):
            poll.register(fd, select.POLLIN)
        while True:
            seconds = longest if waiting.due is None else min(longest, waiting.due - time.monotonic())
            ready = dict(poll.poll(max(0.0, seconds) * 1000))
            if tracker:
                tracker.look()
            if tick and time.monotonic() - ticked >= tick[0]:
                tick[1]()
                ticked = time.monotonic()
            for fd in captures.keys() & ready.keys():
                if _read(fd, captures[fd]) is False:
                    poll.unregister(fd)
                elif waiting.idle:
                    waiting.idle.heard()
            if not ready:
                for capture in captures.values():
                    capture.rest()
            if exited in ready:
                return
            if stop and not waiting.killed and stop.look():
                poll.unregister(stop.fileno())
                waiting.killed, waiting.steps = True, AT_ONCE
                waiting.escalate(process.pid)
            elif waiting.due is not None and time.monotonic() >= waiting.due:
                waiting.timed_out = waiting.timed_out or not waiting.killed
                waiting.escalate(process.pid)
            elif waiting.idle is not None and waiting.idle.over():
                waiting.timed_out = waiting.silent = True
                waiting.escalate(process.pid)


def _read(fd: int, capture: Capture) -> bool | None:
    """Feed one chunk; return None if nothing is there now, False at the end of the file."""
    try:
        chunk = os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    capture.feed(chunk)
    return bool(chunk)


@contextmanager
def watch_exit(process: RunningProgram | SpawnedProgram) -> Iterator[int]:
    """Yield a descriptor that is readable once `process` has exited: a pidfd, or a pipe from a waiting thread."""
    fd = -1
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(ProcessLookupError):  # another thread has collected it: the one below notices
            fd = os.pidfd_open(process.pid)
    if fd >= 0:
        try:
            yield fd
        finally:
            os.close(fd)
        return
    read, write = os.pipe()

    def wait() -> None:
        with contextlib.suppress(OSError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.write(write, b"!")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield read
    finally:
        thread.join(1)
        os.close(read)
        os.close(write)


@contextmanager
def hold_back(group: int, seconds: float) -> Iterator[None]:
    """Stop and continue a process group, which ordinarily takes so many seconds, by turns; at the end it runs."""
    over = threading.Event()

    def alternate() -> None:
        while not over.wait(RUNNING * seconds):
            signal_group(group, signal.SIGSTOP)
            over.wait(STANDING * seconds)
            signal_group(group, signal.SIGCONT)

    thread = threading.Thread(target=alternate, name="brake", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
