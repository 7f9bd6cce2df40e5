"""When something happened, as people read it."""

import re

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)", re.ASCII)


def moment(at: str) -> str:
    """`2026-11-20 10:15:00` of the time of an event (ISO 8601); empty for what is none."""
    found = _ISO.match(at)
    return f"{found[1]} {found[2]}" if found else ""
