"""What Gemini CLI prints with `-o stream-json`: one event per line, the last a `result`.

Written against version 0.61.0. With `-o json` it prints one document, that of an error on standard error. The `result`
of an empty or a blocked reply says `error` and the program exits with 0; the reason stands in the `error` event before
it. An error of the API exits with its HTTP status modulo 256. `input_tokens` hold the cached ones; no dollars are told.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from aigon.agents.adapters._errors import LONGEST_DETAIL, find_status, read_error
from aigon.agents.adapters._program import last_words
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    filter_type,
    list_at,
    parse_last_document,
    parse_records,
    text_at,
    value_at,
)
from aigon.model.turns import ModelUsage, ProgramExit, TurnReport, Usage

_NO_LOGIN = 41
"""Exit code of a start without a login: `FatalAuthenticationError` in its sources."""
_KNOWN = (400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 504, 529)
_BY_EXIT = {status % 256: status for status in _KNOWN}
"""HTTP statuses by the exit code that they become."""
_ATTEMPT = re.compile(r"^Attempt \d+ failed.*", re.MULTILINE)
_NOT_ALLOWED = ("denied by policy", "requires user confirmation")


def _read_complaint(message: str, exited: ProgramExit) -> TurnReport:
    """What is seen of a turn that ended with this error record; the exit code adds the status that it leaves out."""
    status = find_status(message) or _BY_EXIT.get(exited.exit_code or 0, 0)
    return read_error(message, status, now=exited.ended)


def _read_silent_end(exited: ProgramExit) -> TurnReport:
    """What is seen of a program that ended before its agent said anything: without a login, or still trying again."""
    words = last_words(exited.stderr, 8 * LONGEST_DETAIL)
    if exited.exit_code == _NO_LOGIN:
        said = words.rpartition("\n")[2] or "no login"
        return TurnReport(end="bad_credentials", detail=f"bad credentials: {said}"[:LONGEST_DETAIL])
    if not (attempts := _ATTEMPT.findall(words)):
        return TurnReport()
    ended = read_error(attempts[-1], now=exited.ended)
    return replace(ended, detail=f"ended while trying again: {ended.detail}"[:LONGEST_DETAIL])


def _find_document(events: list[Record], exited: ProgramExit) -> Record:
    """The document, empty where there is none: what stands on standard error counts only with nothing on the other."""
    whole = next((one for one in events[::-1] if "session_id" in one and "type" not in one), {})
    if whole or events:
        return whole
    told = parse_last_document(exited.stderr)
    return told if "session_id" in told and "error" in told else {}


def _read_document(document: Record, exited: ProgramExit) -> TurnReport:
    """Return the turn by its document."""
    used = value_at(document, "stats", "tools", "byName")
    names = used if isinstance(used, dict) else {}
    shares = _usage_by_model(document, _document_usage)
    return replace(
        _document_end(document, exited),
        said=text_at(document, "response").strip(),
        model=_most_used_model(shares),
        session=text_at(document, "session_id"),
        usage=Usage.of_all(share.usage for share in shares) if isinstance(value_at(document, "stats"), dict) else None,
        usage_by_model=shares,
        denied=tuple(describe_use(name) for name, one in names.items() if count_at(one, "decisions", "reject")),
        tools=tuple(describe_use(name) for name in names),
    )


def _document_end(document: Record, exited: ProgramExit) -> TurnReport:
    if isinstance(document.get("error"), dict):
        code = count_at(document, "error", "code")
        message = text_at(document, "error", "message")
        return _read_complaint(message, replace(exited, exit_code=code % 256) if code else exited)
    if "response" not in document:
        return TurnReport()
    return TurnReport(
        "finished", "; ".join(text for text in list_at(document, "warnings") if isinstance(text, str))[:500]
    )


def _usage_by_model(record: Record, usage: Callable[[object], Usage | None]) -> tuple[ModelUsage, ...]:
    """Return what each model used, by the statistics of a record: the chosen one, and a small one that chose it."""
    models = value_at(record, "stats", "models")
    told = models.items() if isinstance(models, dict) else ()
    return tuple(ModelUsage(str(name), found) for name, one in told if (found := usage(one)) and found != Usage())


def _most_used_model(shares: Sequence[ModelUsage]) -> str:
    """Return the model that used the most tokens; empty without any."""
    return max(shares, key=_sum_tokens).model if shares else ""


def _sum_tokens(share: ModelUsage) -> int:
    return share.usage.input + share.usage.cached + share.usage.output


def _document_usage(told: object) -> Usage | None:
    tokens = value_at(told, "tokens")
    if not isinstance(tokens, dict):
        return None
    cached = count_at(tokens, "cached")
    fresh = max(0, count_at(tokens, "prompt") - cached) + count_at(tokens, "tool")
    return Usage(fresh, count_at(tokens, "candidates") + count_at(tokens, "thoughts"), cached)


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events, or by its one document."""
    events = parse_records(exited.stdout)
    whole = _find_document(events, exited)
    return _read_document(whole, exited) if whole else _read_stream(events, exited)


