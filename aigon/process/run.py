"""The only importer of subprocess: run a program to its exit, never to the end of its pipes."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aigon.model.turns import ProgramExit
from aigon.process import orphans
from aigon.process.capture import Capture, open_log
from aigon.process.meter import IdleClock
from aigon.process.orphans import LOOK_SECONDS, DescendantTracker
from aigon.process.stop import POLL_SECONDS, Stop

EndingSteps = tuple[tuple[signal.Signals, float], ...]
DEADLINE: EndingSteps = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
"""What a process group gets when its time is up, and how many seconds it then has."""
AT_ONCE: EndingSteps = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""After a second Ctrl+C everything has to be over within 10 s."""
CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run. `deadline` in seconds, `ladder` what follows it; `stdin` is a file it reads, None for nothing.

    `idle` is for how many seconds it may neither print nor compute (`aigon.process.meter`), None for no limit.
    With `merge` standard error goes into standard output, in the order written.
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
    ladder: EndingSteps = DEADLINE
    idle: float | None = None


@dataclass(slots=True)
class _Deadline:
    """What is still to happen to a running group: the next signal and when it is due (monotonic).

    `idle` watches over its silence, until the ladder begins; `silent` says that this was why.
    """

    steps: EndingSteps
    due: float | None
    idle: IdleClock | None = None
    silent: bool = False
    timed_out: bool = False
    killed: bool = False

    def escalate(self, group: int) -> None:
        (number, seconds), self.steps = self.steps[0], self.steps[1:] or self.steps[-1:]
        signal_group(group, number)
        self.due, self.idle = time.monotonic() + seconds, None


