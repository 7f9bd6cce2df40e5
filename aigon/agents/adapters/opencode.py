"""Read the output of `opencode run --format json`: one event per line, and no record of the end.

Written against version 1.18.33. A session is over with the first step that ends for another reason than `tool-calls`,
or with an `error` event; a rejected permission ends it in the middle, with exit 0. The end of each step has its
tokens and dollars, cached input apart from input. Sub-agents' steps are not printed. A request that it tries again is
only in its log, on standard error.
"""

import re
from datetime import datetime

from msgspec.structs import replace

from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import Record, RecordList, is_cut, parse_dollars, parse_records, sum_usage
from aigon.model.turns import ProgramExit, TurnEnd, TurnReport
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, text_at, value_at

_RETRIED = compile_re(r'^timestamp=(?P<at>\S+) level=ERROR .*error\.error="(?P<message>.*)"', re.MULTILINE)
_REJECTED = ("The user rejected permission to use", "The user has specified a rule which prevents you")
_ENDS: dict[str, tuple[TurnEnd, str]] = {
    "length": ("failed", "its reply was cut short at the longest that the model may give"),
    "content-filter": ("refused", "the provider's content filter stopped its reply"),
    "error": ("failed", "its reply ended in an error"),
}
"""Reasons for the end of a step that are no good end of a session; `tool-calls` ends no session."""


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events."""
    events = parse_records(exited.stdout)
    steps = [value_at(event, "part") for event in events.of("step_finish")]
    uses = events.of("tool_use")
    paid = [dollars for step in steps if (dollars := parse_dollars(value_at(step, "cost"))) is not None]
    cost = parse_dollars(round(sum(paid), 9)) or None  # 0 is also what a model of unknown price costs
    # What sub-agents spent is not told, and neither is what stood in the part of an output that was left out.
    partly = is_cut(exited.stdout) or any(value_at(use, "part", "tool") == "task" for use in uses)
    counts = [value_at(step, "tokens") or {} for step in steps]
    return replace(
        _read_end(events, exited),
        said=events.of("text").last_text("part", "text"),
        session=events.first_text("sessionID"),
        usage=sum_usage(counts, "input cache.write", "output reasoning", "cache.read", input_holds_cached=False),
        cost=cost,
        cost_status="estimated" if partly else "reported",
        denied=RecordList(filter(_is_rejected, uses)).describe_uses("part.tool", "part.state.input"),
        tools=uses.describe_uses("part.tool", "part.state.input"),
    )


def _read_end(events: RecordList, exited: ProgramExit) -> TurnReport:
    if not events:
        return _read_retry(events, exited) if exited.timed_out else read_stderr(exited)
    last = events.last("step_start", "step_finish", "error")
    if last.get("type") == "error":
        return _read_session_error(last, exited)
    reason = text_at(last, "part", "reason")
    begun = max((number for number, one in enumerate(events) if one.get("type") == "step_start"), default=0)
    if reason == "tool-calls" and any(map(_is_rejected, RecordList(events[begun:]).of("tool_use"))):
        return TurnReport("finished", "stopped at a denied permission")
    if reason in ("", "tool-calls"):
        return _read_retry(events, exited) if exited.timed_out else TurnReport()
    return TurnReport(*_ENDS.get(reason, ("finished", "")))


def _read_retry(events: RecordList, exited: ProgramExit) -> TurnReport:
    """Return what its deadline cut off: the request that it logged as failed since its last event.

    It tries only that again which may pass, so that such a request is at least an overload, whatever its message.
    """
    logged = next(iter([*_RETRIED.finditer(exited.stderr.decode("utf-8", "replace"))][-1:]), None)
    latest = max((count_at(one, "timestamp") for one in events), default=0)
    if logged is None or _milliseconds(logged["at"]) < latest:
        return TurnReport()
    report = read_error(logged["message"], now=exited.ended)
    return replace(report, end="overloaded") if report.end == "failed" else report


def _milliseconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp() * 1000
    except ValueError:
        return 0.0


def _read_session_error(event: Record, exited: ProgramExit) -> TurnReport:
    """Read an error of a session: its kind in `name`, the rest in `data`, the provider's answer in `responseBody`."""
    name, data = text_at(event, "error", "name"), value_at(event, "error", "data")
    message = text_at(data, "message") or text_at(event, "error", "message") or name
    status = count_at(data, "statusCode") or (401 if name == "ProviderAuthError" else 0)
    wait = text_at(data, "responseHeaders", "retry-after")
    by_body = read_error(text_at(data, "responseBody"), status, now=exited.ended, retry_after=wait)
    by_message = read_error(message, status, now=exited.ended, retry_after=wait)
    if by_body.end != "usage_limit":
        return by_message
    # The body names limits (`GoUsageLimitError`) that the message has another word for.
    return replace(by_message, end=by_body.end, resets_at=by_message.resets_at or by_body.resets_at)


def _is_rejected(use: Record) -> bool:
    state = value_at(use, "part", "state")
    return text_at(state, "status") == "error" and text_at(state, "error").startswith(_REJECTED)
