"""Writes only below some folders, by Landlock: everything may be read and run, nothing changed beside them.

Not covered, as Landlock does not cover it (landlock(7)): permissions, owners and times of files, the network, and
messages to processes that run already.
"""

import ctypes
from collections.abc import Iterable
from pathlib import Path

from aigon.isolation import landlock
from aigon.process.syscalls import syscall

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
"""What programs write to in /dev; a disk is none of it."""


def possible() -> bool:
    """Whether the kernel can do this."""
    return landlock.version() > 0


def enter(writable: Iterable[Path]) -> None:
    """Give up the right to write to anything but these and what is below them. Raises OSError where that cannot be."""
    rights = sum(rights for since, rights in landlock.RIGHTS.items() if since <= landlock.version())
    handled = rights & ~(landlock.TO_READ | landlock.IOCTL)
    attributes = ctypes.c_uint64(handled)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = syscall("landlock_create_ruleset", landlock.CREATE_RULESET, ctypes.byref(attributes), size,
                      ctypes.c_uint32(0))  # fmt: skip
    for path in (*writable, *(Path("/dev") / name for name in DEVICES)):
        landlock.allow(ruleset, path.resolve(), handled)
    landlock.restrict(ruleset)
