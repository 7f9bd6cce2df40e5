"""Read the output of Copilot CLI with `--output-format json`: one event per line, the last a `result`.

Written against version 1.0.102. The result has the `exitCode`, what went wrong is in a `session.error` before it, and
tokens only in the file of `--usage-output-file`: cached ones are part of `inputTokens`. It counts premium requests and
credits, which are no dollars.
"""

from msgspec.structs import replace

from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import Record, RecordList, parse_records, sum_usage
from aigon.model.turns import ModelUsage, ProgramExit, TurnReport, Usage
from aigon.text.untrusted import count_at, object_at, text_at, value_at

_USE = ("data.toolName", "data.arguments")
_STATUS = {"rate_limit": 429, "authentication": 401, "authorization": 403, "quota": 402}
"""HTTP statuses by type of error, for an error without one."""


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events and by the file that it left."""
    events = parse_records(exited.stdout)
    report = next(iter(parse_records(exited.report)), {})
    replies = events.of("assistant.message")
    uses = events.of("tool.execution_start")
    ends = events.of("tool.execution_complete")
    denied = {text_at(one, "data", "toolCallId") for one in ends if text_at(one, "data", "error", "code") == "denied"}
    shares = _usage_by_model(report)
    return replace(
        _read_end(events, exited),
        said=replies.last_text("data", "content"),
        model=replies.last_text("data", "model") or text_at(report, "currentModel"),
        session=text_at(events.last("result"), "sessionId"),
        usage=Usage.of_all(share.usage for share in shares) if shares else None,
        usage_by_model=shares,
        denied=RecordList(use for use in uses if text_at(use, "data", "toolCallId") in denied).describe_uses(*_USE),
        tools=uses.describe_uses(*_USE),
    )


def _read_end(events: RecordList, exited: ProgramExit) -> TurnReport:
    last = events.last("session.error", "assistant.message")
    code = events.last("result").get("exitCode")
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


def _usage_by_model(report: Record) -> tuple[ModelUsage, ...]:
    return tuple(
        ModelUsage(
            name,
            sum_usage([value_at(one, "usage")], "inputTokens", "outputTokens", "cacheReadTokens") or Usage(),
        )
        for name, one in object_at(report, "modelMetrics").items()
    )
