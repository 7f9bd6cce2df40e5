"""What `codex exec --json` prints: one event per line, the last `turn.completed` or `turn.failed`.

Written against version 0.169.0. Its `input_tokens` hold the cached ones; it never says what a turn cost.
"""

from dataclasses import replace

from aigon.agents._records import Record, at, count_at, records, text_at
from aigon.agents._tools import MOST_TOOLS, tool
from aigon.agents._trouble import trouble
from aigon.core.agent import Exited, Seen
from aigon.core.model import Usage


def seen(exited: Exited) -> Seen:
    """The turn by its events."""
    events = records(exited.stdout)
    items = [
        event["item"]
        for event in events
        if event.get("type") == "item.completed" and isinstance(event.get("item"), dict)
    ]
    messages = [text_at(item, "text") for item in items if item.get("type") == "agent_message"]
    return replace(
        _ended(events, exited),
        said=next((text for text in messages[::-1] if text), ""),
        session=next((text_at(event, "thread_id") for event in events if event.get("type") == "thread.started"), ""),
        usage=_usage(events),
        denied=tuple(_used(item) for item in items if item.get("status") == "declined")[:20],
        tools=tuple(_used(item) for item in items if item.get("type") in _TOOLS)[:MOST_TOOLS],
    )


_TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")


def _ended(events: list[Record], exited: Exited) -> Seen:
    last = next((event for event in events[::-1] if event.get("type") in ("turn.completed", "turn.failed")), {})
    if last.get("type") == "turn.completed":
        return Seen(end="finished")
    errors = [text_at(event, "message") for event in events if event.get("type") == "error"]
    message = text_at(last, "error", "message") or next(iter(errors[::-1]), "")
    if not message:
        return Seen()
    return trouble(*_status(message), now=exited.ended)


def _status(message: str) -> tuple[str, int]:
    """An API error comes as text with the status in it: `unexpected status 401 Unauthorized: ...`."""
    import re

    found = re.search(r"\bstatus(?: code)?:? (\d{3})\b|\b(\d{3}) (?:Unauthorized|Forbidden|Too Many Requests)", message)
    return message, int(found[1] or found[2]) if found else 0


def _used(item: Record) -> str:
    changes = at(item, "changes")
    paths = [text_at(change, "path") for change in changes] if isinstance(changes, list) else []
    name = text_at(item, "tool") or str(item.get("type", "")).replace("_", " ")
    return tool(name, {"command": text_at(item, "command") or ", ".join(paths) or text_at(item, "query")})


def _usage(events: list[Record]) -> Usage | None:
    """Of all turns of the session together."""
    told = [
        event["usage"]
        for event in events
        if event.get("type") == "turn.completed" and isinstance(event.get("usage"), dict)
    ]
    if not told:
        return None
    cached = sum(count_at(one, "cached_input_tokens") for one in told)
    whole = sum(count_at(one, "input_tokens") for one in told)
    return Usage(max(0, whole - cached), sum(count_at(one, "output_tokens") for one in told), cached)
