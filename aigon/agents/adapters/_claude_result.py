"""How a session of Claude Code ended, by its records."""

import re
from dataclasses import replace

from aigon.agents.adapters._claude_records import Records, count_of, text_of
from aigon.agents.adapters._ending import last_words
from aigon.agents.adapters._records import Record
from aigon.agents.adapters._tools import tool
from aigon.agents.adapters._trouble import DETAIL, trouble
from aigon.model.turns import ProgramExit, TurnReport

_LIMIT = re.compile(r"[^\n]*(?:hit your [^\n]{0,40}\blimit\b|usage limit reached)[^\n]*", re.I)


def said(records: Records) -> str:
    """The agent's last text, or the message of the error that ended the session."""
    return text_of(records.result.get("result")) or records.last_text


def ended(records: Records, exited: ProgramExit) -> TurnReport:
    """Return how the session ended. What the agent says is no evidence: only the message of an API error counts."""
    if not records.result:
        return _without_result(records, exited)
    if not _failing(records):
        return TurnReport("finished", remark(records))
    if not _api_error(records):
        reason = (_reason(records) or "error").replace("_", " ")
        return TurnReport("failed", f"{reason}: {_message(records)}"[:DETAIL])
    if _status(records) == 429 and (limit := _rejected(records)):
        return limit
    found = trouble(_message(records), _status(records), now=exited.ended)
    return found if found.end != "failed" else replace(found, detail=f"api error: {_message(records)}"[:DETAIL])


def _without_result(records: Records, exited: ProgramExit) -> TurnReport:
    """A session without a last record: by the limit it met, or by the request that it was trying again.

    Records quote files and tools; only what stands outside of them is the program's own word.
    """
    plain = last_words(exited.stderr if records.any else exited.stdout + b"\n" + exited.stderr)
    spoken = _LIMIT.search(plain)
    if limit := _rejected(records):
        return limit
    if spoken:
        return trouble(spoken[0], now=exited.ended)
    status = count_of(records.retrying.get("error_status"))
    return trouble(text_of(records.retrying.get("error")).replace("_", " "), status) if status else TurnReport()


def _rejected(records: Records) -> TurnReport | None:
    """The usage limit that the last word on limits tells of, with the moment at which it resets."""
    if records.rate_limit.get("status") != "rejected":
        return None
    return TurnReport("usage_limit", f"usage limit: {said(records)}"[:DETAIL], resets_at=_seconds(records.rate_limit))


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


def _seconds(limit: Record) -> float | None:
    value = limit.get("resetsAt")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
