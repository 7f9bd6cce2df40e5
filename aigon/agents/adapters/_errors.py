"""Classify what programs and providers say when they refuse to go on.

The phrases come from messages of the command lines that `templates/agents` names (measured, or as text in their
releases) and from the documented errors of the APIs behind them.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo

from aigon.agents.adapters._program import last_words
from aigon.agents.adapters._records import text_at
from aigon.model.turns import TEMPORARY_ENDS, ProgramExit, TurnEnd, TurnReport

_NOT_USAGE = r"(?!(?:rate|context|token|input|output|turn|message|size)s?\b)"
"""Limits of a minute, of a model or of one reply are no usage limits."""
FARTHEST = 366 * 86_400.0
"""Seconds from now that a time to wait for is believed; nothing that a program tells of is farther away."""
SHORTEST = 60.0
"""Seconds in such a header from which on it says something: for less a program waits by itself."""
_RESET_WORD = r"(?:again|retry|resets?|available|until)"
_EPOCH = re.compile(r"(?:\||\b(?:resets?|until)(?:[ _]at)?\W{1,4})(\d{10})(\d{3})?\b", re.I)
_SPANS = re.compile(
    rf"(?:\b{_RESET_WORD}\s+(?:in|after)\s+|retryDelay\W{{1,5}})((?:\d+(?:\.\d+)?\s*[a-z]+[ ,]*(?:and )?)+)", re.I
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(w|d|h|m(?!s|o)|s)[a-z]*", re.I)
_SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_DATE = re.compile(
    rf"\b{_RESET_WORD}\b\D{{0,12}}(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?", re.I
)
_CLOCK = re.compile(
    rf"\b{_RESET_WORD}(?: again)?(?: (?:at|on))?\s+"
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,? (?:at )?)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?,? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)?\s*(?P<half>[AP]M\b)?(?:\s*\(?(?P<zone>[A-Z][\w+-]*(?:/[\w+-]+)*))?",
    re.I,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LONGEST_DETAIL = 500
"""Characters of a message that are kept."""
_API_ERROR = re.compile(r"^\[API Error: (.*)\]", re.DOTALL)
_END_WORDS: Mapping[TurnEnd, str] = {
    "usage_limit": "usage limit",
    "overloaded": "overloaded",
    "unavailable": "no connection",
    "bad_credentials": "bad credentials",
    "refused": "refused",
}
_DEEPEST = 4
_LONGEST_MESSAGE = 20_000
STATUSES: Mapping[str, int] = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "RateLimitError": 429,
    "InternalServerError": 500,  # litellm's word for a connection that failed, too
    "BadGatewayError": 502,
    "ServiceUnavailableError": 503,
    "Timeout": 504,
}
"""What each stands for. Names of other libraries end in the same words (`OpenRouterRateLimitError`)."""
TURNED_AWAY = (*TEMPORARY_ENDS, "bad_credentials")
"""Requests that ended so cost nothing."""
_PREFIX = re.compile(r"^(?:litellm\.)?(?:[A-Z]\w+: )+")


def _any_of(*patterns: str) -> "re.Pattern[str]":
    return re.compile("|".join(patterns), re.IGNORECASE)


LIMIT = _any_of(
    r"(?<!not your )usage[ _]?limit",
    rf"(?:hit|reached|exceeded|exhausted) your (?:{_NOT_USAGE}[\w-]+ ){{0,4}}?"
    r"(?:limit|quota|allowance|capacity|credits|spend cap|token usage)",
    r"(?:daily|weekly|monthly|spend|spending)[ _]limit",
    r"quota[ _](?:has been )?(?:exceeded|reached|exhausted)",
    r"insufficient[ _](?:quota|balance|credits?|funds)",
    r"(?:out of|no|not enough|exhausted) credits",
    r"spend cap",
    r"credit balance is too low",
    r"out of extra usage",
    r"requires? usage credits",
    r"billing_hard_limit",
    r"payment required",
)
"""What was paid for is used up: a plan's hours, a quota, a balance."""

BUSY = _any_of(
    r"overloaded",
    r"\brate[ _-]?limit",
    r"too many requests",
    r"(?:service|temporarily)[ _]unavailable",
    r"resource[ _]?(?:has been )?exhausted",
    r"(?:at|no) capacity",
    r"high (?:demand|load|traffic)",
    r"server (?:is )?busy",
    r"temporarily limiting requests",
)
"""The server has no room at the moment."""

