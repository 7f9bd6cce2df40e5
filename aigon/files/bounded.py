"""Ordinary files up to a size. A pipe would never end, a device would have no end, and a huge file fills the memory."""

import errno
import os
import stat
from pathlib import Path

from aigon.errors import Exit
from aigon.text.size_limit import too_large


def content(path: Path, largest: int, what: str, *, hint: str, code: Exit = Exit.USAGE) -> bytes:
    """The bytes of a file, called `what` in messages.

    Raises OSError for what is no ordinary file or cannot be read, AigonError (`code`) for one above `largest` bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:  # noqa: PTH123 - of a handle
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", os.fspath(path))
        if seen.st_size > largest:
            raise too_large(what, seen.st_size, largest, where=str(path), hint=hint, code=code)
        return file.read(largest)