def signal_group(group: int, number: signal.Signals) -> None:
    """Signal a whole process group; one that is gone is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def run(command: Command, stop: Stop | None = None) -> ProgramExit:
    """Run `command` in a session of its own until it exits, its deadline passes, or `stop` says now.

    Where `stop` has said so already it is not started at all, and `Exited.ended` is 0.
    Its group gets SIGKILL once its leader has exited: what it left in the background does not outlive it.
    """
    begun = time.monotonic()
    if stop and stop.look():
        return ProgramExit(None, killed=True)
    try:
        process = _spawn(command)
    except OSError as error:
        return ProgramExit(None, start_error=f"{error.strerror or error}: {error.filename or command.argv[0]}")
    command.started(process.pid)
    idle = IdleClock(command.idle) if command.idle else None
    waiting = _Deadline(command.ladder, begun + command.deadline if command.deadline else None, idle)
    followed = None if orphans.SUBREAPER else DescendantTracker(process.pid)
    with _open_captures(process, command) as captures:
        _attend(process, captures, waiting, stop, followed)
        code = _read_exit_code(process.pid)
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
        if followed:
            followed.end()
        _drain(captures)
        out = [capture.close() for capture in captures.values()]
    return ProgramExit(
        code,
        stdout=out[0],
        stderr=out[1] if len(out) > 1 else b"",
        timed_out=waiting.timed_out,
        killed=waiting.killed or code is None,
        duration=time.monotonic() - begun,
        ended=time.time(),
        silent=(command.idle or 0.0) if waiting.silent else 0.0,
    )


def _read_exit_code(pid: int) -> int | None:
    """How the exited leader ended, negative for a signal; None when somebody else collected it.

    Asked without collecting it: to Popen a child that is gone already looks as if it had exited with 0.
    """
    try:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None
    assert ended is not None, "waited for, not polled"
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _spawn(command: Command) -> "subprocess.Popen[bytes]":
    with open(command.stdin or os.devnull, "rb") as stdin:  # noqa: PTH123 - either a path or the null device
        return subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=dict(command.env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if command.merge else subprocess.PIPE,
            start_new_session=True,
        )


@contextmanager
def _open_captures(process: "subprocess.Popen[bytes]", command: Command) -> Iterator[dict[int, Capture]]:
    """The captures by descriptor; the pipes are closed at the end even if a grandchild still holds them."""
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(open_log(command.log)) if command.log else None
        captures = {}
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                stack.enter_context(pipe)
                os.set_blocking(pipe.fileno(), False)
                captures[pipe.fileno()] = Capture(command.redact, log)
        yield captures


def _attend(
    process: "subprocess.Popen[bytes]",
    captures: dict[int, Capture],
    waiting: _Deadline,
    stop: Stop | None,
    followed: DescendantTracker | None,
) -> None:
    """Drain until the leader has exited (it stays a zombie, so that its group can still be signalled)."""
    with watch_exit(process) as exited:
        poll = select.poll()
        for fd in (exited, *captures, *([stop.fileno()] if stop else [])):
            poll.register(fd, select.POLLIN)
        while True:
            ready = dict(
                poll.poll(
                    min(_milliseconds_to_wait(waiting), LOOK_SECONDS * 1000)
                    if followed
                    else _milliseconds_to_wait(waiting)
                )
            )
            if followed:
                followed.look()
            for fd in captures.keys() & ready.keys():
                if not _read(fd, captures[fd]):
                    poll.unregister(fd)
                elif waiting.idle:
                    waiting.idle.heard()
            if exited in ready:
                return
            _escalate_if_due(process.pid, waiting, stop, poll)


def _milliseconds_to_wait(waiting: _Deadline) -> float:
    """Milliseconds until something other than output or an exit may need attention."""
    left = POLL_SECONDS if waiting.due is None else min(POLL_SECONDS, waiting.due - time.monotonic())
    return max(0.0, left * 1000)


def _escalate_if_due(group: int, waiting: _Deadline, stop: Stop | None, poll: "select.poll") -> None:
    """Climb the ladder where a deadline has passed or the run has to end at once."""
    if stop and not waiting.killed and stop.look():
        poll.unregister(stop.fileno())
        waiting.killed, waiting.steps = True, AT_ONCE
        waiting.escalate(group)
    elif waiting.due is not None and time.monotonic() >= waiting.due:
        waiting.timed_out = waiting.timed_out or not waiting.killed
        waiting.escalate(group)
    elif waiting.idle is not None and waiting.idle.over():
        waiting.timed_out = waiting.silent = True
        waiting.escalate(group)


def _read(fd: int, capture: Capture) -> bool:
    """Feed one chunk; False at end-of-file."""
    try:
        chunk = os.read(fd, CHUNK)
    except BlockingIOError:
        return True
    capture.feed(chunk)
    return bool(chunk)


def _drain(captures: dict[int, Capture]) -> None:
    """What is still in the pipes after the exit, and no more: a survivor may hold the other end."""
    for fd, capture in captures.items():
        for _ in range(64):
            try:
                chunk = os.read(fd, CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                break
            capture.feed(chunk)


@contextmanager
def watch_exit(process: "subprocess.Popen[bytes]") -> Iterator[int]:
    """A descriptor that is readable once `process` has exited: a pidfd, or a waiting thread where there is none."""
    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(process.pid)
        try:
            yield fd
        finally:
            os.close(fd)
        return
    import threading

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


def capture_output(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str], stdin: bytes | None = None
) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error of a short, trusted program (git): no deadline, no log.

    It gets a session of its own, so that Ctrl+C in the terminal never hits it half-way. A file that may not grow any
    more (SIGXFSZ, which Python ignores) is an error to it as to aigon: killed by that signal git leaves its locks.
    """
    process = subprocess.Popen(
        argv,
        restore_signals=False,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    out, err = process.communicate(stdin)
    return process.returncode, out, err


def capture_beginning(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], most: int) -> bytes:
    """The first `most` bytes that a short, trusted program prints. It is ended as soon as they are there."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=null, stdout=subprocess.PIPE, stderr=null, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        data = process.stdout.read(most)
        process.kill()
    return data


RunningProgram = subprocess.Popen[bytes]
"""A program that was started and is not waited for yet."""


def start_piped(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> RunningProgram:
    """Start a program in a session of its own whose three streams are pipes. Raises OSError where it does not start.

    The ends that are kept here are closed on exec: no other program that is started holds one open.
    """
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


_DETACHED = 'exec 3<&0; "$@" <&3 3<&- & exec 3<&-'
"""The shell leaves at once: what it started is then the child of whoever adopts orphans, not aigon's."""


def start_detached(argv: Sequence[str], *, stdin: int) -> bool:
    """Start a program that is no descendant of this process; it reads the descriptor `stdin`. False if that failed."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", _DETACHED, "sh", *argv],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return False
    return done.returncode == 0
