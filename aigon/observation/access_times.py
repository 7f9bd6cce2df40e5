"""Which files of an export were read since their access times were set back.

The kernel moves the access time of a file that is read if it is older than the modification (relatime), for an mmap,
an interpreter's start and a listed folder, too. It does not for `stat`, with O_NOATIME, or on a file system that is
mounted with noatime, which a trial shows.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

_BEFORE = 1
"""Seconds that an access time is set back before the modification."""


class AccessTimes(Struct):
    """The paths of an export whose access times are watched, with the nanoseconds that they were set back to."""

    root: Path
    paths: tuple[str, ...]
    set_to: dict[str, int] = field(default_factory=dict)

    def set_back(self) -> None:
        """Make every read that follows visible."""
        self.set_to = dict(self._set_each_back())

    def _set_each_back(self) -> Iterator[tuple[str, int]]:
        root = f"{self.root}/"
        for path in self.paths:
            # A command may have removed the file, or put another in its place.
            with contextlib.suppress(OSError):
                modified = os.lstat(root + path).st_mtime_ns
                # Whole seconds: not every file system keeps more.
                before = (modified // 1_000_000_000 - _BEFORE) * 1_000_000_000
                os.utime(root + path, ns=(before, modified), follow_symlinks=False)
                yield path, before

    def list_read(self) -> list[str]:
        """Return the paths that were read since."""
        return [path for path, before in self.set_to.items() if self._read_after(path, before)]

    def _read_after(self, path: str, before: int) -> bool:
        try:
            return os.lstat(f"{self.root}/{path}").st_atime_ns > before + 999_999_999
        except OSError:
            return False


def show_reads(root: Path, paths: Iterable[str]) -> bool:
    """Return whether a read of a file in this very folder moves its access time."""
    file = next((path for path in paths if (root / path).is_file() and not (root / path).is_symlink()), None)
    if file is None:
        return False
    times = AccessTimes(root, (file,))
    times.set_back()
    try:
        if times.list_read():
            return False
        (root / file).open("rb").read(1)
    except OSError:
        return False
    return bool(times.list_read())