UNREACHABLE = _any_of(
    r"\bE(?:CONN(?:REFUSED|RESET|ABORTED)|TIMEDOUT|PIPE|(?:HOST|NET)UNREACH|NETDOWN|NOTFOUND|AI_AGAIN)\b",
    r"\bconnection (?:to [\w .]{1,40} )?(?:was )?"
    r"(?:refused|reset|lost|closed|dropped|aborted|timed out|error|failed|attempts failed)\b",
    r"\b(?:cannot|can't|could(?: not|n't)|unable to|failed to) (?:connect to|reach) (?:[\w-]+ ){0,3}"
    r"(?:api|server|network|provider)\b",
    r"\bfetch failed\b|\bunable to connect\b",
    r"\berror sending request\b",
    r"\bwaiting for network\b",
    r"\bnetwork (?:error|is unreachable|connection)\b",
    r"\bsocket hang up\b|\bother side closed\b",
    r"\b(?:name|dns|address) (?:resolution|lookup)\b|\bgetaddrinfo\b|\bresolve (?:host|address)\b|\bunknown host\b",
    r"\brequest timed out\b",
    r"\bstream (?:was )?(?:disconnected|closed|interrupted|ended)\b|\bpremature close\b|\bincomplete chunked read\b",
)
"""There is no way to the server, or it was lost in the middle of a reply: that passes, too."""

CREDENTIALS = _any_of(
    r"(?:invalid|incorrect|missing|no|expired) (?:x-)?api[ -_]?key",
    r"api[ -_]?key (?:is )?(?:not valid|invalid|missing|expired)",
    r"missing environment variable\W+\w*(?:key|token)",
    r"\bunauthori[sz]ed\b",
    r"authentication[ _](?:error|failed|fails|required)",
    r"invalid (?:auth(?:entication)?|token|credentials)\b",
    r"no auth(?:entication)? (?:type|method|information)",
    r"not (?:logged|signed) in",
    r"(?:log|sign) in again",
    r"please (?:log ?in|sign in|run /login|set an auth method)",
    r"token (?:has |is |was )?(?:expired|revoked|invalid)",
    r"permission denied for api",
    r"\bpersonal access tokens?\b",
    r"missing credentials",
)
"""The key or the login is missing, wrong or over."""

REFUSED = _any_of(
    r"blocked (?:by|due to)[^.]{0,40}(?:safety|content|polic|filter|recitation)",
    r"content[ _-]?(?:filter|policy|management)",
    r"flagged for possible",
    r"safeguards flagged",
    r"for safety reasons",
    r"policy violation",
    r"violat\w+ (?:our|the) [^.]{0,30}polic",
)
"""The provider will not answer this."""

STATUS = _any_of(
    r"\b(?:status(?: code)?|http(?:/[\d.]+)?|api error|last error|(?<!exit )code)\W{0,4}([45]\d\d)\b",
    r"^\W{0,3}([45]\d\d) [A-Z]",
    r"\b([45]\d\d) (?:unauthorized|forbidden|payment required|too many requests|internal server|service unavailable)",
)
"""An HTTP status inside of a message."""


def find_reset_time(message: str, now: float) -> float | None:
    """Return when the limit in `message` ends, in seconds since the epoch; None if it does not say.

    `now`, in seconds since the epoch, is when it was said; 0 if that is not known: then only a full date helps.
    """
    found = (read(message, now) for read in _READERS)
    then = next((one for one in found if one is not None), None)
    return then if then is not None and _is_believable(then, now) else None


def parse_retry_after(header: str, now: float) -> float | None:
    """Return the same by the value of a `Retry-After` header: seconds, or a date (RFC 9110, 10.2.3)."""
    from email.utils import parsedate_to_datetime

    try:
        then = (
            now + float(header)
            if re.fullmatch(r"\d{1,9}(\.\d+)?", header)
            else parsedate_to_datetime(header).timestamp()
        )
    except (ValueError, OverflowError, TypeError):
        return None
    return then if now and then >= now + SHORTEST and _is_believable(then, now) else None


def _is_believable(then: float, now: float) -> bool:
    return now <= then <= now + FARTHEST if now else then > 0


def _epoch_time(message: str, _now: float) -> float | None:
    found = _EPOCH.search(message)
    return float(found[1]) if found else None


