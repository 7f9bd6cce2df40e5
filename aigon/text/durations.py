"""Durations as people write and read them."""

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str | float) -> float:
    """Seconds of `90`, `90s`, `30m`, `1h30m`, `2d`. Raises ValueError for anything else, zero included."""
    if isinstance(text, (int, float)):
        total = float(text) if abs(text) < 1e100 else 0.0  # an int may be larger than any float
    else:
        compact = text.strip().lower()
        parts = _PART.findall(compact)
        if not parts or _PART.sub("", compact).strip():
            raise ValueError(f"{text!r} is not a duration such as 90s, 30m or 1h30m")
        total = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not 0 < total < float("inf"):
        raise ValueError(f"{text!r} is not a positive duration")
    return total


def words(value: float) -> str:
    """`0.4 s`, `12 s`, `3 m 05 s`, `2 h 07 m`."""
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def short(value: float) -> str:
    """As people write one: `90s`, `10m`, `1h30m`; what is no whole number of seconds as `0.5s`."""
    if value != round(value) or value < 60 or value % 60:
        return f"{value:g}s"
    hours, minutes = divmod(round(value) // 60, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
