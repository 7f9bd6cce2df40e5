"""The records that Claude Code prints, reduced to those that a turn is judged by."""

import re
from dataclasses import dataclass, field, replace

from aigon.agents.adapters._errors import LONGEST_DETAIL, read_error
from aigon.agents.adapters._program import last_words, parse_dollars
from aigon.agents.adapters._records import Record, describe_use, parse_records
from aigon.model.turns import ProgramExit, TurnReport, Usage


@dataclass(frozen=True, slots=True)
class ClaudeRecords:
    """The result record (empty when there is none), the last word on rate limits, and what tells the rest.

    `retrying` is the last record if it says that a request is tried again. `any` is False when the output held no
    record at all: then it is plain text.
    """

    result: Record = field(default_factory=dict)
    rate_limit: Record = field(default_factory=dict)
    retrying: Record = field(default_factory=dict)
    session: str = ""
    model: str = ""
    last_text: str = ""
    tools: tuple[str, ...] = ()
    any: bool = False


def read_records(stdout: bytes) -> ClaudeRecords:
    """The records in `stdout`. What is not a record (noise, a line cut short) is passed over."""
    kept: dict[str, object] = {}
    tools: list[str] = []
    for record in parse_records(stdout):
        if "type" not in record:
            continue
        kept |= {"any": True} | _fold_record(record)
        tools += _list_tools(record)
    return ClaudeRecords(**kept, tools=tuple(tools))  # type: ignore[arg-type]


def _fold_record(record: Record) -> dict[str, object]:
    """What one record adds; a later one overrides."""
    session = text_of(record.get("session_id"))
    kept: dict[str, object] = {"retrying": {}} | ({"session": session} if session else {})
    match record:
        case {"type": "system", "subtype": "api_retry"}:
            kept["retrying"] = record
        case {"type": "result"}:
            kept["result"] = record
        case {"type": "rate_limit_event", "rate_limit_info": dict(limit)}:
            kept["rate_limit"] = limit
        case {"type": "system", "subtype": "init", "model": str(model)}:
            kept["model"] = model
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            kept |= _last_text(blocks)
    return kept


def _last_text(blocks: list[object]) -> dict[str, object]:
    texts = [text_of(block.get("text")) for block in blocks if isinstance(block, dict)]
    text = "\n".join(filter(None, texts))
    return {"last_text": text} if text else {}


def _list_tools(record: Record) -> list[str]:
    match record:
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            used = [one for one in blocks if isinstance(one, dict) and one.get("type") == "tool_use"]
            return [describe_use(one.get("name"), one.get("input")) for one in used]
    return []


def text_of(value: object) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int:
    """`value` if it is a count, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


_LIMIT = re.compile(r"[^\n]*(?:hit your [^\n]{0,40}\blimit\b|usage limit reached)[^\n]*", re.I)


def _last_text_of(records: ClaudeRecords) -> str:
    """The agent's last text, or the message of the error that ended the session."""
    return text_of(records.result.get("result")) or records.last_text


def _read_end(records: ClaudeRecords, exited: ProgramExit) -> TurnReport:
    """Return how the session ended. What the agent says is no evidence: only the message of an API error counts."""
    if not records.result:
        return _read_without_result(records, exited)
    if not _is_failing(records):
        return TurnReport("finished", _remark(records))
    if not _is_api_error(records):
        reason = (_reason(records) or "error").replace("_", " ")
        return TurnReport("failed", f"{reason}: {_message(records)}"[:LONGEST_DETAIL])
    if _status(records) == 429 and (limit := _read_rejection(records)):
        return limit
    found = read_error(_message(records), _status(records), now=exited.ended)
    return found if found.end != "failed" else replace(found, detail=f"api error: {_message(records)}"[:LONGEST_DETAIL])


