"""A checkout's index as a file: locked as git locks it, copied whole, replaced whole."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aigon.errors import environment
from aigon.files.file_holders import holder

MARK = b"held by aigon\n"
"""What a lock holds that has no index of its own to hold: nobody else's does."""
LOCK_SECONDS = 10.0
"""How long another git's lock on the checkout's index is waited for."""


@contextmanager
def locked(index: Path, new: Path | None = None) -> Iterator[Path]:
    """Hold git's own lock on `index`: the caller renames the file at the path given over the old index.

    With `new` the lock holds that file's content from its first moment, so that a lock that a killed aigon left can be
    told from anybody else's; otherwise it holds MARK, and the caller uses `replace`. Another holder's lock is waited
    for and never removed while it lives: after the rename a lock of that name is somebody else's. Raises AigonError
    (exit 7), naming the lock, when another git holds it for longer than LOCK_SECONDS.
    """
    lock = index.with_name("index.lock")
    with _taken(lock, new):
        try:
            yield lock
        except BaseException:
            lock.unlink(missing_ok=True)
            raise


def replace(index: Path, new: Path) -> None:
    """Put a copy of `new` over the `index` that is locked, and give up the lock."""
    draft = _draft(index)
    _copy(new, draft)
    draft.replace(index)
    index.with_name("index.lock").unlink()


@contextmanager
def _taken(lock: Path, new: Path | None) -> Iterator[None]:
    """Link a complete file to the lock's name: like O_EXCL, that fails where the name is taken.

    The system's lock on that file lasts as long as this process: without it the file is what a killed aigon left.
    """
    draft = _draft(lock)
    with draft.open("wb") as held:
        try:
            held.write(new.read_bytes() if new else MARK)
            held.flush()
            if new:
                _same_age(new, draft)
            with suppress(OSError):  # a file system without it: what a kill leaves there stays
                fcntl.flock(held, fcntl.LOCK_EX)
            _link(draft, lock)
        finally:
            draft.unlink()
        yield


def _draft(index: Path) -> Path:
    return index.with_name(f"aigon-index.{os.getpid()}")


def remove_dead(lock: Path) -> None:
    """Remove a lock of aigon's whose holder was killed."""
    with suppress(OSError), lock.open("rb") as left:
        fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if left.read(100) == MARK and os.path.samestat(os.fstat(left.fileno()), lock.stat()):
            lock.unlink()


def _link(draft: Path, lock: Path) -> None:
    limit = time.monotonic() + LOCK_SECONDS
    while not _linked(draft, lock):
        if time.monotonic() > limit:
            hint = "Let it finish; if none is running, remove that file. Then run again, with --resume after a turn"
            what = "Another git command holds the index of this checkout"
            who = holder(lock)
            raise environment(what, where=f"{lock}, held by {who}" if who else str(lock), hint=hint)
        time.sleep(0.05)


def _linked(draft: Path, lock: Path) -> bool:
    """Whether the lock is ours now; False while another has it."""
    try:
        os.link(draft, lock)
    except FileExistsError:
        remove_dead(lock)
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
        if draft.read_bytes() != MARK:
            _copy(draft, lock)
    return True


def copied(index: Path, target: Path, directory: Path) -> bool:
    """Copy `index` to `target` for a git whose directory is `directory`; False where there is none to copy.

    Of a split index the shared part goes along: git looks for it in its directory.
    """
    if not index.exists():
        return False
    for shared in index.parent.glob("sharedindex.*"):
        shutil.copyfile(shared, directory / shared.name)
    _copy(index, target)
    return True


def _copy(index: Path, target: Path) -> None:
    shutil.copyfile(index, target)
    _same_age(index, target)


def _same_age(index: Path, copy: Path) -> None:
    """Make a copy as old as what it is a copy of: git looks only into files that are not older than the index.

    One that changed after it was staged, in the same second and to the same size, would pass for unchanged otherwise.
    """
    then = index.stat()
    os.utime(copy, ns=(then.st_atime_ns, then.st_mtime_ns))
