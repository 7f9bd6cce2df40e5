"""Files that survive a crash: whole or not at all, appended or not at all, locked by the system."""

import contextlib
import errno
import json
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.lock_holders import holder_of, still_there, told

BUFFER = 256 * 1024
"""Bytes that are written at once: a long file that comes in a thousand parts is some system calls."""


def write_atomic(path: Path, data: bytes | Sequence[bytes], *, lasting: bool = False) -> None:
    """Write a temporary file beside `path`, fsync it, rename it: readers see the old file or the new one.

    A long file may come in parts, which are not put together in memory.

    Its name begins like the file's, so that what ignores the one ignores the other, should a kill leave it. With
    `lasting` the new one is there after a power cut too: for records, not for what is made anew from them.
    """
    _renamed(path, path.with_name(f"{path.name}.{os.getpid()}.tmp"), data, durable=True)
    if lasting:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder outlast a power cut: that of a new or renamed file is not flushed with the file."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_lasting(folder: Path) -> None:
    """Make a folder and those above it that are missing, so that they outlast a power cut."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def keep_damaged(path: Path) -> Path:
    """Give what stands at `path` a second name, `NAME.corrupt` (`.corrupt-2`, ...), and say it; nothing is overwritten.

    The file stays at `path`, until it is written anew: there is no moment in which it is gone.
    """
    number = 1
    while True:
        kept = path.with_name(f"{path.name}.corrupt{f'-{number}' if number > 1 else ''}")
        try:
            if path.is_dir() and not path.is_symlink():
                if not os.path.lexists(kept):
                    return path.rename(kept)
            else:
                _second_name(path, kept)
                return kept
        except FileExistsError:
            pass
        number += 1


def _second_name(path: Path, kept: Path) -> None:
    try:
        os.link(path, kept, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links of this kind
        with kept.open("xb") as file:
            file.write(path.read_bytes())
            file.flush()
            os.fsync(file.fileno())


def write_whole(path: Path, data: bytes | Sequence[bytes], asides: Sequence[Path]) -> None:
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


def _renamed(path: Path, temporary: Path, data: bytes | Sequence[bytes], *, durable: bool) -> None:
    """The mode bits of the old file stay."""
    try:
        with temporary.open("wb", BUFFER) as file:  # buffered: a raw write may be short on a full disk, and say nothing
            file.writelines([data] if isinstance(data, bytes) else data)
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
        make_lasting(path.parent)
        self._cut_torn_end(path)
        new = not path.exists()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.path = path
        if new:  # else a power cut could take the name of what is flushed line by line
            sync_folder(path.parent)

    def append(self, document: str, *, durable: bool) -> None:
        """Append one line; with `durable` it is on disk when this returns, and all before it are too."""
        self._follow()
        line = as_line(document)
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
        if path.exists() and _is_torn(path):
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)


def _is_torn(path: Path) -> bool:
    """Whether the last line of a file has no end."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def read_journal(path: Path) -> list[dict[str, object]]:
    """The documents of a journal, oldest first; a torn last line, which never counted, is left out.

    Raises AigonError (exit 7) for a line that is damaged: nothing is guessed.
    """
    return list(journal_documents(path))


def journal_documents(path: Path) -> Iterator[dict[str, object]]:
    """The same one by one: a journal of a thousand iterations takes up 40 MB when it is read at once.

    Raises AigonError (exit 7) when it comes to a line that is damaged.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            document = _document(line[:-1])
            if document is None:
                raise damaged("The journal of this run", f"{path}:{number}")
            yield document


def sound_lines(data: bytes) -> list[dict[str, object] | None]:
    """What each whole line of a journal holds; None for one whose sum is wrong, or that is no JSON object."""
    return [_document(line) for line in data.split(b"\n")[:-1]]


def _document(line: bytes) -> dict[str, object] | None:
    checksum, _, data = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(data):
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def as_line(document: str) -> bytes:
    """A document as a line of a journal."""
    data = document.encode("utf-8", "replace")
    return b"%08x %s\n" % (zlib.crc32(data), data)


def damaged(what: str, where: str, feature: str = "", how: str = "damaged") -> AigonError:
    """That a record is damaged, or `how` else it is, and how it is mended. Its journal or file is left as it is."""
    hint = f"aigon doctor --repair{f' {feature}' if feature else ''}"
    return environment(
        f"{what} is {how}", where=where, hint=f"{hint}   # keeps what there is, and makes of it what can be made"
    )


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
    """Hold the system's lock on `path`; who holds it, and since when, is written beside it.

    Raises AigonError (exit 7) at once when another process holds it, naming that process, and where there can be no
    lock. What a killed process left hinders nobody: the system lets go of its lock, and its words name a process that
    is gone.
    """
    from filelock import FileLock, Timeout

    holder = path.with_suffix(".holder")
    held = FileLock(path, timeout=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held.acquire()
    except Timeout:
        raise _taken(what, holder_of(holder)) from None
    except OSError as error:
        hint = "Make it writable, or point AIGON_STATE_HOME at a folder that is"
        raise environment(f"No lock can be had: {error.strerror}", where=str(path), hint=hint) from error
    try:
        if other := still_there(holder):  # its lock was deleted by hand, which frees nothing
            raise _taken(what, other)
        with contextlib.suppress(OSError):  # a full disk: the lock holds without words
            holder.write_text(told())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                holder.unlink(missing_ok=True)
    finally:
        held.release()


def _taken(what: str, who: str) -> AigonError:
    hint = "Wait for it, or stop it: Ctrl+C there, or aigon stop ID"
    return environment(f"{what} is in use by another aigon", where=who, hint=hint)


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
