"""Classify what programs and providers say when they refuse to go on.

The phrases come from messages of the command lines that `templates/agents` names (measured, or as text in their
releases) and from the documented errors of the APIs behind them.
"""

import json
import re
from collections.abc import Mapping

from aigon.agents.adapters._program import LONGEST_DETAIL, last_words
from aigon.agents.adapters._records import text_at
from aigon.agents.adapters._reset_times import find_reset_time, parse_retry_after
from aigon.model.turns import TEMPORARY_ENDS, ProgramExit, TurnEnd, TurnReport
from aigon.text.patterns import compile_re

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
"""HTTP statuses by exception. Names of other libraries end in the same words (`OpenRouterRateLimitError`)."""
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
_DEEPEST = 4
_LONGEST_MESSAGE = 20_000
_API_ERROR = compile_re(r"^\[API Error: (.*)\]", re.DOTALL)
_EXCEPTION_NAMES = compile_re(r"^(?:litellm\.)?(?:[A-Z]\w+: )+")
_NOT_USAGE = r"(?!(?:rate|context|token|input|output|turn|message|size)s?\b)"
"""Limits of a minute, of a model or of one reply are no usage limits."""


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


def classify_error(message: str, status: int = 0) -> TurnEnd:
    """Return how a turn ended that ended with this message; `status` is the HTTP status if the program names it."""
    status = status or find_status(message)
    if LIMIT.search(message) or status == 402:
        return "usage_limit"
    # GitHub says 403 for its rate limits.
    if status == 429 or 500 <= status <= 599 or (status in (0, 403) and BUSY.search(message)):
        return "overloaded"
    if not status and UNREACHABLE.search(message):
        return "unavailable"
    if REFUSED.search(message):
        return "refused"
    # Some say 400 for a bad key (Gemini).
    if status in (401, 403) or (status in (0, 400) and CREDENTIALS.search(message)):
        return "bad_credentials"
    return "failed"


def find_status(message: str) -> int:
    """Return the HTTP status that a message speaks of, 0 for none: `unexpected status 401 Unauthorized: ...`."""
    found = STATUS.search(message)
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


def read_exception(name: str, message: str, now: float) -> TurnReport:
    """Return what an exception says of the turn that it ended at `now`, in seconds since the epoch."""
    text = _EXCEPTION_NAMES.sub("", " ".join(message.split()))
    status = next((status for known, status in STATUSES.items() if name.endswith(known)), 0)
    if not status and not message.startswith("litellm."):
        return TurnReport("failed", f"{name}: {text}"[:LONGEST_DETAIL])
    if end := _NAMED_ENDS.get(name):
        return TurnReport(end, f"{END_WORDS[end]}: {text}"[:LONGEST_DETAIL])
    return read_error(text, status, now=now)
