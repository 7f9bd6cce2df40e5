"""What an error message or an HTTP status means for a turn: wait, log in, or it has failed."""

import json
import re
from collections.abc import Mapping

from aigon.agents.adapters._ending import last_words
from aigon.agents.adapters._phrases import BUSY, CREDENTIALS, LIMIT, LOST, REFUSED, STATUS
from aigon.agents.adapters._records import text_at
from aigon.agents.adapters._resets import after, resets_at
from aigon.model.turns import TEMPORARY_ENDS, ProgramExit, TurnEnd, TurnReport

__all__ = ["innermost", "kind_of", "of_stderr", "resets_at", "status_in", "trouble"]

DETAIL = 500
"""Characters of a message that are kept."""
_API_ERROR = re.compile(r"^\[API Error: (.*)\]", re.DOTALL)
_WORDS: Mapping[TurnEnd, str] = {
    "usage_limit": "usage limit",
    "overloaded": "overloaded",
    "unavailable": "no connection",
    "bad_credentials": "bad credentials",
    "refused": "refused",
}
_DEEPEST = 4
_LONGEST = 20_000


def kind_of(message: str, status: int = 0) -> TurnEnd:
    """How a turn ended that ended with this message; `status` is the HTTP status where the program tells it apart."""
    status = status or status_in(message)
    unsaid = status in (0, 400)  # some say 400 for a bad key (Gemini)
    if LIMIT.search(message) or status == 402:
        return "usage_limit"
    if status == 429 or 500 <= status <= 599 or (status in (0, 403) and BUSY.search(message)):
        return "overloaded"  # GitHub says 403 for its rate limits
    if not status and LOST.search(message):
        return "unavailable"
    if REFUSED.search(message):
        return "refused"
    if status in (401, 403) or (unsaid and CREDENTIALS.search(message)):
        return "bad_credentials"
    return "failed"


def status_in(message: str) -> int:
    """The HTTP status that a message speaks of, 0 for none: `unexpected status 401 Unauthorized: ...`."""
    found = STATUS.search(message)
    return int(next(filter(None, found.groups()))) if found else 0


def trouble(message: str, status: int = 0, *, now: float = 0.0, retry_after: str = "") -> TurnReport:
    """What is seen of a turn that an error ended. `now`, in seconds since the epoch, is when the program said it.

    `message` may be JSON of an API, or hold it. `retry_after` is the header of that name, where it is passed on.
    """
    said = " ".join(innermost(message).split()) or "no message"
    message = message[:_LONGEST]
    end, status = kind_of(message, status), status or status_in(message)
    word = _WORDS.get(end, "")
    numbered = f"{word or 'error'} ({status})" if status else word
    detail = f"{numbered}: {said}" if numbered else said
    when = (resets_at(message, now) or after(retry_after, now)) if end in TEMPORARY_ENDS else None
    return TurnReport(end=end, detail=detail[:DETAIL], resets_at=when)


def innermost(message: str) -> str:
    """What a message says when it is unpacked: `[API Error: {"error":{"code":401,"message":"..."}}]`."""
    for _ in range(_DEEPEST):
        message = _API_ERROR.sub(r"\1", message)
        try:
            found = json.loads(message[message.index("{") : message.rindex("}") + 1])
        except (ValueError, RecursionError):
            break
        message = text_at(found, "error", "message") or text_at(found, "message") or message
    return message


def of_stderr(exited: ProgramExit) -> TurnReport:
    """Return what a program complained of that ended, or met its deadline, before its agent said anything.

    For use only where the agent got no word in: what it says, and what its tools print, is never looked at.
    """
    if not exited.timed_out and (not exited.exit_code or exited.exit_code < 0):
        return TurnReport()
    words = last_words(exited.stderr, 2 * DETAIL)
    seen = trouble(words, now=exited.ended)
    return TurnReport() if seen.end == "failed" else seen
