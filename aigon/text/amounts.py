"""Amounts and lists as people write and read them: durations, times, sizes, money, tokens, counts."""

import re
from collections.abc import Sequence
from datetime import datetime
from math import ceil, isfinite

from aigon.errors import AigonError, Exit
from aigon.text.patterns import compile_re


def list_criteria(numbers: Sequence[int]) -> str:
    """Return `criterion 2`, `criteria 1 and 3`; four or more in a row are a range: `criteria 1 to 4`."""
    if len(numbers) > 3 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"criteria {numbers[0]} to {numbers[-1]}"
    return f"{'criterion' if len(numbers) == 1 else 'criteria'} {join_words([str(number) for number in numbers])}"


def join_words(words: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


_PART = compile_re(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(text: str | float) -> float:
    """Return the seconds of `90`, `90s`, `30m`, `1h30m`, `2d`. Raises ValueError for anything else, zero included."""
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


def spell_duration(value: float) -> str:
    """Return `0.4 s`, `12 s`, `3 m 05 s`, `2 h 07 m`."""
    return re.sub(r"(?<=\d)(?=[hms])", " ", format_duration(value))


def abbreviate_duration(value: float) -> str:
    """Return a duration as people write it: `90s`, `10m`, `1h30m`, `0.5s`."""
    if value != round(value) or value < 60 or value % 60:
        return f"{value:g}s"
    hours, minutes = divmod(round(value) // 60, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")


_ISO = compile_re(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)", re.ASCII)


def format_epoch(seconds: float) -> str:
    """Return `2026-11-20 10:15` of seconds since the epoch, by this machine's clock; empty if no clock shows it."""
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return ""


def format_timestamp(at: str) -> str:
    """Return `2026-11-20 10:15:00` of an ISO 8601 time; "" for any other text."""
    found = _ISO.match(at)
    return f"{found[1]} {found[2]}" if found else ""


CHARS_PER_TOKEN = 2.3
"""Measured: characters / 4 undercounts the tokens of current models by 40-45 %."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is, rounded up."""
    return ceil(len(text) / CHARS_PER_TOKEN)


def format_count(count: int, noun: str) -> str:
    """Return `1 iteration`, `2 iterations`, `3 criteria`."""
    plural = noun.removesuffix("on") + "a" if noun.endswith("criterion") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def format_duration(seconds: float) -> str:
    """Return `3.2s`, `41s`, `3m 12s`, `1h 05m`."""
    if not isfinite(seconds):
        return "no end"
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02d}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02d}m"


def format_dollars(usd: float) -> str:
    """Return `$1.20`; four decimals below a cent, so that little is not shown as nothing."""
    return f"${usd:.4f}" if 0 < usd < 0.01 else f"${usd:.2f}"


def round_dollars(usd: float) -> str:
    """Return an uncertain amount with two significant digits: `$0.40`, `$6`, `$1,200`; `under $0.01`."""
    if usd < 0.01:
        return "under $0.01"
    shown = float(f"{usd:.2g}")
    return f"${shown:,.0f}" if shown >= 10 or shown == int(shown) else f"${shown:.2f}"


def format_cost_range(low: float, high: float) -> str:
    """Return `$0.40 to $6`; `about $6` if both are the same."""
    least, most = round_dollars(low), round_dollars(high)
    if least == most:
        return least if least.startswith("under") else f"about {most}"
    return f"{least} to {most}"


MIB = 1024 * 1024


def size_error(what: str, size: int, largest: int, *, where: str, hint: str, code: Exit = Exit.USAGE) -> AigonError:
    """Return the error that `what` has more bytes than the `largest` that is read.

    `code` 2 is for people's files, 7 for others.
    """
    return AigonError(
        f"{what} is too large: {format_size(size)}, and {format_size(largest)} is read",
        where=where,
        hint=hint,
        code=code,
    )


def format_size(size: int) -> str:
    """Return `900 bytes`, `64.0 KiB`, `1.5 MiB`."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KiB" if size < MIB else f"{size / MIB:.1f} MiB"
