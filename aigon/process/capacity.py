"""Free resources of the machine, and how many checks run side by side on it."""

import os
import resource
import select
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

from aigon.files.folders import IN_MEMORY
from aigon.files.locks import RETRY_SECONDS, lock_file
from aigon.process.stop import Stop

MEMORY_SHARE = 16
"""Files in memory take at most this part of what is free."""
_V2, _V1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")
_UNLIMITED = 1 << 60
"""Version 1 says "no limit" by a number near 2^63."""


def measure_free_disk(path: Path) -> int | None:
    """Return the bytes that this person may still write to the disk of `path`; None if unknown."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def find_memory_folder(size: int) -> Path | None:
    """Return a folder whose files are in memory, if `size` bytes there take little of it; None otherwise.

    Programs can be run there, as checks do: many containers forbid it for files in memory.
    """
    free = measure_free_memory()
    if free is None or size > free // MEMORY_SHARE or not (IN_MEMORY.is_mount() and os.access(IN_MEMORY, os.W_OK)):
        return None
    if os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC:
        return None
    return IN_MEMORY if size <= (measure_free_disk(IN_MEMORY) or 0) // 2 else None


class Memory(Struct, frozen=True):
    """Bytes that may still be taken; `limit` names what bounds them, "" for the machine itself."""

    free: int
    limit: str = ""


def measure_free_memory() -> int | None:
    """Return the bytes of memory that may still be taken without swapping; None if unknown."""
    memory = measure_memory()
    return memory.free if memory else None


def measure_memory() -> Memory | None:
    """Return what is left of the machine's memory, or of the limit that leaves the least; None if unknown."""
    known = (_measure_machine(), *_measure_cgroups(), _measure_process_limit())
    return min(filter(None, known), key=lambda memory: memory.free, default=None)


def read_file_size_limit() -> int | None:
    """Return the bytes that this process and its children may write into one file (ulimit -f); None for no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft


def _measure_machine() -> Memory | None:
    try:
        lines = Path("/proc/meminfo").read_bytes().splitlines()
    except OSError:
        import psutil

        return Memory(int(psutil.virtual_memory().available))
    return next((Memory(int(line.split()[1]) * 1024) for line in lines if line.startswith(b"MemAvailable:")), None)


def _measure_process_limit() -> Memory | None:
    """Return what any one process may have: children inherit the limit, each for itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else Memory(soft, "the limit on address space (ulimit -v)")


def _measure_cgroups() -> Iterator[Memory]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            yield from _measure_groups(_V2, path, ("memory.max", "memory.current", "inactive_file"))
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _measure_groups(_V1, path, files)


def _measure_groups(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[Memory]:
    """Yield what each group leaves, from the inmost out. In a container the path may be that of the host."""
    parts = [part for part in path.split("/") if part]
    for end in range(len(parts), -1, -1):
        group = "/".join([str(root), *parts[:end]])
        if (free := _measure_group(group, *names)) is not None:
            yield Memory(free, f"the control group {group}")


def _measure_group(group: str, limit: str, used: str, reclaimable: str) -> int | None:
    """Return limit minus use, without files in the kernel's cache that are not in use."""
    try:
        most = int(_read(f"{group}/{limit}"))
        if most >= _UNLIMITED:
            return None
        taken = int(_read(f"{group}/{used}"))
        entries = dict(line.split() for line in _read(f"{group}/memory.stat").splitlines())
    except (OSError, ValueError):  # no such file, or `max`
        return None
    return max(0, most - taken + int(entries.get(reclaimable, 0)))


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - on the hot path
        return file.read()


@cache
def count_slots() -> int:
    """Return how many checks run side by side by default: one per core that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable)


class CheckSlots:
    """`number` slots for the checks of all loops of a repository, as lock files in `folder`.

    The system frees the locks of a loop that is killed. A loop that wants all slots, to be alone on the machine, locks
    the door: others wait before it while those inside finish, so that none can starve it, and two such loops cannot
    wait for each other. All loops have to ask for the same number. Who leaves a slot wakes those that wait, by a pipe.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._door = folder / "check-slot-door.lock"
        self._slots = tuple(folder / f"check-slot-{n}.lock" for n in range(1, number + 1))
        self._bell = folder / "check-slot.bell"

    @contextmanager
    def acquire(self, stop: Stop, *, exclusive: bool = False) -> Iterator[bool]:
        """Hold a slot, or all of them with `exclusive`, as soon as possible; yield False once `stop` says now."""
        with ExitStack() as held:
            held.callback(_ring, self._bell)  # once the locks are free
            if exclusive:
                with ExitStack() as passing:
                    acquired = wait_for_lock(self._door, stop, passing, self._bell) and all(
                        wait_for_lock(slot, stop, held, self._bell) for slot in self._slots
                    )
            else:
                acquired = self._acquire_any(stop, held)
            yield acquired

    def _acquire_any(self, stop: Stop, held: ExitStack) -> bool:
        while not stop.look():
            with ExitStack() as passing:
                if _take_first_lock([self._door], passing) and _take_first_lock(self._slots, held):
                    return True
            _pause(stop, self._bell)
        return False


def wait_for_lock(path: Path, stop: Stop, held: ExitStack, bell: Path | None = None) -> bool:
    """Hold the lock on `path` for as long as `held` lasts, once it is free; return False once `stop` says now.

    With `bell` those who free it may say so.
    """
    while not stop.look():
        if _take_first_lock([path], held):
            return True
        _pause(stop, bell)
    return False


def _take_first_lock(paths: Sequence[Path], held: ExitStack) -> bool:
    """Hold the first free lock of these for as long as `held` lasts; return False if none is free."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(TimeoutError):
            held.enter_context(lock_file(path))
            return True
    return False


def _pause(stop: Stop, bell: Path | None) -> None:
    """Wait a little, or until `stop` has something to say or `bell` rings."""
    poll, heard = select.poll(), -1
    poll.register(stop.fileno(), select.POLLIN)
    with ExitStack() as held:
        if bell and _has_pipe(bell):
            heard = os.open(bell, os.O_RDWR | os.O_NONBLOCK)
            held.callback(os.close, heard)
            poll.register(heard, select.POLLIN)
        if heard in dict(poll.poll(RETRY_SECONDS * 1000)):
            with suppress(BlockingIOError):  # another one has heard it, too
                os.read(heard, 1)


def _has_pipe(bell: Path) -> bool:
    """Make the pipe if it is missing; return False where none can be."""
    with suppress(OSError):
        os.mkfifo(bell)
    return bell.is_fifo()


def _ring(bell: Path) -> None:
    with suppress(OSError):  # nobody waits
        handle = os.open(bell, os.O_WRONLY | os.O_NONBLOCK)
        with ExitStack() as held:
            held.callback(os.close, handle)
            os.write(handle, b"!")
