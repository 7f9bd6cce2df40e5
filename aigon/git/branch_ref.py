"""The branch as a ref, and objects of other gits that are flushed before it names them."""

import ctypes
import os
import stat
import time
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path

from aigon.files.atomic import sync_folder, write_in_place
from aigon.files.syscalls import call
from aigon.git.refs import LONGEST, is_hash
from aigon.git.trusted import TrustedGit

RECENT = 60.0
"""Seconds before a run from which objects may not be on the disk yet: the kernel writes them within 35 s."""


class BranchRef:
    """`refs/heads/<branch>`, moved by compare-and-swap, with a lock that can be told from any other."""

    def __init__(self, trusted: TrustedGit, branch: str) -> None:
        self._trusted, self._name = trusted, f"refs/heads/{branch}"
        self._file = trusted.common_dir / "refs" / "heads" / branch
        self._seen: dict[str, int] = {}
        self._flushed: set[tuple[int, str]] = set()
        self._since = (time.time() - RECENT, time.monotonic() - RECENT)
        self._written_out = ""

    @property
    def lock(self) -> Path:
        return self._file.with_name(f"{self._file.name}.lock")

    def move(self, commit: str, old: str) -> tuple[int, str]:
        """Write out all that `commit` holds, then move the branch from `old`; return git's exit code and words.

        HEAD is not locked, and the line of its log is added here. Raises OSError.
        """
        if commit != self._written_out:
            self.write_out()
        code, said = 0, ""
        if not replace_ref(self._trusted, self._name, commit, old):
            code, said = self._trusted.refs("update-ref", "-m", "aigon", self._name, commit, old, headless=True)
        if code == 0:
            folder = self._file.parent
            # On another disk the journal's next flush would not include the branch's new name.
            if folder.stat().st_dev != self._trusted.directory.stat().st_dev:
                sync_folder(folder)
            log = self._trusted.git_dir / "logs" / "HEAD"
            with suppress(OSError):  # only people read this log
                if log.is_file():
                    _log_move(self._trusted, log, old, commit)
        return code, said

    def write_out_commit(self, commit: str, parent: str, names: Iterable[str]) -> None:
        """Write out all that `commit` holds: if its `parent` was, only the objects of these `names`. Raises OSError."""
        if parent != self._written_out:
            self.write_out(commit)
            return
        objects = self._trusted.common_dir / "objects"
        _flush_files(f"{objects}/{name[:2]}/{name[2:]}" for name in (*names, commit))
        self._written_out = commit

    def write_out(self, commit: str = "") -> None:
        """Write what any git wrote since the last time to the disk, with all that `commit` holds. Raises OSError."""
        wall, steady = self._since
        now, passed = time.time(), time.monotonic() - steady
        since = min(wall, now - passed)  # whichever way the clock was set
        self._flushed = flush_loose_objects(self._trusted.common_dir / "objects", since, self._seen, self._flushed)
        self._since, self._written_out = (now, time.monotonic()), commit

    def remove_own_lock(self, commit: str) -> bool:
        """Remove the lock that a killed git of aigon's left; return whether there was one.

        It holds the only trace of the commit that the branch was to be moved to.
        """
        with suppress(OSError):
            if self.lock.read_bytes() == commit.encode() + b"\n":
                self.lock.unlink()
                return True
        return False


def replace_ref(git: TrustedGit, name: str, commit: str, old: str = "") -> bool:
    """Let a ref hold `commit` as git does, without starting it; return False if git has to.

    It has to be a plain file; if the ref is to move from `old`, one that holds that and has a log, and it is flushed.
    """
    file, log = f"{git.common_dir}/{name}", git.common_dir / "logs" / name
    lock = f"{file}.lock"
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError:  # git waits for somebody's lock, or says what is in the way
        return False
    try:
        with open(handle, "wb", buffering=0) as written:  # noqa: PTH123 - of a handle
            written.write(f"{commit}\n".encode())
            before = os.lstat(file)
            if stat.S_ISREG(before.st_mode) and _holds(file, old) and (not old or log.is_file()):
                os.fchmod(handle, stat.S_IMODE(before.st_mode))
                if old:
                    os.fsync(handle)
                    _log_move(git, log, old, commit)
                    os.rename(lock, file)  # noqa: PTH104 - as git names it
                else:  # in place: a power cut never leaves it empty, which makes every git gc fail
                    write_in_place(file, f"{commit}\n".encode())
                    os.unlink(lock)  # noqa: PTH108 - as above
                return True
    except OSError:
        pass
    with suppress(FileNotFoundError):
        os.unlink(lock)  # noqa: PTH108 - as above
    return False


