"""Locks of git: held on a checkout's index while it is replaced, and moved aside if a dead git left them."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from aigon.errors import environment
from aigon.files.atomic import move_aside, write_in_place
from aigon.files.locks import describe_holder, list_pids, read_command_line
from aigon.git.repository import find_repository

MARK = b"held by aigon\n"
"""The content of a lock without an index: no other git writes it."""
LOCK_SECONDS = 10.0
"""How long to wait for another git's lock on the checkout's index."""


@contextmanager
def lock_index(index: Path, new: Path | None = None) -> Iterator[Path]:
    """Hold git's own lock on `index`, and yield its path: the caller renames this file over the old index.

    With `new` the lock has that file's content from the start; otherwise it has MARK, and the caller uses
    `replace_index`. Another living holder's lock is waited for and never removed: after the rename a lock of that name
    belongs to another process. Raises AigonError (exit 7) if another git holds it for longer than LOCK_SECONDS.
    """
    lock = index.with_name("index.lock")
    draft = _name_draft(lock)
    # The system's lock on the file lasts as long as this process: without it, a killed aigon left the file.
    with draft.open("wb") as held:
        try:
            held.write(new.read_bytes() if new else MARK)
            held.flush()
            if new:
                _copy_times(new, draft)
            with suppress(OSError):  # a file system without locks: what a kill leaves there stays
                fcntl.flock(held, fcntl.LOCK_EX)
            _link(draft, lock)
        finally:
            draft.unlink()
        try:
            yield lock
        except BaseException:
            lock.unlink(missing_ok=True)
            raise


def replace_index(index: Path, new: Path) -> None:
    """Put a copy of `new` over the locked `index`, and remove the lock."""
    draft = _name_draft(index)
    _copy(new, draft)
    draft.replace(index)
    index.with_name("index.lock").unlink()


def _name_draft(index: Path) -> Path:
    return index.with_name(f"aigon-index.{os.getpid()}")


def remove_dead_lock(lock: Path) -> None:
    """Remove a lock of aigon's if its holder was killed."""
    with suppress(OSError), lock.open("rb") as left:
        fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if left.read(100) == MARK and os.path.samestat(os.fstat(left.fileno()), lock.stat()):
            lock.unlink()


def _link(draft: Path, lock: Path) -> None:
    """Link a complete file to the lock's name, which fails like O_EXCL if the name is taken."""
    limit = time.monotonic() + LOCK_SECONDS
    while not _try_link(draft, lock):
        if time.monotonic() > limit:
            hint = "Let it finish; if none is running, remove that file. Then run again, with --resume after a turn"
            what = "Another git command holds the index of this checkout"
            who = describe_holder(lock)
            raise environment(what, where=f"{lock}, held by {who}" if who else str(lock), hint=hint)
        time.sleep(0.05)


def _try_link(draft: Path, lock: Path) -> bool:
    try:
        os.link(draft, lock)
    except FileExistsError:
        remove_dead_lock(lock)
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
        if draft.read_bytes() != MARK:
            _copy(draft, lock)
    return True


def copy_index(index: Path, target: Path, directory: Path) -> bool:
    """Copy `index`, if it exists, to `target` for a git with this `directory`; return whether it exists.

    The shared part of a split index is copied to the directory, where git looks for it.
    """
    if not os.path.exists(index):  # noqa: PTH110 - on the hot path
        return False
    for name in os.listdir(index.parent):  # noqa: PTH208 - as above
        if name.startswith("sharedindex."):
            shutil.copyfile(index.with_name(name), directory / name)
    _copy(index, target)
    return True


def _copy(index: Path, target: Path) -> None:
    write_in_place(target, index.read_bytes())
    _copy_times(index, target)


def _copy_times(index: Path, copy: Path) -> None:
    """Give a copy the times of the original: git reads only files that are not older than the index.

    A file that changed after it was staged, in the same second and to the same size, would pass for unchanged.
    """
    then = index.stat()
    os.utime(copy, ns=(then.st_atime_ns, then.st_mtime_ns))


_CHECKOUT_LOCKS = ("index.lock", "HEAD.lock", "config.worktree.lock")
_SHARED_LOCKS = ("config.lock", "packed-refs.lock", "shallow.lock")
IN_USE_SECONDS = 0.5
"""How long a lock may be held by another git or aigon, as by one that commits on another branch, without a word."""
LockIdentity = tuple[int, int, int]


class GitLocks(Struct):
    """The locks of a checkout, in its own git directory and in the one that it shares with worktrees.

    Only Linux tells which files a process has open: elsewhere every lock is left.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    displaced: Path
    _known: dict[Path, LockIdentity] = field(default_factory=dict)

    def remember(self) -> None:
        """Remember the existing locks: they belong to other processes."""
        self._known = dict(self._list_locks())

    def move_stale(self, since: int = 0) -> tuple[str, ...]:
        """Move aside the locks that came since `remember` and after `since` (ns), unless a process may hold them.

        Return a sentence for each that stays for longer than another commit takes.
        """
        came = [each for each in self._list_locks() if self._known.get(each[0]) != each[1] and each[1][2] >= since]
        return tuple(filter(None, (self._settle(lock, identity) for lock, identity in came)))

    def _settle(self, lock: Path, identity: LockIdentity) -> str:
        name, limit = os.path.relpath(lock, self.root), time.monotonic() + IN_USE_SECONDS
        while who := describe_holder(lock) or self._living_git():
            if time.monotonic() > limit:
                return f"git's lock {name} came during the turn, and {who} may hold it: it is left"
            time.sleep(0.05)
            if _identify_lock(lock) != identity:
                break
        if _identify_lock(lock) != identity:
            return ""
        place = move_aside(lock, self.displaced)
        return f"a git command of the turn left its lock {name}; no process holds it, so it was moved to {place}"

    def _list_locks(self) -> Iterator[tuple[Path, LockIdentity]]:
        locks = [f"{self.git_dir}/{name}" for name in _CHECKOUT_LOCKS]
        locks += [f"{self.common_dir}/{name}" for name in _SHARED_LOCKS]
        for lock in (*locks, *_list_ref_locks(f"{self.common_dir}/refs")):
            if identity := _identify_lock(lock):
                yield Path(lock), identity

    def _living_git(self) -> str:
        """Name a git that works in this repository: while it waits for an editor it holds a lock that it has closed."""
        repository = find_repository(self.root)
        places = {str(path) for path in (self.root, self.common_dir, repository.root, *repository.worktrees)}
        return next((f"pid {pid} ({read_command_line(pid)})" for pid in list_pids() if _is_git_in(pid, places)), "")


def _list_ref_locks(folder: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _list_ref_locks(entry.path)
            elif entry.name.endswith(".lock"):
                yield entry.path


def _identify_lock(lock: str | Path) -> LockIdentity | None:
    """Return what tells a lock from a later one of its name; None if it is missing or of another user."""
    with suppress(OSError):
        seen = os.lstat(lock)
        if seen.st_uid == os.geteuid() and Path("/proc/self/fd").is_dir():
            return seen.st_dev, seen.st_ino, seen.st_mtime_ns
    return None


def _is_git_in(pid: int, places: set[str]) -> bool:
    with suppress(OSError):
        process = Path(f"/proc/{pid}")
        if (process / "comm").read_text().startswith("git"):
            cwd = Path(os.readlink(process / "cwd"))  # noqa: PTH115
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            return any(str(path) in places for path in (cwd, *cwd.parents)) or any(place in words for place in places)
    return False
