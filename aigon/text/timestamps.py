"""When something happened, as people read it."""

import re
from datetime import datetime

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)", re.ASCII)


def format_epoch(seconds: float) -> str:
    """Return `2026-11-20 10:15` of seconds since the epoch, by this machine's clock; empty if no clock shows it."""
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return ""


def moment(at: str) -> str:
    """`2026-11-20 10:15:00` of the time of an event (ISO 8601); empty for what is none."""
    found = _ISO.match(at)
    return f"{found[1]} {found[2]}" if found else ""
