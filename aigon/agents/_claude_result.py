"""How a session of Claude Code ended, by its records."""

import re
from dataclasses import dataclass

from aigon.agents._claude_records import Records, count_of, text_of
from aigon.agents._tools import tool

_DETAIL = 500
_LIMIT = re.compile(
    r"[^\n]*(?:hit your [^\n]{0,40}\blimit\b|usage limit reached(?:\|(?P<epoch>\d{9,11}))?)[^\n]*", re.I
)
_CREDENTIALS = re.compile(r"invalid api key|not logged in|[^\n]*please run /login", re.I)


@dataclass(frozen=True, slots=True)
class Limit:
    """A usage limit that was hit. `resets_at` is in seconds since the epoch, None when it was not said."""

    text: str
    resets_at: float | None


def said(records: Records) -> str:
    """The agent's last text, or the message of the error that ended the session."""
    return text_of(records.result.get("result")) or records.last_text


def usage_limit(records: Records, plain_output: str) -> Limit | None:
    """The usage limit that ended the session. `plain_output` is what was printed that is no record.

    What the agent says is no evidence of a limit: a text counts only as the message of an API error, or where
    the program ended without a result.
    """
    if records.result and not _api_error(records):
        return None
    spoken = _LIMIT.match(said(records)) if records.result else _LIMIT.search(plain_output)
    if records.rate_limit.get("status") == "rejected" and (_status(records) == 429 or not records.result):
        return Limit(said(records)[:_DETAIL], _seconds(records.rate_limit.get("resetsAt")))
    return Limit(spoken[0][:_DETAIL], float(spoken["epoch"]) if spoken["epoch"] else None) if spoken else None


def bad_credentials(records: Records) -> str:
    """The message with which the key or the login was refused; empty when it was not."""
    refused = _status(records) in (401, 403) or _CREDENTIALS.match(said(records))
    return (said(records) or "no message")[:_DETAIL] if _api_error(records) and refused else ""


def error(records: Records) -> str:
    """Why the session did not end well; empty when it did. A reason that is not known here is not a good end."""
    if not _failing(records):
        return ""
    busy = f"overloaded ({_status(records)})" if overloaded(records) else ""
    kind = busy or (_reason(records) or "error").replace("_", " ")
    return f"{kind}: {_message(records)}"[:_DETAIL]


def overloaded(records: Records) -> bool:
    """Whether the server had no room for the session, which passes."""
    return _failing(records) and (_status(records) == 429 or _status(records) >= 500)


def remark(records: Records) -> str:
    """What a person should know of a session that ended well."""
    stops = count_of(records.result.get("safety_stops"))
    return f"the model's safeguards stopped {stops} of its replies" if stops else ""


def denied(records: Records) -> tuple[str, ...]:
    """What the agent wanted to do and was not allowed to."""
    denials = records.result.get("permission_denials")
    found = [tool(one.get("tool_name"), one.get("tool_input")) for one in denials if isinstance(one, dict)] \
        if isinstance(denials, list) else []  # fmt: skip
    return tuple(found)


def _failing(records: Records) -> bool:
    return records.result.get("is_error") is True or _reason(records) not in ("", "completed")


def _api_error(records: Records) -> bool:
    """Older versions give no reason."""
    return _failing(records) and _reason(records) in ("", "api_error")


def _reason(records: Records) -> str:
    return text_of(records.result.get("terminal_reason"))


def _status(records: Records) -> int:
    return count_of(records.result.get("api_error_status"))


def _message(records: Records) -> str:
    errors = records.result.get("errors")
    texts = [text_of(one) for one in errors] if isinstance(errors, list) else []
    return "; ".join(filter(None, texts)) or said(records) or "no message"


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
