"""What an error message or an HTTP status means for a turn: wait, log in, or it has failed."""

import re
from datetime import datetime, timedelta

from aigon.core.agent import Seen
from aigon.core.model import TurnEnd

DETAIL = 500
"""Characters of a message that are kept."""
_LIMIT = re.compile(r"usage limit|hit your \S+ limit|quota exceeded|exceeded your (?:current )?quota|out of credits"
                    r"|insufficient[_ ]quota|credit balance is too low", re.I)  # fmt: skip
_CREDENTIALS = re.compile(
    r"invalid api key|incorrect api key|unauthorized|authentication[ _](?:error|failed)|not logged in|api key not valid"
    r"|please (?:log ?in|run /login)|invalid x-api-key|permission denied for api",
    re.I,
)
_BUSY = re.compile(r"\boverloaded\b|rate.?limit|too many requests|service unavailable|resource.?exhausted", re.I)
_CLOCK = re.compile(
    r"(?:try again|resets?|available)(?: again)?(?: at| on)?\s+(?:(?P<month>[A-Z][a-z]{2}) (?P<day>\d{1,2})"
    r"(?:st|nd|rd|th)?,?(?: (?P<year>\d{4}),?)? )?(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[AP]M)?(?P<utc>\s*\(?UTC\)?)?",
    re.I,
)
_AFTER = re.compile(
    r"(?:try again|retry|resets?|reset after)(?: in| after)\s+(?P<spans>(?:\d+(?:\.\d+)?\s*[a-z]+[ ,]*)+)", re.I
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|m(?!s)|s)[a-z]*", re.I)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


def kind_of(message: str, status: int = 0) -> TurnEnd:
    """How a turn ended that ended with this message; `status` is the HTTP status where the program tells it."""
    if _LIMIT.search(message) or status == 402:
        return "usage_limit"
    if status in (401, 403) or (not status and _CREDENTIALS.search(message)):
        return "bad_credentials"
    if status == 429 or status >= 500 or (not status and _BUSY.search(message)):
        return "overloaded"
    return "failed"


def trouble(message: str, status: int = 0, *, now: float = 0.0) -> Seen:
    """What is seen of a turn that an error ended. `now`, in seconds since the epoch, is when the program said it."""
    end = kind_of(message, status)
    said = " ".join(message.split()) or "no message"
    word = {"usage_limit": "usage limit", "bad_credentials": "bad credentials", "overloaded": "overloaded"}.get(end, "")
    numbered = f"{word or 'error'} ({status})" if status else word
    detail = f"{numbered}: {said}" if numbered else said
    return Seen(end=end, detail=detail[:DETAIL], resets_at=resets_at(message, now))


def resets_at(message: str, now: float) -> float | None:
    """When waiting helps, by the words of the message: `try again at 11:10 AM`, `in 3 hours 20 minutes`, `|EPOCH`."""
    if epoch := re.search(r"\|(\d{10})\b", message):
        return float(epoch[1])
    if spans := _AFTER.search(message):
        seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(spans["spans"]))
        return now + seconds if seconds and now else None
    return _by_the_clock(message, now) if now else None


def _by_the_clock(message: str, now: float) -> float | None:
    """The next time that a clock shows this: in UTC where it says so, else in the zone of this machine."""
    found = _CLOCK.search(message)
    if found is None:
        return None
    from datetime import UTC

    here = datetime.fromtimestamp(now, UTC if found["utc"] else None).astimezone(UTC if found["utc"] else None)
    try:
        hour = (
            int(found["hour"]) % 12 + (12 if found["half"].upper() == "PM" else 0)
            if found["half"]
            else int(found["hour"])
        )
        then = here.replace(hour=hour, minute=int(found["minute"]), second=0, microsecond=0)
        if found["month"]:
            month = datetime.strptime(found["month"].title(), "%b").month
            return then.replace(month=month, day=int(found["day"]), year=int(found["year"] or then.year)).timestamp()
    except ValueError:
        return None
    return (then if then > here else then + timedelta(days=1)).timestamp()
