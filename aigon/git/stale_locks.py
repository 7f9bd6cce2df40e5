"""Locks that a git which has ended left behind: moved aside where that can be shown, left alone where it cannot.

Only Linux tells which files a process has open, so elsewhere every lock is left.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.displaced import displace
from aigon.files.file_holders import command_of, holder, pids
from aigon.git.main_checkout import around

_OWN = ("index.lock", "HEAD.lock", "config.worktree.lock")
_SHARED = ("config.lock", "packed-refs.lock", "shallow.lock")
Identity = tuple[int, int, int]


@dataclass(slots=True)
class GitLocks:
    """The locks of the checkout at `root`: in its own git directory and in the one that it shares with worktrees."""

    root: Path
    git_dir: Path
    common_dir: Path
    displaced: Path
    _known: dict[Path, Identity] = field(default_factory=dict)

    def remember(self) -> None:
        """Take the locks that are there now for somebody else's."""
        self._known = dict(self._found())

    def move_stale(self, since: int = 0) -> tuple[str, ...]:
        """Move aside the locks that came since `remember`, and after `since` (ns), and that no process holds.

        Return a sentence for each of these, and for each that came and is left because somebody may hold it.
        """
        return tuple(
            self._settle(lock, identity)
            for lock, identity in self._found()
            if self._known.get(lock) != identity and identity[2] >= since
        )

    def _settle(self, lock: Path, identity: Identity) -> str:
        name = os.path.relpath(lock, self.root)
        if who := holder(lock) or self._living_git():
            return f"git's lock {name} came during the turn, and {who} may hold it: it is left"
        if _identity(lock) != identity:
            return f"git's lock {name} came during the turn, and somebody is using it: it is left"
        place = displace(lock, self.displaced)
        return f"a git command of the turn ended without its lock {name}; nobody holds it, so it was moved to {place}"

    def _found(self) -> Iterator[tuple[Path, Identity]]:
        """The locks that hinder git in this checkout."""
        files = [self.git_dir / name for name in _OWN] + [self.common_dir / name for name in _SHARED]
        for lock in (*files, *_of_refs(self.common_dir / "refs")):
            if identity := _identity(lock):
                yield lock, identity

    def _living_git(self) -> str:
        """A git that works in this repository. While it waits for an editor or a hook it holds a lock it has closed."""
        repository = around(self.root)
        places = {str(path) for path in (self.root, self.common_dir, repository.root, *repository.worktrees)}
        return next((f"pid {pid} ({command_of(pid)})" for pid in pids() if _is_git_in(pid, places)), "")


def _of_refs(folder: Path) -> Iterator[Path]:
    for path, _, names in os.walk(folder):
        yield from (Path(path, name) for name in names if name.endswith(".lock"))


def _identity(lock: Path) -> Identity | None:
    """What tells a lock from a later one of its name; None for no file, and for one of another user."""
    with suppress(OSError):
        seen = lock.lstat()
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
