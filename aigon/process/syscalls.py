"""The few calls to the Linux kernel that Python has no function for."""

import ctypes
import os

TYPE_CHECKING = False  # typing itself takes longer to import than all that is done here
if TYPE_CHECKING:
    from typing import Any

_LIBC: "Any" = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: "Any") -> int:
    """A function of the C library that answers -1 for an error. Raises OSError with what it says."""
    return _checked(name, getattr(_LIBC, name)(*arguments))


def syscall(name: str, number: int, *arguments: "Any") -> int:
    """A system call by number, for those without a function. Raises OSError with what the kernel says."""
    return _checked(name, _LIBC.syscall(ctypes.c_long(number), *arguments))


def _checked(name: str, result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result
