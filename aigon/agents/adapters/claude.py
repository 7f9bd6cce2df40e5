"""Read the output of Claude Code in print mode: one JSON record per line.

Written against version 2.1.330. How a turn ended is read from the result record (`is_error`, `terminal_reason`,
`api_error_status`): API errors have the `subtype` "success" too, and denied permissions exit 0.
"""

import re

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.agents.adapters._errors import read_error
from aigon.agents.adapters._program import LONGEST_DETAIL, last_words, parse_dollars
from aigon.agents.adapters._records import (
    Record,
    count_at,
    join_texts,
    list_at,
    objects_at,
    parse_records,
    read_blocks,
    sum_usage,
    text_at,
    value_at,
)
from aigon.model.turns import ProgramExit, TurnReport, Usage
from aigon.text.patterns import compile_re

read_activity = read_blocks
ACTIVITY_MARKS = (b'"assistant"', b'"is_error":true', b'"is_error": true')
_LIMIT = compile_re(r"[^\n]*(?:hit your [^\n]{0,40}\blimit\b|usage limit reached)[^\n]*", re.I)


class ClaudeRecords(Struct):
    """The facts that the records state, a later one over an earlier one.

    `retrying` is the last record if it says that a request is tried again. `any` is False if the output holds no record
    at all: then it is plain text.
    """

    result: Record = field(default_factory=dict)
    rate_limit: Record = field(default_factory=dict)
    retrying: Record = field(default_factory=dict)
    session: str = ""
    model: str = ""
    last_text: str = ""
    tools: list[str] = field(default_factory=list)
    any: bool = False

    def add(self, record: Record) -> None:
        """Take one record in."""
        self.any, self.retrying = True, {}
        self.session = text_at(record, "session_id") or self.session
        match record:
            case {"type": "system", "subtype": "api_retry"}:
                self.retrying = record
            case {"type": "result"}:
                self.result = record
            case {"type": "rate_limit_event", "rate_limit_info": dict(limit)}:
                self.rate_limit = limit
            case {"type": "system", "subtype": "init", "model": str(model)}:
                self.model = model
            case {"type": "assistant"}:
                blocks = objects_at(record, "message", "content")
                self.last_text = join_texts(blocks) or self.last_text
                self.tools += blocks.of("tool_use").describe_uses("name", "input")

    @property
    def last_words(self) -> str:
        """The agent's last text, or the message of the error that ended the session."""
        return text_at(self.result, "result") or self.last_text

    @property
    def message(self) -> str:
        """The message of the error that ended the session."""
        errors = [error for error in list_at(self.result, "errors") if isinstance(error, str) and error]
        return "; ".join(errors) or self.last_words or "no message"


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records. Noise and a line cut short are passed over."""
    records = ClaudeRecords()
    for record in parse_records(exited.stdout):
        if "type" in record:
            records.add(record)
    cost = parse_dollars(records.result.get("total_cost_usd"))
    return replace(
        _read_end(records, exited) if records.result else _read_without_result(records, exited),
        said=records.last_words if records.any else last_words(exited.stdout),
        model=records.model,
        session=records.session,
        usage=_sum_usage(records.result),
        cost=cost,
        cost_status="estimated",
        denied=objects_at(records.result, "permission_denials").describe_uses("tool_name", "tool_input"),
        tools=tuple(records.tools),
    )


def _read_end(records: ClaudeRecords, exited: ProgramExit) -> TurnReport:
    """Return how the session ended. What the agent says is no evidence: only the message of an API error counts."""
    reason = text_at(records.result, "terminal_reason")  # older versions give none
    if records.result.get("is_error") is not True and reason in ("", "completed"):
        stops = count_at(records.result, "safety_stops")
        return TurnReport("finished", f"the model's safeguards stopped {stops} of its replies" if stops else "")
    if reason not in ("", "api_error"):
        return TurnReport("failed", f"{reason.replace('_', ' ')}: {records.message}"[:LONGEST_DETAIL])
    status = count_at(records.result, "api_error_status")
    if status == 429 and (limit := _read_rejection(records)):
        return limit
    report = read_error(records.message, status, now=exited.ended)
    if report.end != "failed":
        return report
    return replace(report, detail=f"api error: {records.message}"[:LONGEST_DETAIL])


def _read_without_result(records: ClaudeRecords, exited: ProgramExit) -> TurnReport:
    """Read a session without a last record: the limit it met, or the request that it was trying again.

    Records quote files and tools. Only what stands outside of them is the program's own word.
    """
    if limit := _read_rejection(records):
        return limit
    plain = last_words(exited.stderr if records.any else exited.stdout + b"\n" + exited.stderr)
    if spoken := _LIMIT.search(plain):
        return read_error(spoken[0], now=exited.ended)
    status = count_at(records.retrying, "error_status")
    return read_error(text_at(records.retrying, "error").replace("_", " "), status) if status else TurnReport()


def _read_rejection(records: ClaudeRecords) -> TurnReport | None:
    """Return the usage limit that the last record on limits tells of, with the moment at which it resets."""
    if records.rate_limit.get("status") != "rejected":
        return None
    resets = records.rate_limit.get("resetsAt")
    when = float(resets) if isinstance(resets, int | float) and not isinstance(resets, bool) else None
    return TurnReport("usage_limit", f"usage limit: {records.last_words}"[:LONGEST_DETAIL], resets_at=when)


def _sum_usage(result: Record) -> Usage | None:
    """Return the tokens of all models: the record's `usage` alone lacks the request that ran into a budget.

    What was written to a cache was read by the model for the first time.
    """
    models = value_at(result, "modelUsage")
    if isinstance(models, dict) and models:
        names = ("inputTokens cacheCreationInputTokens", "outputTokens", "cacheReadInputTokens")
        return sum_usage(models.values(), *names, input_holds_cached=False) or Usage()
    names = ("input_tokens cache_creation_input_tokens", "output_tokens", "cache_read_input_tokens")
    return sum_usage([value_at(result, "usage")], *names, input_holds_cached=False)
