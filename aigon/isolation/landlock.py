"""The workspace out of reach by Landlock: the right to everything beside it, and none to itself.

Rights can be given and never taken away, so everything beside the chain of folders that leads to a hidden path is
given. Paths are still walked through and their attributes seen; reading, listing, writing and running are not possible
in what is not given, nor looking into processes outside (landlock(7)).
"""

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aigon.process.syscalls import call, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System call numbers, the same on every architecture."""
VERSION, PATH_BENEATH, PR_SET_NO_NEW_PRIVS = 1, 1, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: TRUNCATE, 5: IOCTL}
"""The rights to files by the version of the interface that brought them, from <linux/landlock.h>."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
TO_READ = EXECUTE | READ_FILE | READ_DIR


def version() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    try:
        return syscall("landlock_create_ruleset", CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        return 0


def enter(plan: dict[str, Any]) -> None:
    """Give up every right to files but those to what is beside the plan's `hidden`, and to its `shown` paths.

    Of `shown`, read-only ones are given less. Raises OSError where the kernel has no Landlock.
    """
    handled = sum(rights for since, rights in RIGHTS.items() if since <= version())
    attributes = ctypes.c_uint64(handled)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))
    for path in beside([Path(path) for path in plan["hidden"]]):
        allow(ruleset, path, handled)
    for name, read_only in plan["shown"]:
        for path in _parts(Path(name), plan["masked"]) if read_only else [Path(name)]:
            allow(ruleset, path, handled & TO_READ if read_only else handled)
        if read_only:
            allow(ruleset, Path(name), READ_DIR)
    restrict(ruleset)


def beside(hidden: Sequence[Path], top: str = "/") -> Iterator[Path]:
    """The paths that together hold everything below `top` but the hidden ones, the fewest that do."""
    closed = {str(path) for path in hidden}
    leading = {str(folder) for path in hidden for folder in path.parents}
    folders = [top]
    for folder in folders:
        paths = [os.path.join(folder, entry) for entry in _entries(Path(folder))]  # noqa: PTH118 - may be thousands
        folders += [path for path in paths if path in leading and path not in closed]
        yield from (Path(path) for path in paths if path not in leading and path not in closed)


def _entries(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - a folder may have many
    return []


def _parts(folder: Path, masked: Sequence[str]) -> Iterator[Path]:
    """What a read-only folder holds, but for caches."""
    return (folder / entry for entry in _entries(folder) if entry not in masked)


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def allow(ruleset: int, path: Path, rights: int) -> None:
    """Give rights to a path and what is below it. A link is nothing by itself: where it leads has rights or not."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    except OSError:
        return  # gone since it was listed
    try:
        mode = os.fstat(descriptor).st_mode
        given = rights if stat.S_ISDIR(mode) else rights & OF_FILES
        if given and not stat.S_ISLNK(mode):
            rule = ctypes.byref(_Beneath(given, descriptor))
            syscall("landlock_add_rule", ADD_RULE, ruleset, ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def restrict(ruleset: int) -> None:
    """From here on for this process and its children. Without privilege, setuid programs are given up for it."""
    try:
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    except PermissionError:
        call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