def _read_without_result(records: ClaudeRecords, exited: ProgramExit) -> TurnReport:
    """A session without a last record: by the limit it met, or by the request that it was trying again.

    Records quote files and tools; only what stands outside of them is the program's own word.
    """
    plain = last_words(exited.stderr if records.any else exited.stdout + b"\n" + exited.stderr)
    spoken = _LIMIT.search(plain)
    if limit := _read_rejection(records):
        return limit
    if spoken:
        return read_error(spoken[0], now=exited.ended)
    status = count_of(records.retrying.get("error_status"))
    return read_error(text_of(records.retrying.get("error")).replace("_", " "), status) if status else TurnReport()


def _read_rejection(records: ClaudeRecords) -> TurnReport | None:
    """The usage limit that the last word on limits tells of, with the moment at which it resets."""
    if records.rate_limit.get("status") != "rejected":
        return None
    return TurnReport(
        "usage_limit",
        f"usage limit: {_last_text_of(records)}"[:LONGEST_DETAIL],
        resets_at=_reset_time(records.rate_limit),
    )


def _remark(records: ClaudeRecords) -> str:
    """What a person should know of a session that ended well."""
    stops = count_of(records.result.get("safety_stops"))
    return f"the model's safeguards stopped {stops} of its replies" if stops else ""


def _list_denied(records: ClaudeRecords) -> tuple[str, ...]:
    """What the agent wanted to do and was not allowed to."""
    denials = records.result.get("permission_denials")
    found = [describe_use(one.get("tool_name"), one.get("tool_input")) for one in denials if isinstance(one, dict)] \
        if isinstance(denials, list) else []  # fmt: skip
    return tuple(found)


def _is_failing(records: ClaudeRecords) -> bool:
    return records.result.get("is_error") is True or _reason(records) not in ("", "completed")


def _is_api_error(records: ClaudeRecords) -> bool:
    """Older versions give no reason."""
    return _is_failing(records) and _reason(records) in ("", "api_error")


def _reason(records: ClaudeRecords) -> str:
    return text_of(records.result.get("terminal_reason"))


def _status(records: ClaudeRecords) -> int:
    return count_of(records.result.get("api_error_status"))


def _message(records: ClaudeRecords) -> str:
    errors = records.result.get("errors")
    texts = [text_of(one) for one in errors] if isinstance(errors, list) else []
    return "; ".join(filter(None, texts)) or _last_text_of(records) or "no message"


def _reset_time(limit: Record) -> float | None:
    value = limit.get("resetsAt")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_cost(records: ClaudeRecords) -> float | None:
    """US dollars by Claude Code's own estimate; None when it was not said."""
    return parse_dollars(records.result.get("total_cost_usd"))


def _sum_usage(records: ClaudeRecords) -> Usage | None:
    """Tokens of all models together: the record's `usage` alone lacks the request that ran into a budget."""
    models = records.result.get("modelUsage")
    if isinstance(models, dict) and models:
        parts = [_model_usage(one) for one in models.values() if isinstance(one, dict)]
        return Usage.of_all(parts)
    plain = records.result.get("usage")
    return _api_usage(plain) if isinstance(plain, dict) else None


def _model_usage(one: Record) -> Usage:
    fresh = count_of(one.get("inputTokens")) + count_of(one.get("cacheCreationInputTokens"))
    return Usage(fresh, count_of(one.get("outputTokens")), count_of(one.get("cacheReadInputTokens")))


def _api_usage(one: Record) -> Usage:
    fresh = count_of(one.get("input_tokens")) + count_of(one.get("cache_creation_input_tokens"))
    return Usage(fresh, count_of(one.get("output_tokens")), count_of(one.get("cache_read_input_tokens")))


def read_output(exited: ProgramExit) -> TurnReport:
    """The turn by its records."""
    records = read_records(exited.stdout)
    cost = _read_cost(records)
    return replace(
        _read_end(records, exited),
        said=_last_text_of(records) if records.any else last_words(exited.stdout),
        model=records.model,
        session=records.session,
        usage=_sum_usage(records),
        cost=cost,
        cost_status="unknown" if cost is None else "estimated",
        denied=_list_denied(records),
        tools=records.tools,
    )
