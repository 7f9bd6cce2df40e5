"""Read the output of Claude Code in print mode: one JSON record per line.

Written against version 2.1.330. How a turn ended is read from the result record (`is_error`, `terminal_reason`,
`api_error_status`): API errors have the `subtype` "success" too, and denied permissions exit 0.
"""

import re

from msgspec.structs import replace

from aigon.agents.adapters._activities import BLOCK_MARKS, read_blocks
from aigon.agents.adapters._errors import read_error
from aigon.agents.adapters._program import LONGEST_DETAIL, last_words
from aigon.agents.adapters._records import (
    Record,
    RecordList,
    join_texts,
    list_uses,
    objects_at,
    parse_dollars,
    parse_records,
    sum_usage,
)
from aigon.model.turns import ProgramExit, TurnReport, Usage
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, list_at, object_at, text_at, value_at

read_activity = read_blocks
ACTIVITY_MARKS = BLOCK_MARKS
_LIMIT = compile_re(r"[^\n]*(?:hit your [^\n]{0,40}\blimit\b|usage limit reached)[^\n]*", re.I)


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records. Noise and a line cut short are passed over; without any it is plain text."""
    records = RecordList(record for record in parse_records(exited.stdout) if "type" in record)
    result = records.last("result")
    said = _find_last_words(records, result)
    begun = RecordList(one for one in records.of("system") if one.get("subtype") == "init")
    return replace(
        _read_end(records, said, exited) if result else _read_without_result(records, said, exited),
        said=said if records else last_words(exited.stdout),
        model=begun.last_text("model"),
        session=records.last_text("session_id"),
        usage=_sum_usage(result),
        cost=parse_dollars(result.get("total_cost_usd")),
        cost_status="estimated",
        denied=objects_at(result, "permission_denials").describe_uses("tool_name", "tool_input"),
        tools=list_uses(records).describe_uses("name", "input"),
    )


def _find_last_words(records: RecordList, result: Record) -> str:
    """Return the agent's last text, or the message of the error that ended the session."""
    texts = (join_texts(objects_at(one, "message", "content")) for one in reversed(records.of("assistant")))
    return text_at(result, "result") or next(filter(None, texts), "")


def _read_end(records: RecordList, said: str, exited: ProgramExit) -> TurnReport:
    """Return how the session ended. What the agent says is no evidence: only the message of an API error counts."""
    result = records.last("result")
    reason = text_at(result, "terminal_reason")  # older versions give none
    if result.get("is_error") is not True and reason in ("", "completed"):
        stops = count_at(result, "safety_stops")
        return TurnReport("finished", f"the model's safeguards stopped {stops} of its replies" if stops else "")
    errors = [error for error in list_at(result, "errors") if isinstance(error, str) and error]
    message = "; ".join(errors) or said or "no message"
    if reason not in ("", "api_error"):
        return TurnReport("failed", f"{reason.replace('_', ' ')}: {message}"[:LONGEST_DETAIL])
    status = count_at(result, "api_error_status")
    if status == 429 and (limit := _read_rejection(records, said)):
        return limit
    report = read_error(message, status, now=exited.ended)
    if report.end != "failed":
        return report
    return replace(report, detail=f"api error: {message}"[:LONGEST_DETAIL])


def _read_without_result(records: RecordList, said: str, exited: ProgramExit) -> TurnReport:
    """Read a session without a last record: the limit it met, or the request that it was trying again.

    Records quote files and tools. Only what is outside of quotes is the program's own word.
    """
    if limit := _read_rejection(records, said):
        return limit
    plain = last_words(exited.stderr if records else exited.stdout + b"\n" + exited.stderr)
    if spoken := _LIMIT.search(plain):
        return read_error(spoken[0], now=exited.ended)
    last = records[-1] if records else {}
    status = count_at(last, "error_status") if last.get("subtype") == "api_retry" else 0
    return read_error(text_at(last, "error").replace("_", " "), status) if status else TurnReport()


def _read_rejection(records: RecordList, said: str) -> TurnReport | None:
    """Return the usage limit that the last record on limits tells of, with the moment at which it resets."""
    limit = value_at(records.last("rate_limit_event"), "rate_limit_info")
    if text_at(limit, "status") != "rejected":
        return None
    resets = value_at(limit, "resetsAt")
    when = float(resets) if isinstance(resets, int | float) and not isinstance(resets, bool) else None
    return TurnReport("usage_limit", f"usage limit: {said}"[:LONGEST_DETAIL], resets_at=when)


def _sum_usage(result: Record) -> Usage | None:
    """Return the tokens of all models: the record's `usage` alone lacks the request that ran into a budget.

    What was written to a cache was read by the model for the first time.
    """
    if models := object_at(result, "modelUsage"):
        names = ("inputTokens cacheCreationInputTokens", "outputTokens", "cacheReadInputTokens")
        return sum_usage(models.values(), *names, input_holds_cached=False) or Usage()
    names = ("input_tokens cache_creation_input_tokens", "output_tokens", "cache_read_input_tokens")
    return sum_usage([value_at(result, "usage")], *names, input_holds_cached=False)
