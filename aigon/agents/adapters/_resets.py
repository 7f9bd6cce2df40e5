"""When waiting helps, by the words of a program: `try again at 11:10 AM`, `resets in 3h 20m`, `|EPOCH`, a header."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

FARTHEST = 366 * 86_400.0
"""Seconds from now that a time to wait for is believed; nothing that a program tells of is farther away."""
SHORTEST = 60.0
"""Seconds in such a header from which on it says something: for less a program waits by itself."""
_WORD = r"(?:again|retry|resets?|available|until)"
_EPOCH = re.compile(r"(?:\||\b(?:resets?|until)(?:[ _]at)?\W{1,4})(\d{10})(\d{3})?\b", re.I)
_SPANS = re.compile(
    rf"(?:\b{_WORD}\s+(?:in|after)\s+|retryDelay\W{{1,5}})((?:\d+(?:\.\d+)?\s*[a-z]+[ ,]*(?:and )?)+)", re.I
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(w|d|h|m(?!s|o)|s)[a-z]*", re.I)
_SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_DATE = re.compile(
    rf"\b{_WORD}\b\D{{0,12}}(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?", re.I
)
_CLOCK = re.compile(
    rf"\b{_WORD}(?: again)?(?: (?:at|on))?\s+"
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,? (?:at )?)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?,? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)?\s*(?P<half>[AP]M\b)?(?:\s*\(?(?P<zone>[A-Z][\w+-]*(?:/[\w+-]+)*))?",
    re.I,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def resets_at(message: str, now: float) -> float | None:
    """When the limit that `message` speaks of ends, in seconds since the epoch; None where it does not say.

    `now`, in seconds since the epoch, is when it was said; 0 where that is not known: then only a full date helps.
    """
    found = (read(message, now) for read in _READERS)
    then = next((one for one in found if one is not None), None)
    return then if then is not None and _believable(then, now) else None


def after(header: str, now: float) -> float | None:
    """The same by the value of a `Retry-After` header: seconds, or a date (RFC 9110, 10.2.3)."""
    from email.utils import parsedate_to_datetime

    try:
        then = (
            now + float(header)
            if re.fullmatch(r"\d{1,9}(\.\d+)?", header)
            else parsedate_to_datetime(header).timestamp()
        )
    except (ValueError, OverflowError, TypeError):
        return None
    return then if now and then >= now + SHORTEST and _believable(then, now) else None


def _believable(then: float, now: float) -> bool:
    return now <= then <= now + FARTHEST if now else then > 0


def _by_epoch(message: str, _now: float) -> float | None:
    found = _EPOCH.search(message)
    return float(found[1]) if found else None


def _by_date(message: str, _now: float) -> float | None:
    """Without a zone it is UTC: a server wrote it."""
    found = _DATE.search(message)
    if found is None:
        return None
    zone = (found[2] or "Z").upper().replace("UTC", "+00:00").replace("Z", "+00:00")
    try:
        return datetime.fromisoformat(f"{found[1]}{zone}").timestamp()
    except (ValueError, OverflowError):
        return None


def _by_spans(message: str, now: float) -> float | None:
    found = _SPANS.search(message)
    seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(found[1])) if found else 0.0
    return now + seconds if seconds and now else None


def _by_clock(message: str, now: float) -> float | None:
    """The next time that a clock shows this: in the zone that is named, else in that of this machine."""
    found = _CLOCK.search(message)
    if found is None or not now or not (found["minute"] or found["half"]):
        return None
    try:
        here = datetime.fromtimestamp(now, _zone(found["zone"] or "")).astimezone(_zone(found["zone"] or ""))
        return _next(found, here).timestamp()
    except (ValueError, OverflowError):
        return None


def _next(found: "re.Match[str]", here: datetime) -> datetime:
    hour = int(found["hour"]) % 12 + 12 * (found["half"].upper() == "PM") if found["half"] else int(found["hour"])
    then = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if found["month"]:
        month = _MONTHS.index(found["month"].lower()) + 1
        then = then.replace(month=month, day=int(found["day"]), year=int(found["year"] or then.year))
        return then if then > here or found["year"] else then.replace(year=then.year + 1)
    if found["weekday"]:
        then += timedelta(days=(_DAYS.index(found["weekday"].lower()) - then.weekday()) % 7)
    return then if then > here else then + timedelta(days=7 if found["weekday"] else 1)


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    if name.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(name) if "/" in name else None
    except (KeyError, ValueError, OSError):
        return None


_READERS: tuple[Callable[[str, float], float | None], ...] = (_by_epoch, _by_date, _by_spans, _by_clock)
