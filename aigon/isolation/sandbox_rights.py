"""What an agent may do with Landlock: read beside what is hidden, write what is granted, and nothing else.

Rights can be given and never taken away below: what lies hidden in a folder that may be written can be reached, and
so can sockets that have a path. What a folder holds can be listed only with all that is in it, so a home of which parts
are granted cannot be listed.
"""

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aigon.isolation import landlock
from aigon.isolation.confined import DEVICES
from aigon.process.syscalls import call, syscall

TCP = 1 | 2
"""To bind and to connect, since version 4 of the interface, from <linux/landlock.h>."""
SCOPES = 1 | 2
"""No connection to abstract sockets and no signal to processes outside, since version 6."""
PR_CAPBSET_DROP = 24
OF_THE_MACHINE = (2, 16, 17, 19, 21, 22, 27, 38, 39)
"""What root keeps none of: DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, MKNOD, PERFMON and
BPF from <linux/capability.h>. With them it reads disks and the memory of others past every rule (PERFMON and SYS_ADMIN
open /proc/PID/environ of processes outside since Linux 6.14, measured)."""
ALSO = ("fd", "stdin", "stdout", "stderr", "kvm", "dri", "fuse")
"""What else is in /dev for programs: never a disk, which root could read."""


def enter(plan: dict[str, Any]) -> None:
    """Give up what the plan does not grant. Raises OSError where the kernel has no Landlock."""
    rights = sum(rights for since, rights in landlock.RIGHTS.items() if since <= landlock.version())
    ruleset = _ruleset(rights, closed=plan["closed"])
    hidden = [Path(path) for path in (*plan["hidden"], "/dev")]
    for path in landlock.beside(hidden):
        landlock.allow(ruleset, path, landlock.TO_READ)
    for name in plan["read"]:
        for path in _parts(name, hidden):
            landlock.allow(ruleset, path, landlock.TO_READ)
    for name in (*plan["write"], *(f"/dev/{device}" for device in (*DEVICES, *ALSO))):
        landlock.allow(ruleset, Path(name), rights)
    for capability in OF_THE_MACHINE:
        with contextlib.suppress(OSError):  # who is not root has none
            call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    landlock.restrict(ruleset)


def _parts(folder: str, hidden: list[Path]) -> Iterator[Path]:
    """A folder; where something is hidden in it, all that it holds beside that."""
    if any(Path(folder) in path.parents for path in hidden):
        yield from landlock.beside(hidden, folder)
    else:
        yield Path(folder)


def _ruleset(rights: int, *, closed: bool) -> int:
    """A set of rules that denies everything it does not name; its parts are as many as the kernel knows."""
    version = landlock.version()
    words = [rights, TCP if closed else 0, SCOPES][: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = (ctypes.c_uint64 * len(words))(*words)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    name = "landlock_create_ruleset"
    return syscall(name, landlock.CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))