def _date_time(message: str, _now: float) -> float | None:
    """Without a zone it is UTC: a server wrote it."""
    found = _DATE.search(message)
    if found is None:
        return None
    zone = (found[2] or "Z").upper().replace("UTC", "+00:00").replace("Z", "+00:00")
    try:
        return datetime.fromisoformat(f"{found[1]}{zone}").timestamp()
    except (ValueError, OverflowError):
        return None


def _span_time(message: str, now: float) -> float | None:
    found = _SPANS.search(message)
    seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(found[1])) if found else 0.0
    return now + seconds if seconds and now else None


def _clock_time(message: str, now: float) -> float | None:
    """Return the next time that a clock shows this: in the zone that is named, else in that of this machine."""
    found = _CLOCK.search(message)
    if found is None or not now or not (found["minute"] or found["half"]):
        return None
    try:
        here = datetime.fromtimestamp(now, _find_zone(found["zone"] or "")).astimezone(_find_zone(found["zone"] or ""))
        return _next_time(found, here).timestamp()
    except (ValueError, OverflowError):
        return None


def _next_time(found: "re.Match[str]", here: datetime) -> datetime:
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


_READERS: tuple[Callable[[str, float], float | None], ...] = (_epoch_time, _date_time, _span_time, _clock_time)


def classify_error(message: str, status: int = 0) -> TurnEnd:
    """How a turn ended that ended with this message; `status` is the HTTP status where the program tells it apart."""
    status = status or find_status(message)
    unsaid = status in (0, 400)  # some say 400 for a bad key (Gemini)
    if LIMIT.search(message) or status == 402:
        return "usage_limit"
    if status == 429 or 500 <= status <= 599 or (status in (0, 403) and BUSY.search(message)):
        return "overloaded"  # GitHub says 403 for its rate limits
    if not status and UNREACHABLE.search(message):
        return "unavailable"
    if REFUSED.search(message):
        return "refused"
    if status in (401, 403) or (unsaid and CREDENTIALS.search(message)):
        return "bad_credentials"
    return "failed"


def find_status(message: str) -> int:
    """Return the HTTP status that a message speaks of, 0 for none: `unexpected status 401 Unauthorized: ...`."""
    found = STATUS.search(message)
    return int(next(filter(None, found.groups()))) if found else 0


def read_error(message: str, status: int = 0, *, now: float = 0.0, retry_after: str = "") -> TurnReport:
    """What is seen of a turn that an error ended. `now`, in seconds since the epoch, is when the program said it.

    `message` may be JSON of an API, or hold it. `retry_after` is the header of that name, where it is passed on.
    """
    said = " ".join(unwrap_message(message).split()) or "no message"
    message = message[:_LONGEST_MESSAGE]
    end, status = classify_error(message, status), status or find_status(message)
    word = _END_WORDS.get(end, "")
    numbered = f"{word or 'error'} ({status})" if status else word
    detail = f"{numbered}: {said}" if numbered else said
    when = (find_reset_time(message, now) or parse_retry_after(retry_after, now)) if end in TEMPORARY_ENDS else None
    return TurnReport(end=end, detail=detail[:LONGEST_DETAIL], resets_at=when)


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

    For use only where the agent got no word in: what it says, and what its tools print, is never looked at.
    """
    if not exited.timed_out and (not exited.exit_code or exited.exit_code < 0):
        return TurnReport()
    words = last_words(exited.stderr, 2 * LONGEST_DETAIL)
    seen = read_error(words, now=exited.ended)
    return TurnReport() if seen.end == "failed" else seen


def read_exception(name: str, message: str, now: float) -> TurnReport:
    """Return what an exception says of the turn that it ended at `now`, in seconds since the epoch."""
    text = _PREFIX.sub("", " ".join(message.split()))
    status = next((status for known, status in STATUSES.items() if name.endswith(known)), 0)
    if not status and not message.startswith("litellm."):
        return TurnReport(end="failed", detail=f"{name}: {text}"[:LONGEST_DETAIL])
    if name == "ContentPolicyViolationError":
        return TurnReport(end="refused", detail=f"refused: {text}"[:LONGEST_DETAIL])
    if name == "BudgetExceededError":
        return TurnReport(end="usage_limit", detail=f"usage limit: {text}"[:LONGEST_DETAIL])
    return read_error(text, status, now=now)
