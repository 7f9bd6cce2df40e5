"""Calls to the Linux kernel that Python has no function for."""

import ctypes
import os

TYPE_CHECKING = False  # importing typing takes longer than everything else here
if TYPE_CHECKING:
    from typing import Any

_LIBC: "Any" = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: "Any") -> int:
    """Call a function of the C library that returns -1 for an error. Raises OSError."""
    return _check(name, getattr(_LIBC, name)(*arguments))


def syscall(name: str, number: int, *arguments: "Any") -> int:
    """Make a system call by number, if the C library has no function for it. Raises OSError."""
    return _check(name, _LIBC.syscall(ctypes.c_long(number), *arguments))


def _check(name: str, result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result
