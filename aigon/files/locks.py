"""Locks of the system between processes, and who holds one."""

import contextlib
import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from aigon.errors import AigonError, environment

UNKNOWN = "its holder did not say who it is"
RETRY_SECONDS = 0.05
"""Seconds between two tries for a lock whose release is not announced."""
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)


def describe_self() -> str:
    """Return this process as JSON for others: its number, machine, start, and the time now."""
    pid = os.getpid()
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    who = {
        "pid": pid,
        "host": os.uname().nodename,
        "machine": identify_machine(),
        "start": read_start(pid),
        "since": now,
    }
    return json.dumps(who)


def read_holder(file: Path) -> str:
    """Return `pid 123 on box, since 10:15`, with the day if it is not today; UNKNOWN if its process is gone."""
    with contextlib.suppress(*_DAMAGE):
        who = json.loads(file.read_text())
        if not (_here(who) and read_start(int(who["pid"])) != who["start"]):
            return f"pid {who['pid']} on {who['host']}{_since(who.get('since'))}"
    return UNKNOWN


def find_living_holder(file: Path) -> str:
    """Return who wrote `file`, if that process still runs here and is another one.

    If a lock could be had all the same, its file was deleted while it was held.
    """
    with contextlib.suppress(*_DAMAGE):
        who = json.loads(file.read_text())
        pid = int(who["pid"])
        if _here(who) and pid != os.getpid() and read_start(pid) == who["start"]:
            return f"{read_holder(file)}, whose lock was deleted"
    return ""


def _here(who: dict[str, Any]) -> bool:
    """Return whether a holder is, or was, a process that this one can see by its number."""
    return bool(who["start"]) and (who["host"], who["machine"]) == (os.uname().nodename, identify_machine())


def _since(when: object) -> str:
    with contextlib.suppress(ValueError):
        at = datetime.fromisoformat(str(when)).astimezone()
        today = at.date() == datetime.now().astimezone().date()
        return f", since {at:%H:%M}" if today else f", since {at:%Y-%m-%d %H:%M}"
    return ""


_SHOWN = 60
"""Characters of a command line that are shown."""


def describe_holder(lock: Path) -> str:
    """Return `pid 12 (git commit)` of a process that has the file open, or whose number it holds; "" if unknown.

    Only Linux tells, and of other people's processes only root.
    """
    pid = _writer(lock) or next((pid for pid in list_pids() if _has_open(pid, str(lock))), 0)
    return f"pid {pid} ({read_command_line(pid)})" if pid else ""


def _writer(lock: Path) -> int:
    """The number in a lock that holds nothing else, if such a process is there."""
    with suppress(OSError, ValueError):
        if (pid := int(lock.read_bytes()[:20])) > 0 and Path(f"/proc/{pid}").is_dir():
            return pid
    return 0


def list_pids() -> list[int]:
    """Return the numbers of all other processes, if the system lists them."""
    with suppress(OSError):
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]  # noqa: PTH208
    return []


def _has_open(pid: int, name: str) -> bool:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as files:
        return any(_leads_to(file.path) == name for file in files)
    return False


def _leads_to(link: str) -> str:
    with suppress(OSError):
        return os.readlink(link)  # noqa: PTH115
    return ""


def read_command_line(pid: int) -> str:
    """Return the beginning of a process's command line."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"
    return "it has just ended"


@contextmanager
def lock_file(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold the system's lock on the file `path`, which is made and stays; wait for it so many seconds at most.

    Raises TimeoutError if it is held all that time, by another process or elsewhere in this one, and OSError if it
    cannot be had at all. A killed process blocks no other: the system releases its lock.
    """
    import fcntl

    until = time.monotonic() + patience
    while (handle := try_lock(path)) is None:
        if time.monotonic() >= until:
            raise TimeoutError(errno.ETIMEDOUT, "is locked", os.fspath(path))
        time.sleep(RETRY_SECONDS)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # also where a program that was forked meanwhile has it open
        os.close(handle)


def try_lock(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int | None:
    """Return a descriptor, opened with `flags`, that holds the lock on `path`; None if another one does, or if `path`
    was deleted meanwhile. Raises OSError if `path` cannot be opened or its file system has no locks.
    """
    import fcntl

    with ExitStack() as opened:
        handle = os.open(path, flags | os.O_NOFOLLOW, 0o644)
        opened.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):  # file systems differ
                return None
            raise
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):  # else whoever held it deleted it
                opened.pop_all()
                return handle
    return None


@contextmanager
def hold_lock(path: Path, what: str) -> Iterator[None]:
    """Hold the system's lock on `path`; a file next to it names the holder.

    Raises AigonError (exit 7) if another process holds it, naming that process, or if locking fails.
    """
    holder = path.with_suffix(".holder")
    with ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(lock_file(path, 2 * RETRY_SECONDS))  # `is_locked` shares it for a moment
        except TimeoutError:
            raise _explain_taken(what, read_holder(holder)) from None
        except OSError as error:
            hint = "Make it writable, or point AIGON_STATE_HOME at a folder that is"
            raise environment(f"No lock could be taken: {error.strerror}", where=str(path), hint=hint) from error
        if other := find_living_holder(holder):  # its lock was deleted by hand, which frees nothing
            raise _explain_taken(what, other)
        with contextlib.suppress(OSError):  # a full disk: the lock holds without words
            holder.write_text(describe_self())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                holder.unlink(missing_ok=True)


def _explain_taken(what: str, who: str) -> AigonError:
    hint = "Wait for it, or stop it: Ctrl+C there, or aigon stop ID"
    return environment(f"{what} is in use by another aigon", where=who, hint=hint)


def is_locked(path: Path) -> bool | None:
    """Return whether a process holds the lock on `path`; None if it was never held, or the system does not say.

    A free lock is shared with the caller for a moment.
    """
    import fcntl

    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except OSError:
        return None
    return False


def read_start(pid: int) -> str:
    """Return when a process started, in ticks since the boot (seconds since the epoch without /proc); "" if it is
    gone.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a plain read
            fields = file.read().rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _ask_start(pid)


def _ask_start(pid: int) -> str:
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return ""


@cache
def identify_machine() -> str:
    """Return this boot of this machine and the PID namespace of this process."""
    boot = space = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path
    return f"{boot}/{space}"
