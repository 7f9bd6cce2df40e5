"""What the system says when it lacks something, in words for people: what it is, and what to do about it."""

import errno
from collections.abc import Mapping

from aigon.errors import AigonError, Exit

SAID: Mapping[str, int] = {
    "No space left on device": errno.ENOSPC,
    "Out of diskspace": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Read-only file system": errno.EROFS,
    "File too large": errno.EFBIG,
    "Cannot allocate memory": errno.ENOMEM,
    "Input/output error": errno.EIO,
}
"""How git words the errors of the system under LC_ALL=C, by strerror(3); "Out of diskspace" is its own for a write
that wrote nothing (write-or-die and csum-file)."""


class Lacking(AigonError):
    """The machine lacks room, or the right to write. It says nothing about the work: never taken for a failed check."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint, code=Exit.ENVIRONMENT)


def said(text: str) -> int | None:
    """The number of the error that a program's words name, None where they name none of these."""
    return next((number for words, number in SAID.items() if words in text), None)


def is_lack(number: int | None) -> bool:
    """Whether an error of the system is about room or the right to write."""
    return number in SAID.values()


def explained(number: int, mounted: str) -> tuple[str, str]:
    """What is wrong and what to do, for an error on the file system that is mounted there; "" is unknown."""
    there = f" on {mounted}" if mounted else " on the disk"
    disk = mounted or "the disk"
    match number:
        case errno.ENOSPC:
            return f"no space is left{there}", f"Make room{there} (`df -h` and `df -i` show what is full)"
        case errno.EDQUOT:
            return f"the disk quota{there} is used up", f"Make room{there} (`quota` shows what is allowed)"
        case errno.EROFS:
            again = f" (mount -o remount,rw {mounted}; `dmesg` says why it is not)" if mounted else ""
            return f"{disk} is read-only", f"Make {disk} writable again{again}"
        case errno.EFBIG:
            return "a file may not be as large as it would be", "Raise the limit on the size of files (ulimit -f)"
        case errno.ENOMEM:
            return "no memory is left", "Make room in memory"
        case _:
            return f"reading or writing failed{there}", f"Repair {disk} (`dmesg` says what is wrong with it)"
