"""Landlock: rules for commands in a clean room, for agents, and for writes of the API agent.

Rights can be given and never taken away below. To hide a path, everything beside the chain of folders that leads to it
is granted instead; a folder that holds something hidden cannot be listed, and what lies hidden in a folder that may be
written can be reached. Landlock covers neither attributes of files, nor sockets that have a path, nor messages to
processes (landlock(7)).
"""

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
VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: TRUNCATE, 5: IOCTL}
"""The rights to files by the version of the interface that brought them, from <linux/landlock.h>."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
TO_READ = EXECUTE | READ_FILE | READ_DIR
TCP = 1 | 2
"""To bind and to connect, since version 4 of the interface."""
SCOPES = 1 | 2
"""No connection to abstract sockets and no signal to processes outside, since version 6."""
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
"""From <linux/prctl.h>."""
SIGKILL = 9
MACHINE_CAPABILITIES = (2, 16, 17, 19, 21, 22, 27, 38, 39)
"""What root keeps none of: DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, MKNOD, PERFMON and
BPF from <linux/capability.h>. With them it reads disks and the memory of others past every rule (PERFMON and SYS_ADMIN
open /proc/PID/environ of processes outside since Linux 6.14, measured)."""
WRITABLE_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
"""What programs write to in /dev; no disk, which root could read."""
MORE_DEVICES = ("fd", "stdin", "stdout", "stderr", "kvm", "dri", "fuse")
"""What agents may use in /dev besides."""


def landlock_version() -> int:
    """Return the version of the kernel's interface; 0 if it has none."""
    try:
        return syscall("landlock_create_ruleset", CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        return 0


def can_confine() -> bool:
    return landlock_version() > 0


def enter_room(plan: dict[str, Any]) -> None:
    """Give up every right to files, except to what is beside the plan's `hidden`, and to its `shown` paths.

    Of `shown`, the read-only ones can be read but for what is `masked` in them. Raises OSError without Landlock.
    """
    rights = _list_rights()
    ruleset = _create_ruleset(rights)
    for path in list_beside([Path(path) for path in plan["hidden"]]):
        _allow_path(ruleset, path, rights)
    for name, read_only in plan["shown"]:
        if not read_only:
            _allow_path(ruleset, Path(name), rights)
            continue
        for entry in _list_entries(Path(name)):
            if entry not in plan["masked"]:
                _allow_path(ruleset, Path(name, entry), rights & TO_READ)
        _allow_path(ruleset, Path(name), READ_DIR)
    _restrict_self(ruleset)


def enter_sandbox(plan: dict[str, Any]) -> None:
    """Give up what the plan does not grant, and end with the `parent`. Raises OSError without Landlock."""
    call("prctl", PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != plan["parent"]:  # it was gone before the kernel was asked
        os._exit(128 + SIGKILL)
    version, rights = landlock_version(), _list_rights()
    more = (TCP if plan["closed"] else 0, SCOPES)
    ruleset = _create_ruleset(rights, *more[: 0 if version < 4 else 1 if version < 6 else 2])
    hidden = [Path(path) for path in (*plan["hidden"], "/dev")]
    for path in list_beside(hidden):
        _allow_path(ruleset, path, TO_READ)
    for name in plan["read"]:
        holds_hidden = any(Path(name) in path.parents for path in hidden)
        for path in list_beside(hidden, name) if holds_hidden else [Path(name)]:
            _allow_path(ruleset, path, TO_READ)
    for name in (*plan["write"], *(f"/dev/{device}" for device in (*WRITABLE_DEVICES, *MORE_DEVICES))):
        _allow_path(ruleset, Path(name), rights)
    for capability in MACHINE_CAPABILITIES:
        with contextlib.suppress(OSError):  # only root has any
            call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    _restrict_self(ruleset)


def enter_writes(plan: dict[str, Any]) -> None:
    """Give up the right to write but in the plan's `write`. Raises OSError without Landlock."""
    confine_writes(map(Path, plan["write"]))


def confine_writes(writable: Iterable[Path]) -> None:
    """Give up the right to write outside of these files and folders. Raises OSError without Landlock."""
    rights = _list_rights() & ~(TO_READ | IOCTL)
    ruleset = _create_ruleset(rights)
    for path in (*writable, *(Path("/dev") / name for name in WRITABLE_DEVICES)):
        _allow_path(ruleset, path.resolve(), rights)
    _restrict_self(ruleset)


def list_beside(hidden: Sequence[Path], top: str = "/") -> Iterator[Path]:
    """Yield the fewest paths that together hold everything below `top` but the hidden ones."""
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


def _list_rights() -> int:
    version = landlock_version()
    return sum(rights for since, rights in RIGHTS.items() if since <= version)


def _create_ruleset(*attributes: int) -> int:
    """Create rules that deny the rights in `attributes` (to files, to the network, scopes)."""
    words = (ctypes.c_uint64 * len(attributes))(*attributes)
    size, flags = ctypes.c_size_t(ctypes.sizeof(words)), ctypes.c_uint32(0)
    return syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(words), size, flags)


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _allow_path(ruleset: int, path: Path, rights: int) -> None:
    """Give rights to a path and what is below it. A link gives none: its target has rights or not."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    except OSError:
        return  # gone since it was listed
    try:
        mode = os.fstat(descriptor).st_mode
        allowed = rights if stat.S_ISDIR(mode) else rights & OF_FILES
        if allowed and not stat.S_ISLNK(mode):
            rule = ctypes.byref(_Beneath(allowed, descriptor))
            syscall("landlock_add_rule", ADD_RULE, ruleset, ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def _restrict_self(ruleset: int) -> None:
    """Apply the rules to this process and its children. Without privilege, setuid programs are given up for it."""
    try:
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    except PermissionError:
        call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
