"""Find the time at which a limit ends in what a program or a server says."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo

from aigon.text.patterns import compile_re

FARTHEST = 366 * 86_400.0
"""Seconds from now that a time to wait for is believed; nothing that a program tells of is farther away."""
SHORTEST = 60.0
"""Seconds in a `Retry-After` header that are worth a wait of aigon's: a program waits for less by itself."""
_RESET_WORD = r"(?:again|retry|resets?|available|until)"
_EPOCH = compile_re(r"(?:\||\b(?:resets?|until)(?:[ _]at)?\W{1,4})(\d{10})(\d{3})?\b", re.I)
_DATE = compile_re(
    rf"\b{_RESET_WORD}\b\D{{0,12}}(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?", re.I
)
_SPANS = compile_re(
    rf"(?:\b{_RESET_WORD}\s+(?:in|after)\s+|retryDelay\W{{1,5}})((?:\d+(?:\.\d+)?\s*[a-z]+[ ,]*(?:and )?)+)", re.I
)
_SPAN = compile_re(r"(\d+(?:\.\d+)?)\s*(w|d|h|m(?!s|o)|s)[a-z]*", re.I)
_SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_CLOCK = compile_re(
    rf"\b{_RESET_WORD}(?: again)?(?: (?:at|on))?\s+"
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,? (?:at )?)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?,? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)?\s*(?P<half>[AP]M\b)?(?:\s*\(?(?P<zone>[A-Z][\w+-]*(?:/[\w+-]+)*))?",
    re.I,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def find_reset_time(message: str, now: float) -> float | None:
    """Return when the limit in `message` ends, in seconds since the epoch; None if it does not say.

    `now`, in seconds since the epoch, is when it was said; 0 if that is unknown: then only a full date helps.
    """
    then = next(_iterate_times(message, now), None)
    return then if then is not None and _is_believable(then, now) else None


def parse_retry_after(header: str, now: float) -> float | None:
    """Return when a wait worth one of aigon's ends, by the value of a `Retry-After` header; else None."""
    wait = parse_wait(header, now)
    return now + wait if now and wait is not None and wait >= SHORTEST and _is_believable(now + wait, now) else None


def parse_wait(header: str, now: float) -> float | None:
    """Return the seconds that a `Retry-After` header asks to wait: a number, or a date (RFC 9110, 10.2.3)."""
    from email.utils import parsedate_to_datetime

    if re.fullmatch(r"\d+(\.\d+)?", header):
        return float(header)
    try:
        return parsedate_to_datetime(header).timestamp() - now
    except (ValueError, OverflowError, TypeError):
        return None


def _is_believable(then: float, now: float) -> bool:
    return now <= then <= now + FARTHEST if now else then > 0


def _iterate_times(message: str, now: float) -> Iterator[float]:
    """Yield the times in a message: seconds since the epoch, a date, a span from now, what a clock shows."""
    if found := _EPOCH.search(message):
        yield float(found[1])
    if found := _DATE.search(message):
        # Without a zone it is UTC: a server wrote it.
        zone = (found[2] or "Z").upper().replace("UTC", "+00:00").replace("Z", "+00:00")
        with suppress(ValueError, OverflowError):
            yield datetime.fromisoformat(f"{found[1]}{zone}").timestamp()
    if now and (found := _SPANS.search(message)):
        seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(found[1]))
        if seconds:
            yield now + seconds
    if now and (found := _CLOCK.search(message)) and (found["minute"] or found["half"]):
        # In the zone that is named, else in that of this machine.
        zone_info = _find_zone(found["zone"] or "")
        with suppress(ValueError, OverflowError):
            yield _next_time(found, datetime.fromtimestamp(now, zone_info).astimezone(zone_info)).timestamp()


def _next_time(found: "re.Match[str]", here: datetime) -> datetime:
    """Return the next time after `here` at which a clock and calendar show what was found."""
    hour = int(found["hour"]) % 12 + 12 * (found["half"].upper() == "PM") if found["half"] else int(found["hour"])
    then = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if found["month"]:
        month = _MONTHS.index(found["month"].lower()) + 1
        then = then.replace(month=month, day=int(found["day"]), year=int(found["year"] or then.year))
        return then if then > here or found["year"] else then.replace(year=then.year + 1)
    if found["weekday"]:
        then += timedelta(days=(_DAYS.index(found["weekday"].lower()) - then.weekday()) % 7)
    return then if then > here else then + timedelta(days=7 if found["weekday"] else 1)


def _find_zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    if name.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(name) if "/" in name else None
    except (KeyError, ValueError, OSError):
        return None
