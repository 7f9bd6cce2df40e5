"""How a session ended, for the last record: by the model's last words, a refusal, a cap or an error of the API."""

import re
import time
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime

import anthropic
import httpx2

from aigon.agents.adapters._ending import REASON, by_action
from aigon.agents.adapters._trouble import kind_of
from aigon.agents.api_agent.reply import Reply
from aigon.agents.api_agent.stream import Broken
from aigon.model.turns import TurnEnd

_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
           "authentication_error": 401, "permission_error": 403, "billing_error": 402, "not_found_error": 404,
           "request_too_large": 413, "invalid_request_error": 400}  # fmt: skip
"""What the types of errors mean where there is no status: in a stream that had begun with 200."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The last record. `said` is what people see; `action` what the model claims, if it said so."""

    end: TurnEnd
    detail: str = ""
    said: str = ""
    action: str = ""
    resets_at: float | None = None

    def record(self) -> dict[str, object]:
        """As it is written."""
        return asdict(self)


def by_words(reply: Reply) -> Ending:
    """What the model's last words come to. DONE is a claim like CONTINUE: the loop looks for itself."""
    end, detail, said = by_action(reply.action, reply.thought, reply.reason)
    if not reply.parsed:
        detail = "the last reply was not in the form asked for: taken for CONTINUE"
    return Ending(end, detail, said, reply.action)


def by_error(error: Exception, said: str = "") -> Ending:
    """What an error of the API comes to, after all attempts."""
    cause = error.cause or error if isinstance(error, Broken) else error
    if isinstance(cause, anthropic.APIStatusError):
        return _by_status(cause, said)
    what = " ".join(str(error).split())[:REASON]
    if isinstance(error, Broken):
        return Ending("overloaded", f"no whole reply came: {what}", said)
    if isinstance(cause, anthropic.APIConnectionError | httpx2.HTTPError):
        reason = " ".join(str(cause.__cause__ or "").split())[:REASON]
        return Ending("unavailable", f"the API cannot be reached: {what}{f' ({reason})' if reason else ''}", said)
    return Ending("failed", f"{type(error).__name__}: {what}", said)


def _by_status(error: anthropic.APIStatusError, said: str) -> Ending:
    status, message = status_of(error), " ".join((error.api_message or error.message).split())[:REASON]
    end: TurnEnd = "usage_limit" if spend_limit(error) else kind_of(message, status)
    words = {"usage_limit": "usage limit", "bad_credentials": "bad credentials", "overloaded": "overloaded"}
    wait = asked_wait(error)
    resets = time.time() + wait if wait is not None and end in ("usage_limit", "overloaded") else None
    return Ending(end, f"{words.get(end, 'error')} ({status}): {message}", said, resets_at=resets)


def status_of(error: anthropic.APIStatusError) -> int:
    """The HTTP status, or the one that the error's type stands for where a stream had begun already."""
    return error.status_code if error.status_code >= 400 else _STATUS.get(error.type or "", 500)


def spend_limit(error: anthropic.APIStatusError) -> bool:
    """The account has no money left for this, or may not spend it; to HTTP this can look like a rate limit."""
    return "spend_limit" in (error.error_code or "") or error.type == "billing_error" or status_of(error) == 402


def asked_wait(error: BaseException | None) -> float | None:
    """Seconds that the server asked to wait, by a number or a date (RFC 9110, 10.2.3); None where it did not."""
    error = error.cause if isinstance(error, Broken) else error
    if not isinstance(error, anthropic.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(header) if re.fullmatch(r"\d+(\.\d+)?", header) else
                   parsedate_to_datetime(header).timestamp() - time.time())  # fmt: skip
    except (ValueError, OverflowError):
        return None
