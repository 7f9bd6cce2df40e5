"""What Claude Code prints in print mode: one JSON record per line.

Written against version 2.1.330. How a turn ended is read from the result record (`is_error`, `terminal_reason`,
`api_error_status`): a `subtype` of "success" stands on API errors too, and exit 0 on denied permissions.
"""

import re
from dataclasses import dataclass, field, replace

from aigon.agents.adapters._errors import LONGEST_DETAIL, read_error
from aigon.agents.adapters._program import last_words, parse_dollars
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    objects_at,
    parse_records,
    text_at,
    value_at,
)
from aigon.model.turns import ProgramExit, TurnReport, Usage

_LIMIT = re.compile(r"[^\n]*(?:hit your [^\n]{0,40}\blimit\b|usage limit reached)[^\n]*", re.I)


@dataclass(slots=True)
class ClaudeRecords:
    """What the records say, a later one over an earlier one.

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
                self.last_text = "\n".join(filter(None, (text_at(b, "text") for b in blocks))) or self.last_text
                self.tools += [
                    describe_use(b.get("name"), b.get("input")) for b in blocks if b.get("type") == "tool_use"
                ]

    @property
    def last_words(self) -> str:
        """The agent's last text, or the message of the error that ended the session."""
        return text_at(self.result, "result") or self.last_text

    @property
    def reason(self) -> str:
        """Why the session ended. Older versions give no reason."""
        return text_at(self.result, "terminal_reason")

    @property
    def message(self) -> str:
        """The message of the error that ended the session."""
        errors = self.result.get("errors")
        texts = [one for one in errors if isinstance(one, str) and one] if isinstance(errors, list) else []
        return "; ".join(texts) or self.last_words or "no message"


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records. Noise and a line cut short are passed over."""
    records = ClaudeRecords()
    for record in parse_records(exited.stdout):
        if "type" in record:
            records.add(record)
    cost = parse_dollars(records.result.get("total_cost_usd"))
    denials = objects_at(records.result, "permission_denials")
    return replace(
        _read_end(records, exited) if records.result else _read_without_result(records, exited),
        said=records.last_words if records.any else last_words(exited.stdout),
        model=records.model,
        session=records.session,
        usage=_sum_usage(records.result),
        cost=cost,
        cost_status="unknown" if cost is None else "estimated",
        denied=tuple(describe_use(one.get("tool_name"), one.get("tool_input")) for one in denials),
        tools=tuple(records.tools),
    )


def _read_end(records: ClaudeRecords, exited: ProgramExit) -> TurnReport:
    """Return how the session ended. What the agent says is no evidence: only the message of an API error counts."""
    if records.result.get("is_error") is not True and records.reason in ("", "completed"):
        stops = count_at(records.result, "safety_stops")
        return TurnReport("finished", f"the model's safeguards stopped {stops} of its replies" if stops else "")
    if records.reason not in ("", "api_error"):
        return TurnReport("failed", f"{records.reason.replace('_', ' ')}: {records.message}"[:LONGEST_DETAIL])
    status = count_at(records.result, "api_error_status")
    if status == 429 and (limit := _read_rejection(records)):
        return limit
    found = read_error(records.message, status, now=exited.ended)
    return found if found.end != "failed" else replace(found, detail=f"api error: {records.message}"[:LONGEST_DETAIL])


def _read_without_result(records: ClaudeRecords, exited: ProgramExit) -> TurnReport:
    """Read a session without a last record: the limit it met, or the request that it was trying again.

    Records quote files and tools. Only what stands outside of them is the program's own word.
    """
    plain = last_words(exited.stderr if records.any else exited.stdout + b"\n" + exited.stderr)
    if limit := _read_rejection(records):
        return limit
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
    """Return the tokens of all models: the record's `usage` alone lacks the request that ran into a budget."""
    models = value_at(result, "modelUsage")
    if isinstance(models, dict) and models:
        return Usage.of_all(
            _read_usage(one, "inputTokens", "cacheCreationInputTokens", "outputTokens", "cacheReadInputTokens")
            for one in models.values()
            if isinstance(one, dict)
        )
    plain = value_at(result, "usage")
    names = ("input_tokens", "cache_creation_input_tokens", "output_tokens", "cache_read_input_tokens")
    return _read_usage(plain, *names) if isinstance(plain, dict) else None


def _read_usage(counts: Record, fresh: str, written: str, output: str, cached: str) -> Usage:
    """Return the counts under these names. What was written to a cache was read by the model for the first time."""
    return Usage(
        count_at(counts, fresh) + count_at(counts, written), count_at(counts, output), count_at(counts, cached)
    )
