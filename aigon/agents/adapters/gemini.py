"""Read the output of Gemini CLI with `-o stream-json`: one event per line, the last a `result`.

Written against version 0.61.0. With `-o json` it prints one document, that of an error on standard error. The `result`
of an empty or a blocked reply says `error` and the program exits with 0; the reason is in the `error` event before
it. An error of the API exits with its HTTP status modulo 256. `input_tokens` hold the cached ones; no dollars are told.
"""

import re
from collections.abc import Callable

from msgspec.structs import replace

from aigon.agents.adapters._errors import find_status, read_error
from aigon.agents.adapters._program import LONGEST_DETAIL, last_words
from aigon.agents.adapters._records import (
    Record,
    RecordList,
    describe_use,
    parse_last_document,
    parse_records,
    sum_usage,
)
from aigon.model.turns import ModelUsage, ProgramExit, TurnReport, Usage
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, list_at, object_at, text_at, value_at

_NO_LOGIN = 41
"""Exit code of a start without a login: `FatalAuthenticationError` in its sources."""
_KNOWN = (400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 504, 529)
_BY_EXIT = {status % 256: status for status in _KNOWN}
"""HTTP statuses by the exit code that they become."""
_ATTEMPT = compile_re(r"^Attempt \d+ failed.*", re.MULTILINE)
_NOT_ALLOWED = ("denied by policy", "requires user confirmation")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events, or by its one document."""
    events = parse_records(exited.stdout)
    document = next((one for one in events[::-1] if "session_id" in one and "type" not in one), {})
    if not events:
        # The document on standard error counts only if there is nothing on standard output.
        told = parse_last_document(exited.stderr)
        document = told if "session_id" in told and "error" in told else {}
    return _read_document(document, exited) if document else _read_stream(events, exited)


def _read_document(document: Record, exited: ProgramExit) -> TurnReport:
    names = object_at(document, "stats", "tools", "byName")
    shares = _usage_by_model(
        document, lambda counts: sum_usage([value_at(counts, "tokens")], "prompt tool", "candidates thoughts", "cached")
    )
    return replace(
        _document_end(document, exited),
        said=text_at(document, "response").strip(),
        model=_most_used_model(shares),
        session=text_at(document, "session_id"),
        usage=Usage.of_all(share.usage for share in shares) if isinstance(value_at(document, "stats"), dict) else None,
        usage_by_model=shares,
        denied=tuple(describe_use(name) for name, one in names.items() if count_at(one, "decisions", "reject")),
        tools=tuple(map(describe_use, names)),
    )


def _document_end(document: Record, exited: ProgramExit) -> TurnReport:
    if isinstance(document.get("error"), dict):
        code = count_at(document, "error", "code") % 256 or exited.exit_code
        return _read_complaint(text_at(document, "error", "message"), code, exited)
    if "response" not in document:
        return TurnReport()
    warnings = [text for text in list_at(document, "warnings") if isinstance(text, str)]
    return TurnReport("finished", "; ".join(warnings)[:LONGEST_DETAIL])


def _read_stream(events: RecordList, exited: ProgramExit) -> TurnReport:
    begun = next(iter(events.of("init")), {})
    result = events.last("result")
    uses = events.of("tool_use")
    by_id = {text_at(use, "tool_id"): use for use in uses}
    denied = RecordList(by_id.get(text_at(one, "tool_id"), {}) for one in events.of("tool_result") if _is_denied(one))
    shares = _usage_by_model(result, _stream_usage)
    return replace(
        _stream_end(events, result, exited),
        said=_last_reply(events),
        model=_most_used_model(shares) or text_at(begun, "model"),
        session=text_at(begun, "session_id"),
        usage=_stream_usage(value_at(result, "stats")),
        usage_by_model=shares,
        denied=denied.describe_uses("tool_name", "parameters"),
        tools=uses.describe_uses("tool_name", "parameters"),
    )


def _stream_end(events: RecordList, result: Record, exited: ProgramExit) -> TurnReport:
    if not result:
        spoken = any(text_at(one, "role") == "assistant" for one in events.of("message"))
        return TurnReport() if spoken or events.of("tool_use") else _read_silent_end(exited)
    last = events.last("error", "message", "tool_use", "tool_result")
    error = last if last.get("type") == "error" else {}  # what anything but the result followed was overcome
    message = text_at(error, "message")
    if text_at(result, "status") != "success":
        return _read_complaint(text_at(result, "error", "message") or message, exited.exit_code, exited)
    if text_at(error, "severity") == "error":
        return _read_complaint(message, exited.exit_code, exited)
    return TurnReport("finished", message)


def _read_complaint(message: str, exit_code: int | None, exited: ProgramExit) -> TurnReport:
    """Read the error that ended a turn; the exit code adds the status that its message leaves out."""
    return read_error(message, find_status(message) or _BY_EXIT.get(exit_code or 0, 0), now=exited.ended)


def _read_silent_end(exited: ProgramExit) -> TurnReport:
    """Read how a program ended before its agent said anything: without a login, or still trying again."""
    words = last_words(exited.stderr, 8 * LONGEST_DETAIL)
    if exited.exit_code == _NO_LOGIN:
        reason = words.rpartition("\n")[2] or "no login"
        return TurnReport("bad_credentials", f"bad credentials: {reason}"[:LONGEST_DETAIL])
    if not (attempts := _ATTEMPT.findall(words)):
        return TurnReport()
    report = read_error(attempts[-1], now=exited.ended)
    return replace(report, detail=f"ended while trying again: {report.detail}"[:LONGEST_DETAIL])


def _last_reply(events: RecordList) -> str:
    """Return the last reply with text in it, put together from its pieces."""
    replies = [""]
    for event in events.of("message", "tool_use", "tool_result"):
        if text_at(event, "role") == "assistant":
            replies[-1] += text_at(event, "content")
        elif replies[-1].strip():
            replies.append("")
    return next((reply for reply in replies[::-1] if reply.strip()), "").strip()


def _is_denied(result: Record) -> bool:
    message = text_at(result, "error", "message")
    return text_at(result, "error", "type") == "policy_violation" or any(words in message for words in _NOT_ALLOWED)


def _usage_by_model(record: Record, read_usage: Callable[[object], Usage | None]) -> tuple[ModelUsage, ...]:
    """Return what each model used, by the statistics of a record: the chosen one, and a small one that chose it."""
    usages = {name: read_usage(one) for name, one in object_at(record, "stats", "models").items()}
    return tuple(ModelUsage(name, usage) for name, usage in usages.items() if usage and usage != Usage())


def _most_used_model(shares: tuple[ModelUsage, ...]) -> str:
    tokens = {share.model: share.usage.input + share.usage.cached + share.usage.output for share in shares}
    return max(tokens, key=tokens.__getitem__, default="")


def _stream_usage(counts: object) -> Usage | None:
    """Return the usage. `output_tokens` leave thoughts out, which cost like any other output; the total has them."""
    if not isinstance(counts, dict):
        return None
    whole, cached = count_at(counts, "input_tokens"), count_at(counts, "cached")
    output = max(count_at(counts, "output_tokens"), count_at(counts, "total_tokens") - whole)
    return Usage.of_whole(whole, output, cached)
