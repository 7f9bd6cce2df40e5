"""A process that starts programs for this one, so that none of them waits for an interpreter to start.

It runs a launcher, `launcher.py serve`, in which nothing but the modules of the launcher was loaded. For each request
it forks a process that becomes a child of this process, not of its own, so that waiting, signals and exit codes are as
for any other child. Only that fork reads the request: what one program gets is in no later one's memory.

A fork can be prepared: it enters its namespaces, makes its mounts, and waits for what to run. It is used for a program
with exactly these mounts, if all that they show is still what it was; else it ends without having run anything.
"""

import contextlib
import functools
import marshal
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from aigon.process import orphans

if TYPE_CHECKING:
    import socket

RELEASED = 0xFFFFFFFF
"""In place of namespaces: what comes with it is only to be closed."""
HELD = 2
"""Mount namespaces that a prepared process has at most."""


class SpawnedProgram(Struct):
    """A program that the spawner started, with the ends of its pipes, and what to call once it has ended."""

    pid: int
    stdout: BinaryIO
    stderr: BinaryIO | None
    release: Callable[[], None] | None = None

    def wait(self) -> None:
        """Wait until the program has ended, and reap it."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        if self.release:
            self.release()


class _Prepared(Struct):
    """A fork that waits for its program.

    `words` are the namespaces and the plan that it carries out, `places` what was where its mounts are. Its number is
    0 until the answer was read. `held` keep its mounts: an end that takes mounts along waits for the whole kernel.
    """

    words: list[str]
    places: list[tuple[int, int] | None]
    channel: "socket.socket"
    pid: int = 0
    held: list[int] = []


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
        self._prepared: _Prepared | None = None

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

    def prepare(self, argv: Sequence[str]) -> None:
        """Let the namespaces and mounts of a program that is started soon be made meanwhile. One is prepared at a time.

        Nobody may be at work where its mounts are, but for this process.
        """
        import socket

        words = [*argv[len(self._launcher) :]][:2]
        with self._lock:
            self._drop_prepared()
            if self._socket is None or words[0] == "0":
                return
            try:
                mine, its = socket.socketpair()
            except OSError:  # this process has as many files open as it may have
                return
            ready, data = _Prepared(words, _identify_places(words[1]), mine), marshal.dumps(words)
            with its:
                try:
                    socket.send_fds(self._socket, [int(words[0]).to_bytes(4, "little")], [its.fileno()])
                except OSError:  # it died
                    mine.close()
                    return
            self._prepared = ready
            try:
                mine.sendall(len(data).to_bytes(4, "little") + data)
            except OSError:
                self._drop_prepared()

    def spawn(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: BinaryIO, merge: bool
    ) -> SpawnedProgram | None:
        """Start a program in its own session with pipes; None if it has to be started by its command line."""
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            pipes = [_open_pipe(ours, theirs) for _ in range(1 if merge else 2)]
            streams = (stdin.fileno(), pipes[0][1], pipes[-1][1])
            words = [*argv[len(self._launcher) :]]
            ready = self._start_prepared(words, env, streams)
            pid = ready.pid if ready else self._start_anew((words, dict(env), str(cwd)), streams)
            if not pid:
                return None
            ours.pop_all()
            release = functools.partial(self._release, ready.held) if ready else None
            return SpawnedProgram(pid, pipes[0][0], None if merge else pipes[1][0], release)

    def _start_anew(self, request: tuple[list[str], dict[str, str], str], streams: Sequence[int]) -> int:
        """Return the number of a process that carries out the request, or 0."""
        asked, write = os.pipe()
        with open(write, "wb") as file:  # noqa: PTH123 - a descriptor
            try:
                pid = self._fork(int(request[0][0]), [asked, *streams])
            finally:
                os.close(asked)
            if pid:
                try:
                    file.write(marshal.dumps(request))
                    file.close()
                except OSError:  # the fork died before it had its request
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, 0)
                    return 0
        return pid

    def _start_prepared(self, words: list[str], env: Mapping[str, str], streams: Sequence[int]) -> _Prepared | None:
        """Return the prepared process, which becomes this program; None if none was prepared for it."""
        import socket

        with self._lock:
            ready = self._prepared
            if ready is None or ready.words != words[:2]:
                return None
            with contextlib.suppress(OSError):
                if ready.places == _identify_places(words[1]) and self._await_number():
                    said, ready.held, _, _ = socket.recv_fds(ready.channel, 1, HELD)
                    if said and os.waitid(os.P_PID, ready.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                        socket.send_fds(ready.channel, [b"!"], streams)
                        ready.channel.sendall(marshal.dumps((words[2:], dict(env))))
                        self._prepared = None
                        ready.channel.close()
                        return ready
            self._drop_prepared()
            return None

    def _release(self, held: list[int]) -> None:
        """Let the process that forks undo the mounts that are `held`, before it forks again."""
        import socket

        with self._lock:
            if self._socket:
                with contextlib.suppress(OSError):
                    socket.send_fds(self._socket, [RELEASED.to_bytes(4, "little")], held)
        for descriptor in held:
            os.close(descriptor)

    def _await_number(self) -> bool:
        """Read the number of the prepared process, which comes before that of any later one."""
        ready = self._prepared
        if ready and self._socket and not ready.pid:
            ready.pid = int.from_bytes(self._socket.recv(4), "little")
        return bool(ready and ready.pid)

    def _drop_prepared(self) -> None:
        """Let the prepared process end: it does once nobody can tell it what to run. The next sweep collects it."""
        if self._prepared:
            with contextlib.suppress(OSError):
                self._await_number()
            self._prepared.channel.close()
            for descriptor in self._prepared.held:
                os.close(descriptor)
            self._prepared = None

    def _fork(self, namespaces: int, descriptors: list[int]) -> int:
        """Return the number of a process in new namespaces that waits for its request, or 0."""
        with self._lock:
            if self._socket is None and self._has_forked:
                self.start()
            if self._socket is None:
                return 0
            import socket

            with contextlib.suppress(OSError):
                self._await_number()
                socket.send_fds(self._socket, [namespaces.to_bytes(4, "little")], descriptors)
                if answer := self._socket.recv(4):
                    self._has_forked = True
                    return int.from_bytes(answer, "little")
            self._end()  # one that never forked cannot: an old kernel, or a filter for system calls
            return 0

    def _end(self) -> None:
        self._drop_prepared()
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


def _identify_places(plan: str) -> list[tuple[int, int] | None]:
    """Return what is at every path of a plan's mounts."""
    places: list[tuple[int, int] | None] = []
    for path in {path: None for _, *paths in marshal.loads(bytes.fromhex(plan))["mounts"] for path in paths}:
        try:
            found = os.stat(path)  # noqa: PTH116 - some thirty of them
        except OSError:
            places.append(None)
        else:
            places.append((found.st_dev, found.st_ino))
    return places
