"""What `opencode run --format json` prints: one event per line, and no record of the end.

Written against version 1.18.33. A session is over with the first step that ends for another reason than `tool-calls`,
or with an `error` event; a rejected permission ends it in the middle, with exit 0. Tokens and dollars stand at each
step's end, cached input apart from input. Sub-agents' steps are not printed. A request that it tries again stands only
in its log, on standard error.
"""

import re
from dataclasses import replace
from datetime import datetime

from aigon.agents.adapters._ending import dollars
from aigon.agents.adapters._records import Record, at, count_at, is_cut, of_type, records, text_at
from aigon.agents.adapters._tools import tool
from aigon.agents.adapters._trouble import of_stderr, trouble
from aigon.model.turns import CostStatus, ProgramExit, TurnEnd, TurnReport, Usage

_RETRIED = re.compile(r'^timestamp=(?P<at>\S+) level=ERROR .*error\.error="(?P<message>.*)"', re.MULTILINE)
_REJECTED = ("The user rejected permission to use", "The user has specified a rule which prevents you")
_ENDS: dict[str, tuple[TurnEnd, str]] = {
    "length": ("failed", "its reply was cut short at the longest that the model may give"),
    "content-filter": ("refused", "the provider's content filter stopped its reply"),
    "error": ("failed", "its reply ended in an error"),
}
"""Reasons for which a step ends that are no good end of a session; `tool-calls` is none at all."""


def seen(exited: ProgramExit) -> TurnReport:
    """The turn by its events."""
    events = records(exited.stdout)
    steps = of_type(events, "step_finish")
    uses = of_type(events, "tool_use")
    cost = _cost(steps)
    return replace(
        _ended(events, exited),
        said=next(
            (text for one in of_type(events, "text")[::-1] if (text := text_at(one, "part", "text").strip())), ""
        ),
        session=next((text for one in events if (text := text_at(one, "sessionID"))), ""),
        usage=_usage(steps),
        cost=cost,
        cost_status=_cost_status(cost, uses, exited),
        denied=tuple(_used(use) for use in uses if _rejected(use)),
        tools=tuple(_used(use) for use in uses),
    )


def _ended(events: list[Record], exited: ProgramExit) -> TurnReport:
    if not events:
        return _retrying(events, exited) if exited.timed_out else of_stderr(exited)
    last = next(iter(of_type(events, "step_start", "step_finish", "error")[::-1]), {})
    if last.get("type") == "error":
        return _error(last, exited)
    reason = text_at(last, "part", "reason")
    if reason == "tool-calls" and any(map(_rejected, _of_last_step(events))):
        return TurnReport(end="finished", detail="stopped at a denied permission")
    if reason in ("", "tool-calls"):
        return _retrying(events, exited) if exited.timed_out else TurnReport()
    return TurnReport(*_ENDS.get(reason, ("finished", "")))


def _retrying(events: list[Record], exited: ProgramExit) -> TurnReport:
    """What its deadline cut off: the request that it logged as failed since its last event.

    It tries only that again which may pass, so that such a request is at least an overload, whatever its message.
    """
    logged = next(iter(list(_RETRIED.finditer(exited.stderr.decode("utf-8", "replace")))[-1:]), None)
    latest = max((count_at(one, "timestamp") for one in events), default=0)
    if logged is None or _milliseconds(logged["at"]) < latest:
        return TurnReport()
    found = trouble(logged["message"], now=exited.ended)
    return replace(found, end="overloaded") if found.end == "failed" else found


def _milliseconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp() * 1000
    except ValueError:
        return 0.0


def _of_last_step(events: list[Record]) -> list[Record]:
    begun = max((number for number, one in enumerate(events) if one.get("type") == "step_start"), default=0)
    return of_type(events[begun:], "tool_use")


def _error(event: Record, exited: ProgramExit) -> TurnReport:
    """An error of a session: its kind in `name`, all else in `data`; what the provider answered in `responseBody`."""
    name, data = text_at(event, "error", "name"), at(event, "error", "data")
    message = text_at(data, "message") or text_at(event, "error", "message") or name
    status = count_at(data, "statusCode") or (401 if name == "ProviderAuthError" else 0)
    wait = text_at(data, "responseHeaders", "retry-after")
    by_body = trouble(text_at(data, "responseBody"), status, now=exited.ended, retry_after=wait)
    by_message = trouble(message, status, now=exited.ended, retry_after=wait)
    # The body names limits (`GoUsageLimitError`) that the message has another word for.
    return replace(by_message, end=by_body.end, resets_at=by_message.resets_at or by_body.resets_at) \
        if by_body.end == "usage_limit" else by_message  # fmt: skip


def _rejected(use: Record) -> bool:
    state = at(use, "part", "state")
    return text_at(state, "status") == "error" and text_at(state, "error").startswith(_REJECTED)


def _used(use: Record) -> str:
    return tool(at(use, "part", "tool"), at(use, "part", "state", "input"))


def _usage(steps: list[Record]) -> Usage | None:
    if not steps:
        return None

    def total(*path: str) -> int:
        return sum(count_at(step, "part", "tokens", *path) for step in steps)

    return Usage(total("input") + total("cache", "write"), total("output") + total("reasoning"), total("cache", "read"))


def _cost(steps: list[Record]) -> float | None:
    """US dollars of all steps; None where they add up to nothing, which is also what a model of unknown price costs."""
    told = [paid for step in steps if (paid := dollars(at(step, "part", "cost"))) is not None]
    return dollars(round(sum(told), 9)) or None


def _cost_status(cost: float | None, uses: list[Record], exited: ProgramExit) -> CostStatus:
    """What sub-agents spent is not told, and neither is what stood in the part of an output that was left out."""
    if cost is None:
        return "unknown"
    partly = is_cut(exited.stdout) or any(at(use, "part", "tool") == "task" for use in uses)
    return "estimated" if partly else "reported"
