"""A command's own view of the file system, and an agent's own process numbers, by namespaces.

The mounts are made in a user namespace. The command has no capability there that could undo them, not even as root, and
whatever namespaces it makes get copies that are locked together (mount_namespaces(7)). /proc shows it nothing of
processes outside, as that takes rights in their namespace.
"""

import _signal as signal  # type: ignore[import-not-found]  # `signal` makes enumerations of it
import ctypes
import errno
import os

from aigon.files.syscalls import call, syscall

TYPE_CHECKING = False  # as few modules as can be: `aigon.isolation.launcher` says why
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NEW_NAMESPACES = 0x10000000 | 0x00020000
"""CLONE_NEWUSER and CLONE_NEWNS, from <linux/sched.h>."""
NEW_NETWORK, NEW_NUMBERS = 0x40000000, 0x20000000 | 0x08000000
"""CLONE_NEWNET; CLONE_NEWPID and CLONE_NEWIPC."""
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
"""From <linux/sockios.h> and <linux/if.h>."""
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS, REMOUNT = 1, 2, 4, 8, 32
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18
"""Flags of mount(2), from <linux/mount.h>."""
KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
"""Flags as statvfs(3) gives and mount(2) takes them: a mount from outside may only become stricter."""
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""System call numbers, the same on every architecture; since Linux 5.2 and 5.12."""
CLONE3, CLONE_PARENT, SIGCHLD = 435, 0x8000, 17
"""The same since Linux 5.3, its flag for a child of the caller's parent, and what says that a child has ended."""
HERE, WHOLE_TREE, CLONE, CLOSE_ON_EXEC = -100, 0x8000, 1, 0o2000000
"""AT_FDCWD, AT_RECURSIVE, OPEN_TREE_CLONE and O_CLOEXEC."""
FROM_DESCRIPTOR = 4
"""MOVE_MOUNT_F_EMPTY_PATH."""
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, CAP_SYS_ADMIN = 1, 24, 38, 21
"""From <linux/prctl.h> and <linux/capability.h>."""
CREATE_RULESET, RESTRICT_SELF, SCOPES = 444, 446, 3
"""Landlock: no connection to abstract sockets outside and no signal to processes there, since Linux 6.12."""
ENDING_SIGNALS = (1, 2, 3, 15)
"""SIGHUP, SIGINT, SIGQUIT and SIGTERM go to a whole group: what only waits for the agent must not die of them."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def find_namespaces(plan: "Mapping[str, Any]") -> int:
    """Return the new namespaces that a process is in which carries out the plan, as flags of clone(2)."""
    if plan["enter"] != "namespaces":
        return 0
    return NEW_NAMESPACES | (NEW_NETWORK if plan["closed"] else 0) | (NEW_NUMBERS if plan.get("numbers") else 0)


def enter(plan: "dict[str, Any]", *, is_inside: bool) -> None:
    """Give this process the view of the plan's `mounts`, and take rights from it if it is `scoped`. Raises OSError.

    It may already be inside of the namespaces. With a `parent` it ends with that process. If the plan has `numbers`,
    what returns is another process, with process numbers of its own, and this one ends as that one does.
    """
    if not is_inside:
        _enter_namespaces(plan)
    if plan["closed"]:
        _raise_loopback()
    _mount(None, "/", RECURSIVE | PRIVATE)
    _make_mounts(plan["mounts"], bool(plan.get("numbers")))
    os.chdir("/")  # what this process was in is the file system outside, which its /proc/PID/cwd would show
    if plan.get("numbers"):
        _ignore_endings()
        plan["held"] = [os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)]
        if agent := fork_into(NEW_NAMESPACES):  # this process keeps the right to undo the mounts
            _exit_with(agent)
    call("prctl", PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)
    if plan.get("scoped"):
        give_up_rights()


def _enter_namespaces(plan: "dict[str, Any]") -> None:
    if "parent" in plan:
        call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != plan["parent"]:  # it was gone before the kernel was asked
            os._exit(128 + signal.SIGKILL)
    if not plan.get("numbers"):
        _unshare(find_namespaces(plan))
        return
    _ignore_endings()
    if first := fork_into(find_namespaces(plan)):
        _exit_with(first)


def fork_into(namespaces: int, *, beside: bool = False) -> int:
    """Fork a process into new namespaces, in which users and groups keep their numbers; return its number, 0 in it.

    It is a child of this process, or a sibling with `beside`, and ends with its parent. Raises OSError.
    """
    (waiting, go), pid = os.pipe(), -1
    try:
        words = (ctypes.c_uint64 * 8)(namespaces | (CLONE_PARENT if beside else 0), 0, 0, 0, 0 if beside else SIGCHLD)
        pid = syscall("clone3", CLONE3, ctypes.byref(words), ctypes.c_size_t(ctypes.sizeof(words)))
        if pid:
            if namespaces:
                _write_maps(str(pid))
            os.write(go, b"!")
        else:
            os.close(go)
            call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if not os.read(waiting, 1):  # the other end is closed: it died before the kernel was asked, or has failed
                os._exit(128 + signal.SIGKILL)
    finally:
        os.close(waiting)
        if pid:
            os.close(go)
    return pid


def _ignore_endings() -> None:
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _exit_with(child: int) -> None:
    """Collect what ends until this child does, and end as it did."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def give_up_rights() -> None:
    """Gain no rights by programs, and reach no abstract socket outside as far as the kernel can do that."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    words = (ctypes.c_uint64 * 3)(0, 0, SCOPES)
    size, none = ctypes.c_size_t(ctypes.sizeof(words)), ctypes.c_uint32(0)
    try:
        rules = syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(words), size, none)
    except OSError:
        return  # docs/sandbox.md says what stays open then
    syscall("landlock_restrict_self", RESTRICT_SELF, rules, none)
    os.close(rules)


def _make_mounts(table: "list[tuple[str, ...]]", numbers: bool) -> None:
    """Carry out a table of `aigon.isolation.mounts` in order."""
    # Copied before the first of them hides anything or becomes read-only: sources may lie among what is hidden.
    trees = [_copy_tree(line) for line in table]
    for (how, *paths), tree in zip(table, trees, strict=True):
        target = paths[-1]
        if how == "proc" and numbers:
            call("mount", b"proc", b"/proc", b"proc", NO_SETUID | NO_DEVICES | NO_PROGRAMS, None)
        elif how == "dev":
            _mount_devices()
        elif how == "tmpfs":  # those that a mount needs can still be made in it
            try:
                _mount_empty(target, b"mode=0755,size=1m")
            except FileNotFoundError:
                os.makedirs(target)  # noqa: PTH103 - without pathlib
                _mount_empty(target, b"mode=0755,size=1m")
        elif how == "remount-ro":
            _make_read_only(target)
        elif target == "/":
            _make_tree_read_only("/")
        elif tree is not None:
            _attach(tree, target)
            if how.startswith("ro-"):
                _make_tree_read_only(target)


def _copy_tree(line: "tuple[str, ...]") -> "int | None":
    """Return a copy of the mounts at the source of a line, for lines that have one; None for what is not there."""
    how, *paths = line
    if how in ("tmpfs", "remount-ro", "dev") or paths[-1] == "/":
        return None
    if how == "overlay":
        return _copy_overlay(paths[:-2], paths[-2])
    flags = ctypes.c_uint(CLONE | CLOSE_ON_EXEC | WHOLE_TREE)
    try:
        return syscall("open_tree", OPEN_TREE, HERE, os.fsencode(paths[0]), flags)
    except FileNotFoundError:
        if how.endswith("-try"):
            return None
        raise


def _copy_overlay(folders: "list[str]", place: str) -> int:
    """Return a mount that shows folders, the first on top, and keeps what is written there in `place`."""
    below = ":".join(map(_escape, folders))
    above = (("upperdir", f"{place}/changes"), ("workdir", f"{place}/work"))
    options = f"lowerdir={below}," + ",".join(f"{name}={_escape(path)}" for name, path in above) + ",userxattr"
    view, flags = os.fsencode(f"{place}/view"), NO_SETUID | NO_DEVICES
    mark = f"{place}/work/work/incompat/volatile"
    try:  # the machine has survived the mount before: a run begins without any
        os.unlink(f"{mark}/dirty")  # noqa: PTH108 - without pathlib
        os.rmdir(mark)  # noqa: PTH106 - as above
    except OSError:
        pass
    try:  # else its end waits until all of the disk is written
        call("mount", b"overlay", view, b"overlay", flags, os.fsencode(f"{options},volatile"))
    except OSError:  # before Linux 5.10
        call("mount", b"overlay", view, b"overlay", flags, os.fsencode(options))
    return syscall("open_tree", OPEN_TREE, HERE, view, ctypes.c_uint(CLONE | CLOSE_ON_EXEC))


def _escape(path: str) -> str:
    for special in "\\:,":
        path = path.replace(special, f"\\{special}")
    return path


def _attach(tree: int, target: str) -> None:
    """Mount a copy, over an empty file or folder of its own if nothing is there: most often something is."""
    try:
        _move_mount(tree, target)
    except FileNotFoundError:
        if os.path.isdir(f"/proc/self/fd/{tree}"):  # noqa: PTH112 - without pathlib
            os.makedirs(target)  # noqa: PTH103 - as above
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120 - as above
            _make_file(target)
        _move_mount(tree, target)
    os.close(tree)


def _move_mount(tree: int, target: str) -> None:
    syscall("move_mount", MOVE_MOUNT, tree, b"", HERE, os.fsencode(target), ctypes.c_uint(FROM_DESCRIPTOR))


def _make_file(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def _mount_devices() -> None:
    """Mount a /dev with the devices that every program may use, terminals and shared memory of its own."""
    trees = {name: _copy_tree(("bind-try", f"/dev/{name}", f"/dev/{name}")) for name in DEVICES}
    _mount_empty("/dev", b"mode=0755")
    for name, tree in trees.items():
        if tree is not None:
            _make_file(f"/dev/{name}")
            _attach(tree, f"/dev/{name}")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")  # noqa: PTH211 - as above
    os.symlink("/proc/self/fd", "/dev/fd")  # noqa: PTH211 - as above
    os.symlink("pts/ptmx", "/dev/ptmx")  # noqa: PTH211 - as above
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")  # noqa: PTH102 - without pathlib
    os.chmod("/dev/shm", 0o1777)  # noqa: PTH101 - as above
    call("mount", b"devpts", b"/dev/pts", b"devpts", NO_SETUID | NO_PROGRAMS, b"newinstance,ptmxmode=0666,mode=620")


def _mount_empty(path: str, options: bytes) -> None:
    call("mount", b"aigon", os.fsencode(path), b"tmpfs", NO_SETUID | NO_DEVICES, options)


def _make_read_only(path: str) -> None:
    """Make one mount read-only, and none inside of it."""
    flags = os.statvfs(path).f_flag
    kept = sum(flag for shown, flag in KEPT_FLAGS.items() if flags & shown)
    _mount(None, path, REMOUNT | BIND | READ_ONLY | kept)


def _make_tree_read_only(path: str) -> None:
    """Make a mount and those inside of it read-only."""
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY, 0, 0, 0)
    size, flags = ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_uint(WHOLE_TREE)
    try:
        syscall("mount_setattr", MOUNT_SETATTR, HERE, os.fsencode(path), flags, ctypes.byref(attributes), size)
    except OSError as error:
        if error.errno != errno.ENOSYS or path == "/":
            raise
        _make_read_only(path)


def _mount(source: str | None, target: str, flags: int) -> None:
    call("mount", source and os.fsencode(source), os.fsencode(target), None, flags, None)


def _raise_loopback() -> None:
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _unshare(namespaces: int) -> None:
    """Enter new namespaces, and let a child that stayed outside write the maps: only outside can it have the right."""
    waiting, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        os.read(waiting, 1)
        try:
            _write_maps(str(os.getppid()))
        except OSError:
            os._exit(1)
        os._exit(0)
    try:
        call("unshare", namespaces)
    finally:
        os.close(go)
        os.close(waiting)
        _, status = os.waitpid(child, 0)
    if status:
        raise OSError(errno.EPERM, "users and groups cannot keep their numbers")


def _write_maps(pid: str) -> None:
    """Let users and groups keep their numbers in the new namespaces of a process, as far as this one may map them."""
    maps = {kind: _map_to_itself(f"/proc/self/{kind}_map") for kind in ("uid", "gid")}
    try:
        for kind, text in maps.items():
            _write_map(pid, f"{kind}_map", text)
    except PermissionError:
        # A user may name only itself, and must give up changing groups first (user_namespaces(7)).
        user, group = os.geteuid(), os.getegid()
        _write_map(pid, "setgroups", "deny")
        _write_map(pid, "uid_map", f"{user} {user} 1")
        _write_map(pid, "gid_map", f"{group} {group} 1")


def _map_to_itself(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - without pathlib
        extents = [line.split() for line in file]
    return "".join(f"{inside} {inside} {count}\n" for inside, _, count in extents)


def _write_map(pid: str, name: str, text: str) -> None:
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
