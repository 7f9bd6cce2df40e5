"""Classify what programs and providers say when they refuse to go on, by the phrases of
`templates/provider_errors.yaml`, and find the time at which a limit ends."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from aigon.agents.adapters._program import LONGEST_DETAIL, describe_own_ending, last_words
from aigon.files.resources import read_shipped
from aigon.model.turns import TEMPORARY_ENDS, ProgramExit, TurnEnd, TurnReport
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import text_at

_NAMED_ENDS: Mapping[str, TurnEnd] = {"ContentPolicyViolationError": "refused", "BudgetExceededError": "usage_limit"}
TURNED_AWAY = (*TEMPORARY_ENDS, "bad_credentials")
"""Requests that ended so cost nothing."""
END_WORDS: Mapping[TurnEnd, str] = {
    "usage_limit": "usage limit",
    "overloaded": "overloaded",
    "unavailable": "no connection",
    "bad_credentials": "bad credentials",
    "refused": "refused",
}
LITELLM_ERROR = compile_re(r"litellm\.(?P<name>[A-Z]\w+): ")
"""How an error of the library behind aider and mini-swe-agent begins."""
_STATED = compile_re(r"^\w*Error: (?P<message>.*)", re.M | re.S)
_DEEPEST = 4
_LONGEST_MESSAGE = 20_000
_API_ERROR = compile_re(r"^\[API Error: (.*)\]", re.DOTALL)
_EXCEPTION_NAMES = compile_re(r"^(?:litellm\.)?(?:[A-Z]\w+: )+")
_FILE = "provider_errors.yaml"
_KINDS = ("usage_limit", "overloaded", "unavailable", "bad_credentials", "refused", "status")


@cache
def _read_phrases() -> tuple[Mapping[str, "re.Pattern[str]"], Mapping[str, int]]:
    """Return the phrases by how they say that a turn ended, and the HTTP statuses by exception."""
    known = parse_yaml(read_shipped("templates", _FILE), _FILE).fields((*_KINDS, "exceptions"), (*_KINDS, "exceptions"))
    phrases = {kind: re.compile("|".join(known[kind].texts()), re.IGNORECASE) for kind in _KINDS}
    return phrases, {name: int(node.text()) for name, node in known["exceptions"].pairs().items()}


def _says(kind: str, message: str) -> "re.Match[str] | None":
    return _read_phrases()[0][kind].search(message)


def classify_error(message: str, status: int = 0) -> TurnEnd:
    """Return how a turn ended that ended with this message; `status` is the HTTP status if the program names it."""
    status = status or find_status(message)
    if _says("usage_limit", message) or status == 402:
        return "usage_limit"
    # GitHub says 403 for its rate limits.
    if status == 429 or 500 <= status <= 599 or (status in (0, 403) and _says("overloaded", message)):
        return "overloaded"
    if not status and _says("unavailable", message):
        return "unavailable"
    if _says("refused", message):
        return "refused"
    # Some say 400 for a bad key (Gemini).
    if status in (401, 403) or (status in (0, 400) and _says("bad_credentials", message)):
        return "bad_credentials"
    return "failed"


def find_status(message: str) -> int:
    """Return the HTTP status that a message speaks of, 0 for none: `unexpected status 401 Unauthorized: ...`."""
    found = _says("status", message)
    return int(next(filter(None, found.groups()))) if found else 0


def read_error(message: str, status: int = 0, *, now: float = 0.0, retry_after: str = "") -> TurnReport:
    """Return the report of a turn that an error ended at `now`, in seconds since the epoch.

    `message` may be JSON of an API, or hold it. `retry_after` is the header of that name, if it is passed on.
    """
    text = " ".join(unwrap_message(message).split()) or "no message"
    message = message[:_LONGEST_MESSAGE]
    end, status = classify_error(message, status), status or find_status(message)
    word = END_WORDS.get(end, "")
    prefix = f"{word or 'error'} ({status})" if status else word
    when = (find_reset_time(message, now) or parse_retry_after(retry_after, now)) if end in TEMPORARY_ENDS else None
    return TurnReport(end, (f"{prefix}: {text}" if prefix else text)[:LONGEST_DETAIL], resets_at=when)


def unwrap_message(message: str) -> str:
    """Return what a message says when it is unpacked: `[API Error: {"error":{"code":401,"message":"..."}}]`."""
    for _ in range(_DEEPEST):
        message = _API_ERROR.sub(r"\1", message)
        try:
            found = json.loads(message[message.index("{") : message.rindex("}") + 1])
        except (ValueError, RecursionError):
            break
        message = text_at(found, "error", "message") or text_at(found, "message") or message
    return message


def read_stderr(exited: ProgramExit) -> TurnReport:
    """Return what a program complained of that ended, or met its deadline, before its agent said anything.

    Only then may standard error be read: what the agent says, and what its tools print, is never looked at.
    """
    if not exited.timed_out and (not exited.exit_code or exited.exit_code < 0):
        return TurnReport()
    report = read_error(last_words(exited.stderr, 2 * LONGEST_DETAIL), now=exited.ended)
    return TurnReport() if report.end == "failed" else report


def read_own_ending(exited: ProgramExit) -> TurnReport:
    """Return how a program ended by its exit code, or by the limit that its last line on standard error names.

    A model's words go to standard output. A refused connection can be that of anything the program started, so it
    is a failure here.
    """
    end, detail = describe_own_ending(exited)
    lines = last_words(exited.stderr, 2 * LONGEST_DETAIL).splitlines() if end == "failed" else []
    report = read_error(lines[-1], now=exited.ended) if lines and (exited.exit_code or 0) > 0 else TurnReport()
    return report if report.end in ("usage_limit", "overloaded") else TurnReport(end, detail)


def find_stated_error(exited: ProgramExit) -> str:
    """Return what follows `Error: ` (`TypeError: `) on the standard error of a program that failed by itself."""
    text = strip_escapes(exited.stderr.decode("utf-8", "replace"))
    found = _STATED.search(text) if (exited.exit_code or 0) > 0 else None
    return found["message"].strip() if found else ""


def read_exception(name: str, message: str, now: float) -> TurnReport:
    """Return what an exception says of the turn that it ended at `now`, in seconds since the epoch."""
    text = _EXCEPTION_NAMES.sub("", " ".join(message.split()))
    status = next((status for known, status in _read_phrases()[1].items() if name.endswith(known)), 0)
    if not status and not message.startswith("litellm."):
        return TurnReport("failed", f"{name}: {text}"[:LONGEST_DETAIL])
    if end := _NAMED_ENDS.get(name):
        return TurnReport(end, f"{END_WORDS[end]}: {text}"[:LONGEST_DETAIL])
    return read_error(text, status, now=now)


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
