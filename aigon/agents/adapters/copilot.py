"""What Copilot CLI prints with `--output-format json`: one event per line, the last a `result`.

Written against version 1.0.102. The result has the `exitCode`, what went wrong is in a `session.error` before it, and
tokens only in the file of `--usage-output-file`: cached ones are part of `inputTokens`. It counts premium requests and
credits, which are no dollars.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    fail,
    filter_type,
    last_record,
    last_text,
    parse_records,
    say,
    sum_usage,
    text_at,
    use,
    value_at,
)
from aigon.model.activity import Activity
from aigon.model.turns import ModelUsage, ProgramExit, TurnReport, Usage
from aigon.text.patterns import compile_re

ACTIVITY_MARKS = (b'"assistant.message"', b'"tool.execution_start"', b'"success":false', b'"success": false')
_PATCHED = compile_re(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_STATUS = {"rate_limit": 429, "authentication": 401, "authorization": 403, "quota": 402}
"""HTTP statuses by type of error, for an error without one."""


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events and by the file that it left."""
    events = parse_records(exited.stdout)
    report = next(iter(parse_records(exited.report)), {})
    replies = filter_type(events, "assistant.message")
    uses = filter_type(events, "tool.execution_start")
    ends = filter_type(events, "tool.execution_complete")
    denied = {text_at(one, "data", "toolCallId") for one in ends if text_at(one, "data", "error", "code") == "denied"}
    shares = _usage_by_model(report)
    return replace(
        _read_end(events, exited),
        said=last_text(replies, "data", "content"),
        model=last_text(replies, "data", "model") or text_at(report, "currentModel"),
        session=text_at(last_record(events, "result"), "sessionId"),
        usage=Usage.of_all(share.usage for share in shares) if shares else None,
        usage_by_model=shares,
        denied=tuple(_describe_tool(use) for use in uses if text_at(use, "data", "toolCallId") in denied),
        tools=tuple(map(_describe_tool, uses)),
    )


def read_activity(event: Record) -> Iterator[Activity]:
    """Yield what an event tells of the work; pieces of messages are passed over."""
    data = value_at(event, "data")
    match text_at(event, "type"):
        case "assistant.message":
            yield from say(text_at(data, "content"))
        case "tool.execution_start":
            yield from use(value_at(data, "toolName"), value_at(data, "arguments"))
        case "tool.execution_complete" if value_at(data, "success") is False:
            yield from fail(text_at(data, "error", "message") or text_at(data, "result", "content"))


def _read_end(events: list[Record], exited: ProgramExit) -> TurnReport:
    last = last_record(events, "session.error", "assistant.message")
    code = last_record(events, "result").get("exitCode")
    ended = None
    if last.get("type") == "session.error":
        status = count_at(last, "data", "statusCode") or _STATUS.get(text_at(last, "data", "errorType"), 0)
        ended = read_error(text_at(last, "data", "message"), status, now=exited.ended)
    if ended and not (code == 0 and ended.end == "failed"):
        return ended
    if not isinstance(code, int) or isinstance(code, bool):
        return TurnReport() if last else read_stderr(exited)
    if code:
        return TurnReport("failed", f"ended with exit code {code} and without an error")
    return TurnReport("finished", ended.detail if ended else "")


def _describe_tool(use: Record) -> str:
    """Describe a tool's use; a patch by its files, not by its text."""
    given = value_at(use, "data", "arguments")
    patched = ", ".join(_PATCHED.findall(given)) if isinstance(given, str) else ""
    return describe_use(value_at(use, "data", "toolName"), patched or given)


def _usage_by_model(report: Record) -> tuple[ModelUsage, ...]:
    models = value_at(report, "modelMetrics")
    return tuple(
        ModelUsage(
            str(name),
            sum_usage([value_at(one, "usage")], "inputTokens", "outputTokens", "cacheReadTokens") or Usage(),
        )
        for name, one in (models.items() if isinstance(models, dict) else ())
    )
