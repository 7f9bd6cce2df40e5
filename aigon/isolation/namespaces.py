"""A command's own view of the file system: the export mounted over the workspace, empty folders over records.

The mounts are made in a user namespace. A second one inside of it gets copies that are locked together, so that nobody
in it can undo them, not even root (mount_namespaces(7)). From there /proc shows nothing of processes outside, as that
takes rights in their namespace.
"""

import os

from aigon.process.syscalls import call

TYPE_CHECKING = False  # as few modules as can be: `aigon.isolation.launcher` says why
if TYPE_CHECKING:
    from typing import Any

NEW_NAMESPACES = 0x10000000 | 0x00020000
"""CLONE_NEWUSER and CLONE_NEWNS, from <linux/sched.h>."""
NEW_NETWORK = 0x40000000
"""CLONE_NEWNET."""
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
"""From <linux/sockios.h> and <linux/if.h>."""
READ_ONLY, NO_SETUID, NO_DEVICES, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
"""Flags of mount(2), from <linux/mount.h>."""
KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
"""Flags as statvfs(3) gives and mount(2) takes them: a mount from outside may only become stricter."""
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21
"""From <linux/prctl.h> and <linux/capability.h>."""


def enter(plan: "dict[str, Any]") -> None:
    """Give this process the view of the plan: its `hidden` folders, then its `binds` in order. Raises OSError."""
    _unshare(NEW_NETWORK if plan["closed"] else 0)
    if plan["closed"]:
        _raise_loopback()
    _mount(None, "/", RECURSIVE | PRIVATE)
    # Opened before anything is hidden: the export itself lies among aigon's records.
    sources = [os.open(source, os.O_PATH) for source, _, _ in plan["binds"]]
    for path in plan["hidden"]:  # an empty folder over it, in which those that a mount needs can still be made
        call("mount", b"aigon", os.fsencode(path), b"tmpfs", NO_SETUID | NO_DEVICES, b"mode=0755,size=1m")
    for descriptor, (_, target, read_only) in zip(sources, plan["binds"], strict=True):
        os.makedirs(target, exist_ok=True)  # noqa: PTH103 - without pathlib
        _mount(f"/proc/self/fd/{descriptor}", target, BIND | RECURSIVE)
        if read_only:
            _make_read_only(target)
        os.close(descriptor)
    for path in plan["hidden"]:
        _make_read_only(path)
    _unshare()
    try:  # noqa: SIM105 - without contextlib
        call("prctl", PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)
    except OSError:  # the mounts are locked all the same; without this capability nobody gets as far as trying
        pass


def _make_read_only(path: str) -> None:
    flags = os.statvfs(path).f_flag
    kept = sum(flag for shown, flag in KEPT_FLAGS.items() if flags & shown)
    _mount(None, path, REMOUNT | BIND | READ_ONLY | kept)


def _mount(source: str | None, target: str, flags: int) -> None:
    call("mount", source and os.fsencode(source), os.fsencode(target), None, flags, None)


def _raise_loopback() -> None:
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _unshare(more: int = 0) -> None:
    """Enter new namespaces in which users and groups keep their numbers, as far as this process may map them."""
    maps = {kind: _map_to_itself(f"/proc/self/{kind}_map") for kind in ("uid", "gid")}
    user, group = os.geteuid(), os.getegid()
    if not _map_from_outside(maps, more):
        # A user may name only itself, and must give up changing groups first (user_namespaces(7)).
        _write_map("self", "setgroups", "deny")
        _write_map("self", "uid_map", f"{user} {user} 1")
        _write_map("self", "gid_map", f"{group} {group} 1")


def _map_to_itself(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - without pathlib
        extents = [line.split() for line in file]
    return "".join(f"{inside} {inside} {count}\n" for inside, _, count in extents)


def _map_from_outside(maps: dict[str, str], more: int) -> bool:
    """Enter the namespaces, and let a child that stayed outside write the maps: only outside can it have the right."""
    waiting, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        os.read(waiting, 1)
        try:
            for kind, text in maps.items():
                _write_map(str(os.getppid()), f"{kind}_map", text)
        except OSError:
            os._exit(1)
        os._exit(0)
    try:
        call("unshare", NEW_NAMESPACES | more)
    finally:
        os.close(go)
        os.close(waiting)
        _, status = os.waitpid(child, 0)
    return status == 0


def _write_map(pid: str, name: str, text: str) -> None:
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