def _read_stream(events: list[Record], exited: ProgramExit) -> TurnReport:
    begun = next(iter(filter_type(events, "init")), {})
    result = next(iter(filter_type(events, "result")[::-1]), {})
    uses = filter_type(events, "tool_use")
    shares = _usage_by_model(result, _stream_usage)
    return replace(
        _stream_end(events, result, exited),
        said=_last_reply(events),
        model=_most_used_model(shares) or text_at(begun, "model"),
        session=text_at(begun, "session_id"),
        usage=_stream_usage(value_at(result, "stats")),
        usage_by_model=shares,
        denied=_list_denied(events, uses),
        tools=tuple(_describe_tool(use) for use in uses),
    )


def _stream_end(events: list[Record], result: Record, exited: ProgramExit) -> TurnReport:
    if not result:
        spoken = any(text_at(one, "role") == "assistant" for one in filter_type(events, "message"))
        return TurnReport() if spoken or filter_type(events, "tool_use") else _read_silent_end(exited)
    last = _last_error(events)
    if text_at(result, "status") == "success":
        failing = text_at(last, "severity") == "error"
        return (
            _read_complaint(text_at(last, "message"), exited)
            if failing
            else TurnReport("finished", text_at(last, "message"))
        )
    return _read_complaint(text_at(result, "error", "message") or text_at(last, "message"), exited)


def _last_error(events: list[Record]) -> Record:
    """Return the `error` event that nothing followed but the result: any other was overcome."""
    last = next(iter(filter_type(events, "error", "message", "tool_use", "tool_result")[::-1]), {})
    return last if last.get("type") == "error" else {}


def _last_reply(events: list[Record]) -> str:
    """Return the pieces of the last reply with text in it, put together."""
    replies = [""]
    for event in filter_type(events, "message", "tool_use", "tool_result"):
        if text_at(event, "role") == "assistant":
            replies[-1] += text_at(event, "content")
        elif replies[-1].strip():
            replies.append("")
    return next((reply for reply in replies[::-1] if reply.strip()), "").strip()


def _list_denied(events: list[Record], uses: list[Record]) -> tuple[str, ...]:
    by_id = {text_at(use, "tool_id"): use for use in uses}
    failed = [one for one in filter_type(events, "tool_result") if _is_denied(one)]
    return tuple(_describe_tool(by_id.get(text_at(one, "tool_id"), {})) for one in failed)


def _is_denied(result: Record) -> bool:
    message = text_at(result, "error", "message")
    return text_at(result, "error", "type") == "policy_violation" or any(words in message for words in _NOT_ALLOWED)


def _describe_tool(use: Record) -> str:
    return describe_use(use.get("tool_name"), use.get("parameters"))


def _stream_usage(told: object) -> Usage | None:
    """`output_tokens` leave thoughts out, which are paid for like any other output; the total has them."""
    if not isinstance(told, dict):
        return None
    whole, cached = count_at(told, "input_tokens"), count_at(told, "cached")
    output = max(count_at(told, "output_tokens"), count_at(told, "total_tokens") - whole)
    return Usage.of_whole(whole, output, cached)
