"""What Gemini CLI prints with `-o stream-json`: one event per line, the last a `result`.

Written against version 0.61.0. What `-o json` gives is read too (`_gemini_document`). The `result` of an empty or a
blocked reply says `error` and the program exits with 0, the reason stands in the `error` event before it. An error of
the API exits with its HTTP status modulo 256. `input_tokens` hold the cached ones; no dollars are told.
"""

from dataclasses import replace

from aigon.agents.adapters import _gemini_document as document
from aigon.agents.adapters._gemini_error import complaint, without_a_word
from aigon.agents.adapters._records import Record, at, count_at, of_type, records, text_at
from aigon.agents.adapters._tools import tool
from aigon.model.turns import ProgramExit, TurnReport, Usage

_NOT_ALLOWED = ("denied by policy", "requires user confirmation")


def seen(exited: ProgramExit) -> TurnReport:
    """The turn by its events, or by its one document."""
    events = records(exited.stdout)
    whole = document.found(events, exited)
    return document.seen(whole, exited) if whole else _streamed(events, exited)


def _streamed(events: list[Record], exited: ProgramExit) -> TurnReport:
    begun = next(iter(of_type(events, "init")), {})
    result = next(iter(of_type(events, "result")[::-1]), {})
    uses = of_type(events, "tool_use")
    shares = document.by_model(result, _usage)
    return replace(
        _ended(events, result, exited),
        said=_said(events),
        model=document.most_used(shares) or text_at(begun, "model"),
        session=text_at(begun, "session_id"),
        usage=_usage(at(result, "stats")),
        usage_by_model=shares,
        denied=_denied(events, uses),
        tools=tuple(_used(use) for use in uses),
    )


def _ended(events: list[Record], result: Record, exited: ProgramExit) -> TurnReport:
    if not result:
        spoken = any(text_at(one, "role") == "assistant" for one in of_type(events, "message"))
        return TurnReport() if spoken or of_type(events, "tool_use") else without_a_word(exited)
    last = _last_error(events)
    if text_at(result, "status") == "success":
        failing = text_at(last, "severity") == "error"
        return (
            complaint(text_at(last, "message"), exited) if failing else TurnReport("finished", text_at(last, "message"))
        )
    return complaint(text_at(result, "error", "message") or text_at(last, "message"), exited)


def _last_error(events: list[Record]) -> Record:
    """The `error` event that nothing followed but the result: any other was overcome."""
    last = next(iter(of_type(events, "error", "message", "tool_use", "tool_result")[::-1]), {})
    return last if last.get("type") == "error" else {}


def _said(events: list[Record]) -> str:
    """The pieces of the last reply with text in it, put together."""
    replies = [""]
    for event in of_type(events, "message", "tool_use", "tool_result"):
        if text_at(event, "role") == "assistant":
            replies[-1] += text_at(event, "content")
        elif replies[-1].strip():
            replies.append("")
    return next((reply for reply in replies[::-1] if reply.strip()), "").strip()


def _denied(events: list[Record], uses: list[Record]) -> tuple[str, ...]:
    by_id = {text_at(use, "tool_id"): use for use in uses}
    failed = [one for one in of_type(events, "tool_result") if _not_allowed(one)]
    return tuple(_used(by_id.get(text_at(one, "tool_id"), {})) for one in failed)


def _not_allowed(result: Record) -> bool:
    message = text_at(result, "error", "message")
    return text_at(result, "error", "type") == "policy_violation" or any(words in message for words in _NOT_ALLOWED)


def _used(use: Record) -> str:
    return tool(use.get("tool_name"), use.get("parameters"))


def _usage(told: object) -> Usage | None:
    """`output_tokens` leave thoughts out, which are paid for like any other output; the total has them."""
    if not isinstance(told, dict):
        return None
    whole, cached = count_at(told, "input_tokens"), count_at(told, "cached")
    output = max(count_at(told, "output_tokens"), count_at(told, "total_tokens") - whole)
    return Usage.of_whole(whole, output, cached)
