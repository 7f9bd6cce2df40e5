"""Landlock: rules for commands in a clean room, for agents, and for writes of the API agent.

Rights can be given and never taken away below. To hide a path, everything off the chain of folders that leads to it
is granted instead; a folder that holds something hidden cannot be listed, and what lies hidden in a folder that may be
written can be reached. Landlock covers neither attributes of files, nor sockets that have a path, nor messages to
processes (landlock(7)).
"""

import ctypes
import os
import stat

from aigon.files.syscalls import call, syscall

TYPE_CHECKING = False  # as few modules as can be: `aigon.isolation.launcher` says why
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

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
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
"""From <linux/prctl.h>."""
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


def enter_room(plan: "dict[str, Any]") -> None:
    """Give up every right to files, except to what is off the plan's `hidden` paths, and to its `shown` paths.

    Of `shown`, the read-only ones can be read but for what is `masked` in them. Raises OSError without Landlock.
    """
    rights = _list_rights()
    with _Ruleset(rights) as rules:
        for path in list_beside(plan["hidden"]):
            rules.allow(path, rights)
        for name, read_only in plan["shown"]:
            if not read_only:
                rules.allow(name, rights)
                continue
            for entry in _list_entries(name):
                if entry not in plan["masked"]:
                    rules.allow(f"{name}/{entry}", rights & TO_READ)
            rules.allow(name, READ_DIR)
        rules.restrict_thread()


def enter_sandbox(plan: "dict[str, Any]") -> None:
    """Let this thread, and what it starts from now on, have only what the plan grants. Raises OSError without Landlock.

    Other threads stay as they are.
    """
    version, rights = landlock_version(), _list_rights()
    more = (TCP if plan["closed"] else 0, SCOPES)
    hidden = (*plan["hidden"], "/dev")
    leading = _list_leading(hidden)
    with _Ruleset(rights, *more[: 0 if version < 4 else 1 if version < 6 else 2]) as rules:
        for path in list_beside(hidden):
            rules.allow(path, TO_READ)
        for name in plan["read"]:
            for path in list_beside(hidden, name) if name in leading else (name,):
                rules.allow(path, TO_READ)
        for name in (*plan["write"], *(f"/dev/{device}" for device in (*WRITABLE_DEVICES, *MORE_DEVICES))):
            rules.allow(name, rights)
        for capability in MACHINE_CAPABILITIES:
            try:  # noqa: SIM105 - without contextlib
                call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
            except OSError:  # only root has any
                pass
        rules.restrict_thread()


def enter_writes(plan: "dict[str, Any]") -> None:
    """Give up the right to write but in the plan's `write`. Raises OSError without Landlock."""
    confine_writes(plan["write"])


def confine_writes(writable: "Iterable[str]") -> None:
    """Give up the right to write outside of these files and folders. Raises OSError without Landlock."""
    rights = _list_rights() & ~(TO_READ | IOCTL)
    with _Ruleset(rights) as rules:
        for path in (*writable, *(f"/dev/{name}" for name in WRITABLE_DEVICES)):
            rules.allow(os.path.realpath(path), rights)
        rules.restrict_thread()


def list_beside(hidden: "Sequence[str]", top: str = "/") -> "Iterator[str]":
    """Yield the fewest paths that together hold everything below `top` but the hidden ones."""
    closed, leading = {*hidden}, _list_leading(hidden)
    folders = [top]
    for folder in folders:
        paths = [os.path.join(folder, entry) for entry in _list_entries(folder)]  # noqa: PTH118 - without pathlib
        folders += [path for path in paths if path in leading and path not in closed]
        yield from (path for path in paths if path not in leading and path not in closed)


def _list_leading(paths: "Sequence[str]") -> set[str]:
    """Return the folders above these absolute paths."""
    parts = [path.split("/") for path in paths]
    return {"/".join(names[:count]) or "/" for names in parts for count in range(1, len(names))}


def _list_entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - without pathlib
    except OSError:
        return []


def _list_rights() -> int:
    version = landlock_version()
    return sum(rights for since, rights in RIGHTS.items() if since <= version)


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _Ruleset:
    """Rules that deny the rights in `attributes` (to files, to the network, scopes), and what they allow."""

    def __init__(self, *attributes: int) -> None:
        words = (ctypes.c_uint64 * len(attributes))(*attributes)
        size, flags = ctypes.c_size_t(ctypes.sizeof(words)), ctypes.c_uint32(0)
        self._number = syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(words), size, flags)

    def __enter__(self) -> "_Ruleset":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._number)

    def allow(self, path: str, rights: int) -> None:
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
                none = ctypes.c_uint32(0)
                syscall("landlock_add_rule", ADD_RULE, self._number, ctypes.c_int(PATH_BENEATH), rule, none)
        finally:
            os.close(descriptor)

    def restrict_thread(self) -> None:
        """Apply the rules to this thread and its children. Without privilege, setuid programs are given up for it."""
        none = ctypes.c_uint32(0)
        try:
            syscall("landlock_restrict_self", RESTRICT_SELF, self._number, none)
        except PermissionError:
            call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            syscall("landlock_restrict_self", RESTRICT_SELF, self._number, none)
