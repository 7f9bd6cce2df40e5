"""Small file systems that only one test sees: a process of its own, with mounts of its own."""

import ctypes
import errno
import functools
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
"""From <linux/sched.h>."""
F = TypeVar("F", bound=Callable[..., None])


def in_private_mounts(test: F) -> F:
    """Run a test in a fork with a mount namespace of its own: what it mounts is gone when it ends."""

    @functools.wraps(test)
    def wrapped(*arguments: Any, **named: Any) -> None:
        if why := _impossible():
            pytest.skip(why)
        with tempfile.TemporaryFile() as said:
            pid = os.fork()
            if not pid:
                _child(test, arguments, named, said.fileno())
            _, status = os.waitpid(pid, 0)
            said.seek(0)
            text = said.read().decode(errors="replace")
        assert not status, text

    return wrapped  # type: ignore[return-value]


def _child(test: Callable[..., None], arguments: Any, named: Any, said: int) -> None:
    code = 1
    try:
        _enter()
        os.environ["AIGON_FRESH_PROCESSES"] = "1"  # a warm one has the mounts of before
        test(*arguments, **named)
        code = 0
    except BaseException:
        os.write(said, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _enter() -> None:
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@functools.cache
def _impossible() -> str:
    """Why no private mounts can be made here; empty where they can."""
    if not sys.platform.startswith("linux"):
        return "small file systems are made with Linux's mount namespaces"
    way = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    try:
        done = subprocess.run([*way, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, text=True)
    except OSError as error:
        return f"no unshare here: {error}"
    return f"no private mounts here: {done.stderr.strip()}" if done.returncode else ""


class SmallDisk:
    """A tmpfs at `at`, of so many megabytes."""

    def __init__(self, at: Path, megabytes: int = 64) -> None:
        self.at = at
        at.mkdir(parents=True, exist_ok=True)
        self._mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(at))
        self.filler = at / "filler"

    def fill(self) -> None:
        """Take every byte that is left."""
        with self.filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError as error:
                    assert error.errno == errno.ENOSPC

    def empty(self) -> None:
        """Give them back."""
        self.filler.unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let nobody write any more."""
        self._mount("-o", "remount,ro", str(self.at))

    def thaw(self) -> None:
        """Let everybody write again."""
        self._mount("-o", "remount,rw", str(self.at))

    @staticmethod
    def _mount(*arguments: str) -> None:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, f"mount {arguments}: {done.stderr}"
