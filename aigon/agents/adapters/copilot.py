"""What Copilot CLI prints with `--output-format json`: one event per line, the last a `result`.

Written against version 1.0.102. `exitCode` stands in the result, what went wrong in a `session.error` before it, and
tokens only in the file of `--usage-output-file`: cached ones are part of `inputTokens`. It counts premium requests and
credits, which are no dollars.
"""

import re
from dataclasses import replace

from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import Record, count_at, describe_use, filter_type, parse_records, text_at, value_at
from aigon.model.turns import ModelUsage, ProgramExit, TurnReport, Usage

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_STATUS = {"rate_limit": 429, "authentication": 401, "authorization": 403, "quota": 402}
"""HTTP statuses by type of error, for an error that does not tell its own."""


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events and by the file that it left."""
    events = parse_records(exited.stdout)
    report = next(iter(parse_records(exited.report)), {})
    replies = filter_type(events, "assistant.message")
    uses = filter_type(events, "tool.execution_start")
    ends = filter_type(events, "tool.execution_complete")
    refused = {text_at(one, "data", "toolCallId") for one in ends if text_at(one, "data", "error", "code") == "denied"}
    shares = _usage_by_model(report)
    denied = [use for use in uses if text_at(use, "data", "toolCallId") in refused]
    return replace(
        _read_end(events, exited),
        said=next((text for one in replies[::-1] if (text := text_at(one, "data", "content").strip())), ""),
        model=next((text for one in replies[::-1] if (text := text_at(one, "data", "model"))), "")
        or text_at(report, "currentModel"),
        session=next((text_at(one, "sessionId") for one in filter_type(events, "result")[::-1]), ""),
        usage=Usage.of_all(share.usage for share in shares) if shares else None,
        usage_by_model=shares,
        denied=tuple(_describe_tool(use) for use in denied),
        tools=tuple(_describe_tool(use) for use in uses),
    )


def _read_end(events: list[Record], exited: ProgramExit) -> TurnReport:
    last = next(iter(filter_type(events, "session.error", "assistant.message")[::-1]), {})
    code = next((one.get("exitCode") for one in filter_type(events, "result")[::-1]), None)
    ended = _read_session_error(last, exited) if last.get("type") == "session.error" else None
    if ended and not (code == 0 and ended.end == "failed"):
        return ended
    if not isinstance(code, int) or isinstance(code, bool):
        return TurnReport() if last else read_stderr(exited)
    if code:
        return TurnReport("failed", f"ended with exit code {code} and without an error")
    return TurnReport("finished", ended.detail if ended else "")


def _read_session_error(event: Record, exited: ProgramExit) -> TurnReport:
    status = count_at(event, "data", "statusCode") or _STATUS.get(text_at(event, "data", "errorType"), 0)
    return read_error(text_at(event, "data", "message"), status, now=exited.ended)


def _describe_tool(use: Record) -> str:
    """Describe a tool's use; a patch by its files, not by its text."""
    given = value_at(use, "data", "arguments")
    patched = ", ".join(_PATCHED.findall(given)) if isinstance(given, str) else ""
    return describe_use(value_at(use, "data", "toolName"), patched or given)


def _usage_by_model(report: Record) -> tuple[ModelUsage, ...]:
    models = value_at(report, "modelMetrics")
    told = models.items() if isinstance(models, dict) else ()
    return tuple(ModelUsage(str(name), _usage(value_at(one, "usage"))) for name, one in told)


def _usage(told: object) -> Usage:
    whole, output = count_at(told, "inputTokens"), count_at(told, "outputTokens")
    return Usage.of_whole(whole, output, count_at(told, "cacheReadTokens"))