def _holds(file: str, old: str) -> bool:
    """Return whether a ref's file holds `old`, or any object."""
    with open(file) as held:  # noqa: PTH123 - on the hot path
        value = held.read(LONGEST).removesuffix("\n")
    return value == old if old else is_hash(value)


def _log_move(git: TrustedGit, log: Path, old: str, commit: str) -> None:
    with log.open("ab") as file:
        file.write(f"{old} {commit} {git.sign()}\taigon\n".encode())


SLACK = 2.0
"""Seconds by which the time of a file may be behind the clock: ext4 counts in ticks, FAT in steps of two seconds."""
TICK_NS = 20_000_000
"""Nanoseconds after which another change of a folder has another time: the kernel's clock for files has steps of up to
10 ms."""
_ZERO = ctypes.c_int64(0)
_START, _WRITE_OUT = 2, 1 | 2 | 4
"""SYNC_FILE_RANGE_WRITE, and with it _WAIT_BEFORE and _WAIT_AFTER, in <fcntl.h>: git's `writeout-only`."""


def flush_loose_objects(
    objects: Path, since: float, seen: dict[str, int] | None = None, flushed: Set[tuple[int, str]] = frozenset()
) -> set[tuple[int, str]]:
    """Write the loose objects from `since` (seconds of the epoch) on to the disk; return inode and path of each.

    An agent that adds or commits leaves objects that git does not flush by default; aigon's own git then finds them and
    writes nothing. They are durable with the next fsync on that file system. Folders that have not changed since they
    were `seen`, which is noted there, are skipped, and so are files that were `flushed` before: git never changes one.
    Raises OSError.
    """
    fresh = {*_list_fresh(objects, (since - SLACK) * 1e9, {} if seen is None else seen)}
    _flush_files(name for _, name in sorted(fresh - flushed))
    return fresh


def _flush_files(names: Iterable[str]) -> None:
    """Write files to the disk, as far as they exist: what is packed was flushed by the git that packed it."""
    there = [*names]
    for flags in (_START, _WRITE_OUT):  # all are on their way before one is waited for
        there = [name for name in there if _flush_file(name, flags)]


def _list_fresh(objects: Path, since_ns: float, seen: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Yield inode and path of new objects: only folders whose time has changed are listed."""
    for folder in _list_entries(objects):
        try:
            changed = folder.stat().st_mtime_ns
        except FileNotFoundError:  # a git has packed and removed it since it was listed
            continue
        if folder.name[2:] or changed < since_ns or seen.get(folder.name) == changed:
            continue
        settled = time.time_ns() - changed > TICK_NS  # else a file may still come and leave the time as it is
        for file in _list_entries(folder.path):
            try:
                if file.stat().st_mtime_ns >= since_ns:
                    yield file.inode(), file.path
            except FileNotFoundError:
                continue
        if settled:
            seen[folder.name] = changed


def _list_entries(folder: str | Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if entry.name[:4] != "tmp_"]
    except FileNotFoundError:
        return []


def _flush_file(name: str, flags: int) -> bool:
    """Hand a file to the disk, or wait for it as well; return False if it is gone. Raises OSError."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        call("sync_file_range", file, _ZERO, _ZERO, flags)
    except (AttributeError, OSError):  # macOS has none, and not every file system does
        os.fsync(file)
    finally:
        os.close(file)
    return True


def remove_empty_objects(objects: Path) -> int:
    """Remove empty loose objects, which a power cut leaves; return how many there were."""
    removed = 0
    for folder in _list_entries(objects):
        for file in _list_entries(folder.path) if len(folder.name) == 2 else ():
            if file.stat(follow_symlinks=False).st_size == 0:
                Path(file.path).unlink(missing_ok=True)
                removed += 1
    return removed
