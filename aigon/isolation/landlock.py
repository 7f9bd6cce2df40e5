"""Landlock: three sets of rules, for commands in a clean room, for agents, and for writes of the API agent."""

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
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


def landlock_version() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    try:
        return syscall("landlock_create_ruleset", CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        return 0


def enter_room(plan: dict[str, Any]) -> None:
    """Give up every right to files but those to what is beside the plan's `hidden`, and to its `shown` paths.

    Of `shown`, read-only ones are given less. Raises OSError where the kernel has no Landlock.
    """
    handled = sum(rights for since, rights in RIGHTS.items() if since <= landlock_version())
    attributes = ctypes.c_uint64(handled)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))
    for path in list_beside([Path(path) for path in plan["hidden"]]):
        allow_path(ruleset, path, handled)
    for name, read_only in plan["shown"]:
        for path in _list_unmasked(Path(name), plan["masked"]) if read_only else [Path(name)]:
            allow_path(ruleset, path, handled & TO_READ if read_only else handled)
        if read_only:
            allow_path(ruleset, Path(name), READ_DIR)
    restrict_self(ruleset)


def list_beside(hidden: Sequence[Path], top: str = "/") -> Iterator[Path]:
    """The paths that together hold everything below `top` but the hidden ones, the fewest that do."""
    closed = {str(path) for path in hidden}
    leading = {str(folder) for path in hidden for folder in path.parents}
    folders = [top]
    for folder in folders:
        paths = [os.path.join(folder, entry) for entry in _list_entries(Path(folder))]  # noqa: PTH118 - may be thousands
        folders += [path for path in paths if path in leading and path not in closed]
        yield from (Path(path) for path in paths if path not in leading and path not in closed)


def _list_entries(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - a folder may have many
    return []


def _list_unmasked(folder: Path, masked: Sequence[str]) -> Iterator[Path]:
    """What a read-only folder holds, but for caches."""
    return (folder / entry for entry in _list_entries(folder) if entry not in masked)


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def allow_path(ruleset: int, path: Path, rights: int) -> None:
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


def restrict_self(ruleset: int) -> None:
    """From here on for this process and its children. Without privilege, setuid programs are given up for it."""
    try:
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    except PermissionError:
        call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)


TCP = 1 | 2
"""To bind and to connect, since version 4 of the interface, from <linux/landlock.h>."""
SCOPES = 1 | 2
"""No connection to abstract sockets and no signal to processes outside, since version 6."""
PR_CAPBSET_DROP = 24
MACHINE_CAPABILITIES = (2, 16, 17, 19, 21, 22, 27, 38, 39)
"""What root keeps none of: DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, MKNOD, PERFMON and
BPF from <linux/capability.h>. With them it reads disks and the memory of others past every rule (PERFMON and SYS_ADMIN
open /proc/PID/environ of processes outside since Linux 6.14, measured)."""
MORE_DEVICES = ("fd", "stdin", "stdout", "stderr", "kvm", "dri", "fuse")
"""What else is in /dev for programs: never a disk, which root could read."""


def enter_sandbox(plan: dict[str, Any]) -> None:
    """Give up what the plan does not grant. Raises OSError where the kernel has no Landlock."""
    rights = sum(rights for since, rights in RIGHTS.items() if since <= landlock_version())
    ruleset = _make_sandbox_ruleset(rights, closed=plan["closed"])
    hidden = [Path(path) for path in (*plan["hidden"], "/dev")]
    for path in list_beside(hidden):
        allow_path(ruleset, path, TO_READ)
    for name in plan["read"]:
        for path in _split_hidden(name, hidden):
            allow_path(ruleset, path, TO_READ)
    for name in (*plan["write"], *(f"/dev/{device}" for device in (*WRITABLE_DEVICES, *MORE_DEVICES))):
        allow_path(ruleset, Path(name), rights)
    for capability in MACHINE_CAPABILITIES:
        with contextlib.suppress(OSError):  # who is not root has none
            call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    restrict_self(ruleset)


def _split_hidden(folder: str, hidden: list[Path]) -> Iterator[Path]:
    """A folder; where something is hidden in it, all that it holds beside that."""
    if any(Path(folder) in path.parents for path in hidden):
        yield from list_beside(hidden, folder)
    else:
        yield Path(folder)


def _make_sandbox_ruleset(rights: int, *, closed: bool) -> int:
    """A set of rules that denies everything it does not name; its parts are as many as the kernel knows."""
    version = landlock_version()
    words = [rights, TCP if closed else 0, SCOPES][: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = (ctypes.c_uint64 * len(words))(*words)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    name = "landlock_create_ruleset"
    return syscall(name, CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))


WRITABLE_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
"""What programs write to in /dev; a disk is none of it."""


def can_confine() -> bool:
    """Whether the kernel can do this."""
    return landlock_version() > 0


def confine_writes(writable: Iterable[Path]) -> None:
    """Give up the right to write to anything but these and what is below them. Raises OSError where that cannot be."""
    rights = sum(rights for since, rights in RIGHTS.items() if since <= landlock_version())
    handled = rights & ~(TO_READ | IOCTL)
    attributes = ctypes.c_uint64(handled)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(attributes), size,
                      ctypes.c_uint32(0))  # fmt: skip
    for path in (*writable, *(Path("/dev") / name for name in WRITABLE_DEVICES)):
        allow_path(ruleset, path.resolve(), handled)
    restrict_self(ruleset)
