"""Whether a loop whose state says that it is running still is."""

import os
import socket
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from aigon.files.store import is_held

SLACK = 5.0
"""Seconds by which a process may seem younger than its run: its age is counted from the start of the machine."""


def alive(state: Mapping[str, Any], home: Path | None) -> bool:
    """Whether the loop that wrote "running" still is: its process is there and holds the feature's lock.

    A process number is given out anew after a while; where no lock can be asked, the process has to be as old as the
    run.
    """
    if state.get("status") != "running" or state.get("host") != socket.gethostname():
        return False
    pid = state.get("pid")
    if not isinstance(pid, int) or pid <= 0 or not _exists(pid):
        return False
    held = is_held(_lock(home, state)) if home else None
    return _is_as_old(pid, str(state.get("started_at"))) if held is None else held


def loop_lock(home: Path, feature: str, label: str = "") -> Path:
    """The lock that a loop on the feature holds; each agent in a worktree of its own, called `label`, has one."""
    return home / "locks" / f"feature-{feature}{f'-{label}' if label else ''}.lock"


def _lock(home: Path, state: Mapping[str, Any]) -> Path:
    return loop_lock(home, str(state.get("feature_id")), str(state.get("label") or ""))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_as_old(pid: int, since: str) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        dead = process.status() == psutil.STATUS_ZOMBIE
        return not dead and process.create_time() <= datetime.fromisoformat(since).timestamp() + SLACK
    except (psutil.Error, ValueError):
        return False
