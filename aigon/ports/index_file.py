"""A checkout's index as a file: locked as git locks it, copied whole, replaced whole."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aigon.core.errors import environment

LOCK_SECONDS = 10.0
"""How long another git's lock on the checkout's index is waited for."""


@contextmanager
def locked(index: Path, new: Path | None = None) -> Iterator[Path]:
    """Hold git's own lock on `index`: the caller renames the file at the path given over the old index.

    With `new` the lock holds that file's content from its first moment, so that a lock that a killed aigon left can be
    told from anybody else's; otherwise it is empty. Another holder's lock is waited for and never removed: after the
    rename a lock of that name is somebody else's. Raises AigonError (exit 7), naming the lock, when another git holds
    it for longer than LOCK_SECONDS.
    """
    lock = index.with_name("index.lock")
    _take(lock, new)
    try:
        yield lock
    except BaseException:
        lock.unlink(missing_ok=True)
        raise


def _take(lock: Path, new: Path | None) -> None:
    """Link a complete file to the lock's name: like O_EXCL, that fails where the name is taken."""
    draft = lock.with_name(f"aigon-index.{os.getpid()}")
    shutil.copyfile(new or os.devnull, draft)
    try:
        _link(draft, lock)
    finally:
        draft.unlink()


def _link(draft: Path, lock: Path) -> None:
    limit = time.monotonic() + LOCK_SECONDS
    while not _linked(draft, lock):
        if time.monotonic() > limit:
            hint = "Let it finish; if none is running, remove that file. Then run again, with --resume after a turn"
            what = "Another git command holds the index of this checkout"
            raise environment(what, where=str(lock), hint=hint)
        time.sleep(0.05)


def _linked(draft: Path, lock: Path) -> bool:
    """Whether the lock is ours now; False while another has it."""
    try:
        os.link(draft, lock)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
        shutil.copyfile(draft, lock)
    return True


def copied(index: Path, target: Path, directory: Path) -> bool:
    """Copy `index` to `target` for a git whose directory is `directory`; False where there is none to copy.

    Of a split index the shared part goes along: git looks for it in its directory.
    """
    if not index.exists():
        return False
    for shared in index.parent.glob("sharedindex.*"):
        shutil.copyfile(shared, directory / shared.name)
    shutil.copyfile(index, target)
    return True
