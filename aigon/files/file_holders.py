"""Who holds a lock file, as far as the system says."""

import os
from contextlib import suppress
from pathlib import Path

_SHOWN = 60
"""Characters of a command line that are shown."""


def holder(lock: Path) -> str:
    """`pid 12 (git commit)` of a process that has the file open, or whose number it holds; "" where nobody says.

    Only Linux tells, and of other people's processes only root.
    """
    pid = _writer(lock) or next((pid for pid in pids() if _has_open(pid, str(lock))), 0)
    return f"pid {pid} ({command_of(pid)})" if pid else ""


def _writer(lock: Path) -> int:
    """The number in a lock that holds nothing else, if such a process is there."""
    with suppress(OSError, ValueError):
        if (pid := int(lock.read_bytes()[:20])) > 0 and Path(f"/proc/{pid}").is_dir():
            return pid
    return 0


def pids() -> list[int]:
    """Return the numbers of all other processes; none where the system does not list them."""
    with suppress(OSError):
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]  # noqa: PTH208
    return []


def _has_open(pid: int, name: str) -> bool:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as files:
        return any(_leads_to(file.path) == name for file in files)
    return False


def _leads_to(link: str) -> str:
    with suppress(OSError):
        return os.readlink(link)  # noqa: PTH115
    return ""


def command_of(pid: int) -> str:
    """Return the beginning of a process's command line."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"
    return "it has just ended"
