"""Who holds a lock, in words beside it: the system's lock is the truth, this is its text."""

import contextlib
import json
import os
import socket
from datetime import datetime
from pathlib import Path
from typing import Any

from aigon.process.running import identify_machine, read_start

UNKNOWN = "its holder did not say who it is"
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)


def told() -> str:
    """This process, as others are to read it: its number, machine and start, and what time it is now."""
    pid = os.getpid()
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    who = {
        "pid": pid,
        "host": socket.gethostname(),
        "machine": identify_machine(),
        "start": read_start(pid),
        "since": now,
    }
    return json.dumps(who)


def holder_of(file: Path) -> str:
    """`pid 123 on box, since 10:15`, with the day where that is not today; nobody whose process is known to be gone."""
    with contextlib.suppress(*_DAMAGE):
        who = json.loads(file.read_text())
        if not (_here(who) and read_start(int(who["pid"])) != who["start"]):
            return f"pid {who['pid']} on {who['host']}{_since(who.get('since'))}"
    return UNKNOWN


def still_there(file: Path) -> str:
    """Who wrote `file`, if that very process still runs on this machine and is another one; "" otherwise.

    Where a lock could be had all the same, its file was deleted while it was held.
    """
    with contextlib.suppress(*_DAMAGE):
        who = json.loads(file.read_text())
        pid = int(who["pid"])
        if _here(who) and pid != os.getpid() and read_start(pid) == who["start"]:
            return f"{holder_of(file)}, whose lock was deleted"
    return ""


def _here(who: dict[str, Any]) -> bool:
    """Whether a holder is, or was, a process that this one can see by its number."""
    return bool(who["start"]) and (who["host"], who["machine"]) == (socket.gethostname(), identify_machine())


def _since(when: object) -> str:
    with contextlib.suppress(ValueError):
        at = datetime.fromisoformat(str(when)).astimezone()
        today = at.date() == datetime.now().astimezone().date()
        return f", since {at:%H:%M}" if today else f", since {at:%Y-%m-%d %H:%M}"
    return ""
