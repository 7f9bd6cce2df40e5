"""Files read and written whole: bounded reads, atomic writes, and copies of what must not be lost."""

import errno
import os
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from aigon.errors import Exit
from aigon.text.amounts import size_error


def read_bounded(path: Path, largest: int, what: str, *, hint: str, code: Exit = Exit.USAGE) -> bytes:
    """Return the bytes of a file, called `what` in messages.

    Raises OSError if it is no ordinary file (a pipe has no end) or unreadable, AigonError (`code`) above `largest`
    bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:  # noqa: PTH123 - of a handle
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", os.fspath(path))
        if seen.st_size > largest:
            raise size_error(what, seen.st_size, largest, where=str(path), hint=hint, code=code)
        return file.read(largest)


def open_plain(path: str | Path) -> BinaryIO:
    """Open an ordinary file that an agent can write: no link is followed, and no pipe waited for. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no ordinary file", os.fspath(path))
    return os.fdopen(handle, "rb")


BUFFER = 256 * 1024
"""Bytes that are written at once: a long file that comes in a thousand parts is some system calls."""


def write_atomic(path: Path, data: bytes | Sequence[bytes], *, lasting: bool = False) -> None:
    """Write a temporary file next to `path`, fsync it and rename it: readers see the old file or the new one.

    The temporary name begins like the file's, so that what ignores the one ignores the other. With `lasting` the new
    name is flushed too: for records, not for what can be rebuilt.
    """
    _write_and_rename(path, path.with_name(f"{path.name}.{os.getpid()}.tmp"), data, durable=True)
    if lasting:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder: that of a new or renamed file is not flushed with the file."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_lasting(folder: Path) -> None:
    """Make a folder and the missing ones above it, and flush their names."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def keep_damaged(path: Path) -> Path:
    """Give the file a second name, `NAME.corrupt` (`.corrupt-2`, ...), and return it; nothing is overwritten.

    The file also stays at `path` until it is rewritten: there is no moment without it.
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
    """Write like `write_atomic` for a file that git commits: what a kill leaves must be where git does not look.

    The temporary file is in the first of the folders `asides` on the file system of `path`. Nothing is flushed: git's
    object is the durable copy.
    """
    for aside in asides:
        aside.mkdir(parents=True, exist_ok=True)
        try:
            _write_and_rename(path, aside / f"{path.name}.{os.getpid()}.tmp", data, durable=False)
        except OSError as error:
            if error.errno != errno.EXDEV or aside == asides[-1]:
                raise
        else:
            return


def _write_and_rename(path: Path, temporary: Path, data: bytes | Sequence[bytes], *, durable: bool) -> None:
    """Keep the mode bits of the old file."""
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with open(handle, "wb", BUFFER) as file:  # noqa: PTH123 - buffered: a raw write may be short on a full disk
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


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_PINNED: dict[str, str] = {}
"""The pinned folders, and where each really is."""


def pin_folder(folder: Path) -> None:
    """Let `write_view` write in this folder only where it is now: an agent may replace a folder above it by a link."""
    _PINNED[os.fspath(folder)] = os.path.realpath(folder)


def write_view(path: Path, text: str | Iterable[str | bytes]) -> None:
    """Write a file that can be rebuilt: readers never see half of it, and a link at `path` is replaced. Raises OSError.

    The two change places, and the old one is deleted: ext4 flushes what replaces a file (`auto_da_alloc`), and the next
    flush of another file waits for that.
    """
    name = os.fspath(path)
    temporary = f"{name}.{os.getpid()}.tmp"
    try:
        with os.fdopen(_open_new(temporary), "wb") as file:
            parts = [text] if isinstance(text, str) else text
            file.writelines(part if isinstance(part, bytes) else part.encode("utf-8", "replace") for part in parts)
        if _exchange(temporary, name):
            os.unlink(temporary)  # noqa: PTH108 - on the hot path
        else:
            os.replace(temporary, name)  # noqa: PTH105 - as above
    except OSError:
        if os.path.isdir(temporary):  # noqa: PTH112 - a folder was in the way, and goes back
            _exchange(temporary, name)
        Path(temporary).unlink(missing_ok=True)
        raise


def write_in_place(path: str | Path, data: bytes) -> None:
    """Write a file of aigon's own that nobody reads meanwhile, through no link. Raises OSError.

    ext4 flushes a file that is cut to nothing and written anew, and a new file is the dearest that a disk can be asked.
    """
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "wb") as file:  # noqa: PTH123
        file.write(data)
        file.truncate()


_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE, from <fcntl.h> and <linux/fs.h>."""


def _exchange(one: str, other: str) -> bool:
    """Let two files change places; return False if there is no other, or if the system cannot do that.

    ext4 flushes a file that replaces another (`auto_da_alloc`), and no file that is exchanged for it.
    """
    from aigon.files.syscalls import call  # ctypes takes 5 ms, and most commands write no view

    try:
        call("renameat2", _HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    except (AttributeError, OSError):  # macOS, file systems of other kinds
        return False
    return True


def _open_new(name: str) -> int:
    """Open a new file: what a kill left is not written to, nor what a link leads to. Raises OSError (ELOOP) for one
    above a pinned folder.
    """
    folder = os.path.dirname(name)  # noqa: PTH120 - on the hot path
    real = _PINNED.get(folder)
    try:
        handle = os.open(name, _NEW, 0o666)
    except (FileNotFoundError, FileExistsError):
        if real and os.path.realpath(folder) != real:
            raise _refuse_link(folder) from None
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        handle = os.open(name, _NEW, 0o666)
    if real and os.path.dirname(place := _locate(handle, name)) != real:  # noqa: PTH120 - as above
        os.close(handle)
        os.unlink(place)  # noqa: PTH108 - as above
        raise _refuse_link(folder)
    return handle


def _locate(handle: int, name: str) -> str:
    """Return where an open file really is: a name may lead elsewhere a moment later."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - as above
    except OSError:  # macOS
        return os.path.realpath(name)


def _refuse_link(folder: str) -> OSError:
    return OSError(errno.ELOOP, "a link leads out of it, so nothing is written there", folder)


def make_way(path: Path, *, for_folder: bool = False) -> None:
    """Rename what is at `path` if it is not the file or folder that belongs there: a pipe would block.

    Raises OSError.
    """
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not (path.is_dir() if for_folder else path.is_file()):
        path.rename(path.with_name(f"{path.name}.displaced-{time.time_ns()}"))


def move_aside(path: Path, folder: Path) -> Path:
    """Move whatever is at `path` (a link itself, not its target) into `folder`; return where it is now."""
    from shutil import move

    place = _place(path, folder)
    move(path, place)
    return place


def copy_aside(path: Path, folder: Path) -> Path:
    """Keep a file or link in `folder` under a second name, so that another can be renamed over the first."""
    from shutil import copy2

    place = _place(path, folder)
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:  # another file system, or one without hard links
        copy2(path, place, follow_symlinks=False)
    return place


def _place(path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{time.time_ns()}-{path.name}"
