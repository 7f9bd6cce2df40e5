"""Files that survive a crash: whole or not at all, appended or not at all, locked by the system."""

import contextlib
import errno
import json
import os
import socket
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aigon.core.errors import environment


def write_atomic(path: Path, data: bytes) -> None:
    """Write a temporary file beside `path`, fsync it, rename it: readers see the old file or the new one.

    Its name begins like the file's, so that what ignores the one ignores the other, should a kill leave it.
    """
    _renamed(path, path.with_name(f"{path.name}.{os.getpid()}.tmp"), data, durable=True)


def write_whole(path: Path, data: bytes, asides: Sequence[Path]) -> None:
    """Like `write_atomic` for a file that git commits: what a kill leaves must be where git does not look.

    The temporary file is in the first of the folders `asides` that is on the file system of `path`. Nothing is
    flushed: git's object is the durable copy.
    """
    for aside in asides:
        aside.mkdir(parents=True, exist_ok=True)
        try:
            _renamed(path, aside / f"{path.name}.{os.getpid()}.tmp", data, durable=False)
        except OSError as error:
            if error.errno != errno.EXDEV or aside == asides[-1]:
                raise
        else:
            return


def _renamed(path: Path, temporary: Path, data: bytes, *, durable: bool) -> None:
    """The mode bits of the old file stay."""
    try:
        with temporary.open("wb") as file:  # buffered: a raw write may be short on a full disk, and say nothing
            file.write(data)
            file.flush()
            if path.is_file():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


class Journal:
    """An append-only file of checksummed lines: eight hex digits of CRC-32, a space, one JSON document."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn_end(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.path = path

    def append(self, document: str, *, durable: bool) -> None:
        """Append one line; with `durable` it is on disk when this returns, and all before it are too."""
        self._follow()
        data = document.encode("utf-8", "replace")
        line = b"%08x %s\n" % (zlib.crc32(data), data)
        written = os.write(self._fd, line)
        if written < len(line):  # a full disk: half a line must not stay
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
        if durable:
            os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)

    def _follow(self) -> None:
        """The file may have been replaced by its own copy (put back after an agent wrote to it): go on in that one."""
        with contextlib.suppress(OSError):  # gone altogether: what is written is refused, or put back, elsewhere
            there, held = os.stat(self.path), os.fstat(self._fd)  # noqa: PTH116 - on the hot path
            if (there.st_ino, there.st_dev) != (held.st_ino, held.st_dev):
                new = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                os.close(self._fd)
                self._fd = new

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    @staticmethod
    def _cut_torn_end(path: Path) -> None:
        """A line without its end was being written when the machine stopped: it never counted."""
        if path.exists() and (data := path.read_bytes()) and not data.endswith(b"\n"):
            os.truncate(path, data.rfind(b"\n") + 1)


def read_journal(path: Path) -> list[dict[str, object]]:
    """The documents of a journal, oldest first.

    Raises AigonError (exit 7) for a line whose checksum does not hold: the record is damaged, nothing is guessed.
    """
    lines = path.read_bytes().split(b"\n")
    documents = []
    for number, line in enumerate(lines[:-1], 1):
        checksum, _, data = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(data):
            raise environment(
                "The journal of this run is damaged",
                where=f"{path}:{number}",
                hint="Start a new run with --loop (the old journal is archived; commits are untouched)",
            )
        documents.append(json.loads(data))
    return documents


def end_of_journal(path: Path, size: int, mark: bytes) -> list[bytes]:
    """The JSON documents with `mark` in the last `size` bytes of a journal, oldest first; none where it is unreadable.

    For what is better known than not: what is damaged, or not whole, is left out without a word.
    """
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - size)
            file.seek(start)
            lines = file.read(size).split(b"\n")[1 if start else 0 : -1]
    except OSError:
        return []
    parts = (line.partition(b" ") for line in lines if mark in line)
    return [data for checksum, _, data in parts if checksum == b"%08x" % zlib.crc32(data)]


@contextmanager
def lock(path: Path, what: str) -> Iterator[None]:
    """Hold the system's lock on `path`; who holds it is written beside it.

    Raises AigonError (exit 7) at once when another process holds it, naming that process.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    holder = path.with_suffix(".holder")
    held = FileLock(path, timeout=0)
    try:
        held.acquire()
    except Timeout:
        raise environment(
            f"{what} is in use by another aigon",
            where=_holder(holder),
            hint="Wait for it, or stop it with Ctrl+C there",
        ) from None
    try:
        holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        yield
    finally:
        holder.unlink(missing_ok=True)
        held.release()


def is_held(path: Path) -> bool | None:
    """Whether a process holds the lock on `path`; None where nobody ever did, or the system does not say.

    A lock that is held is not touched. One that is free is for a moment shared with whoever asks.
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


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError, KeyError):
        who = json.loads(path.read_text())
        return f"pid {who['pid']} on {who['host']}"
    return "its holder did not say who it is"
